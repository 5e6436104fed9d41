// Package rollup keeps what was counted in few bytes: per link and UTC day the
// values that were seen and a sketch of the visitors, and per link and span of time
// how often each value was.
//
// Nothing in it is safe for concurrent use. Encodings start with their version; what
// was not written by this package is an error, never a panic.
package rollup

import (
	"encoding/binary"
	"errors"
	"slices"

	"snip"
)

// version is the first byte of every encoding.
const version = 1

var errFormat = errors.New("rollup: not in a format that this version knows")

// Place stands for a value of one dimension on one day: Other, or its number in
// Values.
type Place uint16

// Other is the place of all values that are not kept apart.
const Other Place = 0

// Values are the values that are kept apart for one link on one UTC day, in each
// dimension in the order in which they came. The zero value has none.
type Values struct {
	texts  [snip.NumDimensions][]string
	places [snip.NumDimensions]map[string]Place // Of many texts: see Place.
}

// few is how many texts are looked through faster than they are hashed.
const few = 12

// Place returns the place of a value, which is a new one if fewer than
// snip.MaxValues of the dimension were kept apart before.
func (v *Values) Place(d snip.Dimension, text string) Place {
	return v.place(d, text, snip.MaxValues)
}

// Move returns the place of a value of another day's. It keeps apart what was kept
// apart there, however many that makes together.
func (v *Values) Move(d snip.Dimension, from *Values, p Place) Place {
	text, ok := from.Text(d, p)
	if !ok {
		return Other
	}
	return v.place(d, text, 1<<16-1)
}

// Find returns the place of a value of another day's, or Other if it is not kept apart
// here.
func (v *Values) Find(d snip.Dimension, from *Values, p Place) Place {
	text, ok := from.Text(d, p)
	if !ok {
		return Other
	}
	return v.find(d, text)
}

func (v *Values) place(d snip.Dimension, text string, most int) Place {
	if p := v.find(d, text); p != Other || len(v.texts[d]) >= most {
		return p
	}
	v.texts[d] = append(v.texts[d], text)
	p := Place(len(v.texts[d]))
	if v.places[d] != nil {
		v.places[d][text] = p
	}
	return p
}

func (v *Values) find(d snip.Dimension, text string) Place {
	texts := v.texts[d]
	if len(texts) <= few {
		return Place(slices.Index(texts, text) + 1)
	}
	if v.places[d] == nil {
		v.places[d] = make(map[string]Place, 2*len(texts))
		for i, t := range texts {
			v.places[d][t] = Place(i + 1)
		}
	}
	return v.places[d][text]
}

// Text returns the value at a place, or false for Other.
func (v *Values) Text(d snip.Dimension, p Place) (string, bool) {
	if p == Other || int(p) > len(v.texts[d]) {
		return "", false
	}
	return v.texts[d][p-1], true
}

// Len returns how many values of a dimension are kept apart.
func (v *Values) Len(d snip.Dimension) int { return len(v.texts[d]) }

// Append encodes: per dimension the number of texts, and each with its length before
// it. Numbers are unsigned varints.
func (v *Values) Append(dst []byte) []byte {
	size := 2
	for _, texts := range v.texts {
		size += 1 + len(texts) // About: most lengths take a byte.
		for _, t := range texts {
			size += len(t)
		}
	}
	dst = slices.Grow(dst, size)
	dst = append(dst, version, byte(snip.NumDimensions))
	for _, texts := range v.texts {
		dst = binary.AppendUvarint(dst, uint64(len(texts)))
		for _, t := range texts {
			dst = binary.AppendUvarint(dst, uint64(len(t)))
			dst = append(dst, t...)
		}
	}
	return dst
}

// DecodeValues reads what Append wrote, or nothing from no bytes. Of a version with
// fewer dimensions the others are empty.
func DecodeValues(b []byte) (*Values, error) {
	v := &Values{}
	if len(b) == 0 {
		return v, nil
	}
	r, dimensions, err := open(string(b))
	if err != nil {
		return nil, err
	}
	for d := range dimensions {
		n := r.number()
		if n > uint64(len(r.rest)) {
			return nil, errFormat // Every text takes a byte or more.
		}
		texts := make([]string, 0, n)
		for range n {
			texts = append(texts, r.text())
		}
		v.texts[d] = texts
	}
	return v, r.end()
}

// reader reads an encoding that may be damaged: then all it returns is zero, and end
// says so.
type reader struct {
	rest string // Texts that are read share its memory.
	bad  bool
}

// open reads the head: the version and the number of dimensions.
func open(s string) (*reader, int, error) {
	if len(s) < 2 || s[0] != version || s[1] > byte(snip.NumDimensions) {
		return nil, 0, errFormat
	}
	return &reader{rest: s[2:]}, int(s[1]), nil
}

func (r *reader) number() uint64 {
	var x uint64
	for i := range min(len(r.rest), binary.MaxVarintLen64) {
		c := r.rest[i]
		x |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.rest = r.rest[i+1:]
			return x
		}
	}
	r.rest, r.bad = "", true
	return 0
}

func (r *reader) text() string {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.rest, r.bad = "", true
		return ""
	}
	t := r.rest[:n]
	r.rest = r.rest[n:]
	return t
}

func (r *reader) end() error {
	if r.bad || r.rest != "" {
		return errFormat
	}
	return nil
}
