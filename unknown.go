package snip

import "time"

// UnknownHits is how often a code that no link has was asked for within one slot.
type UnknownHits struct {
	Slot time.Time // Any moment within it.
	Code string    // Empty: codes that are not kept apart.
	Hits int64     // 1 or more.
}
