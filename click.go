package snip

import "time"

// Class says who made a click.
type Class uint8

const (
	Human    Class = iota // A person, as far as can be told.
	Bot                   // A program that reads the web.
	Preview               // A program that shows a link's target beside the link.
	Prefetch              // A browser that gets ready for a click which may never come.
	Unknown               // Nothing can be told.
)

// String returns the name under which a class is stored and shown.
func (c Class) String() string {
	if c > Unknown {
		c = Unknown
	}
	return [...]string{"human", "bot", "preview", "prefetch", "unknown"}[c]
}

// Click is one answered redirect as topic "clicks" carries it: it holds nothing
// that tells who the visitor was. Texts are "unknown" where nothing could be told,
// Referrer, Campaign, Alias and Arm empty where there was none.
type Click struct {
	Link  int64
	At    time.Time // To the microsecond.
	Class Class

	// Visitor tells the visitors of one UTC day apart. 0: not told. It is made with
	// a salt that is erased two days later; from then on nobody can tell whose it was.
	Visitor uint64

	Browser  string
	OS       string
	Device   string
	Referrer string // Host.
	Medium   string
	Language string
	Country  string
	Region   string
	Campaign string
	Alias    string // The code that was followed, if it was an alias. Empty: the link's own.
	Arm      string // The rule and arm that decided: "rule", or "rule/arm". Empty: none.
}

// Day returns the UTC day of a moment, in days since 1970.
func Day(t time.Time) int64 {
	const seconds = 24 * 60 * 60
	day := t.Unix() / seconds
	if t.Unix()%seconds < 0 {
		day--
	}
	return day
}
