package main

import (
	"slices"
	"testing"
)

func TestTallyTellsWhatDidNotArriveInOrder(t *testing.T) {
	messages := randomMessages(3)
	arrivals := map[string][]int{
		"all":     {0, 1, 2, 0, 1, 2},
		"missing": {0, 1, 2, 0, 2},
		"doubled": {0, 1, 1, 2, 0, 1},
		"swapped": {0, 2, 1, 0, 1, 2},
		"more":    {0, 1, 2, 0, 1, 2, 0},
	}
	for name, numbers := range arrivals {
		got := newTally(messages, 6)
		last := -1 // Where take reported the last one.
		for i, n := range numbers {
			if got.take(slices.Clone(messages[n].Body)) {
				last = i
			}
		}
		if err := got.check(); (err == nil) != (name == "all") {
			t.Errorf("%s: check() = %v", name, err)
		}
		if want := len(numbers) >= 6; (last == 5) != want {
			t.Errorf("%s: the last was number %d of %d", name, last, len(numbers))
		}
	}
}
