package queue_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"snip/queue"
)

func TestFormatEntryWritesAllDigits(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, offset uint64, check uint32) {
		got, want := queue.FormatEntry(offset, check), fmt.Sprintf("%016x-%08x", offset, check)
		if got != want {
			t.Fatalf("FormatEntry(%d, %d) = %q, want %q", offset, check, got, want)
		}
		o, c, err := queue.ParseEntry(got)
		if err != nil || o != offset || c != check {
			t.Fatalf("ParseEntry(%q) = %d, %d, %v, want %d, %d", got, o, c, err, offset, check)
		}
	}
	for _, offset := range []uint64{0, 1, 0xf, 0x10, math.MaxInt64, math.MaxUint64} {
		for _, mark := range []uint32{0, 1, math.MaxUint32} {
			check(t, offset, mark)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.Uint64().Draw(t, "offset"), rapid.Uint32().Draw(t, "check"))
	})
}

func TestFormatEntryAllocatesItsStringOnly(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { sink = queue.FormatEntry(1234567, 89) }); n > 1 {
		t.Errorf("FormatEntry allocates %v times, want once", n)
	}
}

// sink keeps the compiler from leaving out what is measured.
var sink string
