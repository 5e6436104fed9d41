package test

import (
	"encoding/binary"
	"os"
	"testing"
)

// What queue/spool writes in a segment: a page of header, then records at multiples
// of 8, each with its size first and its payload at 24.
const (
	segmentHead   = 4096
	recordPayload = 24
)

// records returns where the records of a segment start.
func records(segment []byte) (offsets []int) {
	for at := segmentHead; at+recordPayload <= len(segment); {
		size := int(binary.NativeEndian.Uint32(segment[at:]))
		if size == 0 {
			break
		}
		offsets = append(offsets, at)
		at += (size + 7) &^ 7
	}
	return offsets
}

// damage changes the segment that has the most records, and returns how many.
func damage(t *testing.T, dir string, change func(segment []byte, offsets []int)) int {
	t.Helper()
	var path string
	var fullest []byte
	for _, p := range segments(t, dir) {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(records(b)) > len(records(fullest)) {
			path, fullest = p, b
		}
	}
	offsets := records(fullest)
	if len(offsets) < 10 {
		t.Fatalf("the fullest segment has %d records: too few to damage one in the middle", len(offsets))
	}
	change(fullest, offsets)
	if err := os.WriteFile(path, fullest, 0o600); err != nil {
		t.Fatal(err)
	}
	return len(offsets)
}

func TestKilledAndDamagedSegmentIsCutAndReported(t *testing.T) {
	tests := []struct {
		name    string
		change  func(segment []byte, offsets []int)
		dropped int64  // What was answered and cannot be read any more.
		word    string // In the log.
	}{
		{
			name: "a bit in the middle", dropped: 1, word: "cannot be read",
			change: func(b []byte, at []int) { b[at[len(at)/2]+recordPayload+5] ^= 1 << 3 },
		},
		{
			// Its number is there, so it was answered.
			name: "the last record cut short", dropped: 1, word: "cannot be read",
			change: func(b []byte, at []int) { clear(b[at[len(at)-1]+recordPayload:]) },
		},
		{
			// Its first word never came to be, so nobody was answered.
			name: "a record that was begun", dropped: 0, word: "cut a record",
			change: func(b []byte, at []int) {
				last := at[len(at)-1]
				size := (int(binary.NativeEndian.Uint32(b[last:])) + 7) &^ 7
				copy(b[last+size+8:], b[last+8:last+size])
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir, rnd, vs := t.TempDir(), random(t), &visits{}
			codes := leaveSegments(t, dir, rnd, vs, 1)
			damage(t, dir, test.change)
			p := start(t, "", dir)
			caughtUp(t, p)
			eventually(t, "what was dropped is shown", func() bool { return p.dropped() == test.dropped })
			if s := readStats(t, p, adminKey(t, dir), codes[0]); s.Dropped != test.dropped {
				t.Errorf("statistics show %d dropped, want %d", s.Dropped, test.dropped)
			}
			if p.log.grep(test.word) == nil {
				t.Errorf("the log has no line with %q", test.word)
			}
			p.stop()
			vs.mustAllBeAnswered(t, 0)
			b := mustBalance(t, dir, vs, test.dropped)
			if int64(b.lost) != test.dropped {
				t.Errorf("%d lost events in the topic, want %d", b.lost, test.dropped)
			}
		})
	}
}
