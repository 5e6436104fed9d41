package snip

import "time"

// Key allows a program or a person to use the API. Its secret is not part of it:
// nobody has that but its owner.
type Key struct {
	ID        int64
	Label     string // What it is for, as its maker put it.
	Admin     bool   // It may do everything.
	CreatedAt time.Time
}

// MaxLabel is the most characters the label of a key may have.
const MaxLabel = 200

// CheckLabel returns an *Error for field "label" if a key cannot have this label.
func CheckLabel(label string) error { return checkLine("label", label, MaxLabel) }
