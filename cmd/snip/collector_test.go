package main

import (
	"runtime/debug"
	"testing"
)

// TestCollectorIsTheOperators: what the environment says of it stays.
func TestCollectorIsTheOperators(t *testing.T) {
	const before = 123
	defer debug.SetGCPercent(debug.SetGCPercent(before))
	for _, test := range []struct {
		environ []string
		want    int
	}{
		{nil, garbagePercent},
		{[]string{"HOME=/", "SNIP_GOGC=1"}, garbagePercent},
		{[]string{"GOGC=50"}, before},
		{[]string{"GOMEMLIMIT=100MiB"}, before},
	} {
		debug.SetGCPercent(before)
		tuneCollector(test.environ)
		if got := debug.SetGCPercent(before); got != test.want {
			t.Errorf("with %q it is %d, want %d", test.environ, got, test.want)
		}
	}
}
