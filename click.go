package snip

import "time"

// Class says who made a click.
type Class uint8

const (
	Human Class = iota // A person, as far as can be told.
)

func (c Class) String() string {
	if c == Human {
		return "human"
	}
	return "unknown"
}

// Click is one answered redirect as topic "clicks" carries it: it holds nothing
// that tells who the visitor was.
type Click struct {
	Link     int64
	At       time.Time // To the microsecond.
	Class    Class
	Campaign string // utm_campaign, cut at 100 runes.
}
