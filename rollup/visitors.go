package rollup

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/axiomhq/hyperloglog"
)

// Visitors is how many different numbers it has seen: the numbers themselves while
// they are few, and a HyperLogLog sketch of 2^15 registers once they are many, whose
// standard error is 0.6 %. The zero value has seen none.
type Visitors struct {
	numbers []uint64 // Sorted; nil once there is a sketch.
	sketch  *hyperloglog.Sketch
}

const (
	exact     = 48 // So many numbers take as much as a sketch of them.
	precision = 15

	visitorNumbers byte = 1 // First bytes of an encoding.
	visitorSketch  byte = 2
)

// Insert sees a number of 64 evenly distributed bits. It returns whether that
// changed anything. 0 is nobody.
func (v *Visitors) Insert(visitor uint64) bool {
	if visitor == 0 {
		return false
	}
	if v.sketch != nil {
		v.sketch.InsertHash(visitor)
		return true
	}
	i, seen := slices.BinarySearch(v.numbers, visitor)
	if seen {
		return false
	}
	v.numbers = slices.Insert(v.numbers, i, visitor)
	if len(v.numbers) > exact {
		v.toSketch()
	}
	return true
}

func (v *Visitors) toSketch() {
	v.sketch, _ = hyperloglog.NewSketch(precision, true) // It only fails for other precisions.
	for _, n := range v.numbers {
		v.sketch.InsertHash(n)
	}
	v.numbers = nil
}

// Merge sees all that w has seen.
func (v *Visitors) Merge(w *Visitors) error {
	if w.sketch == nil {
		for _, n := range w.numbers {
			v.Insert(n)
		}
		return nil
	}
	if v.sketch == nil {
		v.toSketch()
	}
	if err := v.sketch.Merge(w.sketch); err != nil {
		return fmt.Errorf("rollup: merge visitors: %w", err)
	}
	return nil
}

// Estimate returns how many different ones it has seen.
func (v *Visitors) Estimate() int64 {
	if v.sketch == nil {
		return int64(len(v.numbers))
	}
	return int64(v.sketch.Estimate())
}

// Append encodes.
func (v *Visitors) Append(dst []byte) ([]byte, error) {
	if v.sketch == nil {
		dst = append(slices.Grow(dst, 1+8*len(v.numbers)), visitorNumbers)
		for _, n := range v.numbers {
			dst = binary.BigEndian.AppendUint64(dst, n)
		}
		return dst, nil
	}
	// An estimate brings what came last in order, which takes a third of the bytes.
	v.sketch.Estimate()
	dst, err := v.sketch.AppendBinary(append(dst, visitorSketch))
	if err != nil {
		return nil, fmt.Errorf("rollup: encode visitors: %w", err)
	}
	return dst, nil
}

// DecodeVisitors reads what Append wrote, or nobody from no bytes.
func DecodeVisitors(b []byte) (*Visitors, error) {
	v := &Visitors{}
	switch {
	case len(b) == 0:
	case b[0] == visitorNumbers && len(b)%8 == 1 && len(b) <= 1+8*exact:
		v.numbers = make([]uint64, 0, len(b)/8+1)
		for b = b[1:]; len(b) > 0; b = b[8:] {
			v.numbers = append(v.numbers, binary.BigEndian.Uint64(b))
		}
		if !slices.IsSorted(v.numbers) {
			return nil, errFormat
		}
	case b[0] == visitorSketch:
		v.sketch = &hyperloglog.Sketch{}
		if err := v.sketch.UnmarshalBinary(b[1:]); err != nil {
			return nil, fmt.Errorf("rollup: decode visitors: %w", err)
		}
	default:
		return nil, errFormat
	}
	return v, nil
}
