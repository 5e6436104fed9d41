package queue

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"
)

// FormatEntry is how an engine that counts messages by itself names an entry in a
// Position: the number of messages before it in its partition, so that names
// compare as the entries stand, and the check made at random when it was appended.
func FormatEntry(offset uint64, check uint32) string {
	// By hand: an engine names every entry that it reads.
	var number [12]byte
	binary.BigEndian.PutUint64(number[:], offset)
	binary.BigEndian.PutUint32(number[8:], check)
	var name [entryLen]byte
	hex.Encode(name[:], number[:8])
	name[16] = '-'
	hex.Encode(name[17:], number[8:])
	return string(name[:])
}

const entryLen = 25 // Of what FormatEntry returns: 16 digits, '-', 8 digits.

// ParseEntry reads what FormatEntry wrote. For anything else it returns
// ErrPositionLost: no log of such an engine ever gave it.
func ParseEntry(s string) (offset uint64, check uint32, err error) {
	if len(s) != entryLen || s[16] != '-' {
		return 0, 0, fmt.Errorf("entry %q: %w", s, ErrPositionLost)
	}
	offset, err1 := strconv.ParseUint(s[:16], 16, 64)
	c, err2 := strconv.ParseUint(s[17:], 16, 32)
	if err1 != nil || err2 != nil {
		return 0, 0, fmt.Errorf("entry %q: %w", s, ErrPositionLost)
	}
	return offset, uint32(c), nil
}

// From returns the part of the entry from its message number i on, which must
// exist.
func (e Entry) From(i int) Entry {
	e.Position.Index = i
	e.Offset += uint64(i)
	if !e.Segment.IsZero() {
		e.First += uint64(i)
	}
	e.Messages = e.Messages[i:]
	return e
}

// Earliest returns the earliest time of the batch's messages, zero if none has one.
func (b Batch) Earliest() time.Time {
	var earliest time.Time
	for _, m := range b.Messages {
		if !m.Time.IsZero() && (earliest.IsZero() || m.Time.Before(earliest)) {
			earliest = m.Time
		}
	}
	return earliest
}
