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
// that tells who the visitor was.
type Click struct {
	Link     int64
	At       time.Time // To the microsecond.
	Class    Class
	Campaign string // utm_campaign, cut at 100 runes.
}
