package snip_test

import (
	"testing"
	"time"

	"snip"
)

func TestDay(t *testing.T) {
	for seconds, want := range map[int64]int64{0: 0, 86399: 0, 86400: 1, -1: -1, -86400: -1, -86401: -2} {
		if got := snip.Day(time.Unix(seconds, 0)); got != want {
			t.Errorf("Day(%d) = %d, want %d", seconds, got, want)
		}
	}
}
