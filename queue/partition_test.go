package queue_test

import (
	"strconv"
	"testing"

	"snip/queue"
)

func TestPartitionOf(t *testing.T) {
	// Topics keep messages for long: these must never change.
	for key, want := range map[string]int{"a": 4, "order-17": 6, "ü": 2} {
		if got := queue.PartitionOf(key, 8); got != want {
			t.Errorf("PartitionOf(%q, 8) = %d, want %d", key, got, want)
		}
	}
	keyed, empty := map[int]int{}, map[int]int{}
	for i := range 8000 {
		keyed[queue.PartitionOf(strconv.Itoa(i), 8)]++
		empty[queue.PartitionOf("", 8)]++
	}
	for name, spread := range map[string]map[int]int{"keys": keyed, "no keys": empty} {
		for p := range 8 {
			if spread[p] < 700 || spread[p] > 1300 {
				t.Errorf("%s: partition %d of 8 got %d of 8000 messages", name, p, spread[p])
			}
		}
	}
}
