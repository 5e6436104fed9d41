package queue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// frameVersion starts every batch of frames.
const frameVersion = 1

// Bits of a frame's first byte: what it holds beside its body.
const (
	frameID = 1 << iota
	frameKey
	frameType
	frameTime
	frameHeaders

	frameUnknown = ^byte(frameID | frameKey | frameType | frameTime | frameHeaders)
)

// AppendFrames adds the messages to dst in the form in which engines keep a batch:
// a version byte, then a frame per message. A frame is a byte that says which of
// the following it has, then these: ID, key and type as strings; the time as a
// signed varint of nanoseconds, after the time of the frame before (or 1970); the
// number of headers as a varint and a name and value string for each, by name;
// last and always the body as a string. A string is its length as a varint, then
// its bytes. Varints are those of package encoding/binary.
//
// A time outside the years 1678 to 2262 cannot be written in nanoseconds.
func AppendFrames(dst []byte, messages []Message) []byte {
	size := 1
	for _, m := range messages {
		size += len(m.ID) + len(m.Key) + len(m.Type) + len(m.Body) + 24 // Lengths and time, about.
	}
	dst = slices.Grow(dst, size)
	dst = append(dst, frameVersion)
	var before int64
	for _, m := range messages {
		at := len(dst)
		dst = append(dst, 0)
		dst = appendOptional(dst, at, frameID, m.ID)
		dst = appendOptional(dst, at, frameKey, m.Key)
		dst = appendOptional(dst, at, frameType, m.Type)
		if !m.Time.IsZero() {
			dst[at] |= frameTime
			now := m.Time.UnixNano()
			dst = binary.AppendVarint(dst, now-before)
			before = now
		}
		if len(m.Headers) > 0 {
			dst[at] |= frameHeaders
			dst = binary.AppendUvarint(dst, uint64(len(m.Headers)))
			for _, name := range slices.Sorted(maps.Keys(m.Headers)) {
				dst = appendString(dst, name)
				dst = appendString(dst, m.Headers[name])
			}
		}
		dst = binary.AppendUvarint(dst, uint64(len(m.Body)))
		dst = append(dst, m.Body...)
	}
	return dst
}

func appendOptional(dst []byte, at int, bit byte, s string) []byte {
	if s == "" {
		return dst
	}
	dst[at] |= bit
	return appendString(dst, s)
}

func appendString(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

var errFrames = errors.New("damaged frames")

// DecodeFrames reads the messages that AppendFrames wrote. It refuses anything else
// and allocates no more than the input is long, times a constant. The messages'
// bodies share the memory of b.
func DecodeFrames(b []byte, count int) ([]Message, error) {
	if len(b) == 0 || b[0] != frameVersion {
		return nil, fmt.Errorf("%w: unknown version", errFrames)
	}
	// A frame takes two bytes at least.
	if count < 0 || count > len(b)/2 {
		return nil, fmt.Errorf("%w: %d messages cannot be in %d bytes", errFrames, count, len(b))
	}
	d := frames{b: b[1:]}
	messages := make([]Message, count)
	for i := range messages {
		d.next(&messages[i])
	}
	if d.bad || len(d.b) > 0 {
		return nil, errFrames
	}
	return messages, nil
}

// frames reads one frame after the other. Once bad, it stays so.
type frames struct {
	b      []byte
	before int64
	types  string // The last type: messages of a batch mostly share it.
	bad    bool
}

func (d *frames) next(m *Message) {
	if len(d.b) == 0 || d.b[0]&frameUnknown != 0 {
		d.bad = true
		return
	}
	has := d.b[0]
	d.b = d.b[1:]
	if has&frameID != 0 {
		m.ID = string(d.bytes())
	}
	if has&frameKey != 0 {
		m.Key = string(d.bytes())
	}
	if has&frameType != 0 {
		if b := d.bytes(); string(b) != d.types {
			d.types = string(b)
		}
		m.Type = d.types
	}
	if has&frameTime != 0 {
		delta, n := binary.Varint(d.b)
		d.skip(n)
		d.before += delta
		m.Time = time.Unix(0, d.before).UTC()
	}
	if has&frameHeaders != 0 {
		n := d.uvarint()
		if n > uint64(len(d.b)/2) {
			d.bad = true
			return
		}
		m.Headers = make(map[string]string, n)
		for range n {
			name := string(d.bytes())
			m.Headers[name] = string(d.bytes())
		}
	}
	if b := d.bytes(); len(b) > 0 {
		m.Body = b
	}
}

func (d *frames) bytes() []byte {
	n := d.uvarint()
	if d.bad || n > uint64(len(d.b)) {
		d.bad = true
		return nil
	}
	b := d.b[:n:n]
	d.b = d.b[n:]
	return b
}

func (d *frames) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	d.skip(n)
	return v
}

// skip moves on by what a varint took; it is not positive for a bad one.
func (d *frames) skip(n int) {
	if n <= 0 {
		d.bad, d.b = true, nil
		return
	}
	d.b = d.b[n:]
}
