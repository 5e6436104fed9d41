package spool

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"snip/queue"
)

// sample returns the bytes of a segment with a few records.
func sample(id queue.SegmentID, records int) []byte {
	b := append(head{id: id, topic: "clicks", partition: 2, created: time.Unix(5, 0)}.encode(), make([]byte, 64*records)...)
	at := headSize
	for i := range records {
		payload := fmt.Appendf(nil, "record %d", i)
		putRecord(b[at:], seedOf(id), uint32(i), int64(i), payload)
		at += align(recordHead + len(payload))
	}
	binary.NativeEndian.PutUint64(b[countAt:], countWord(uint32(records)))
	return b
}

func TestHeadRoundTrip(t *testing.T) {
	want := head{id: queue.NewSegmentID(), topic: "clicks", partition: 1023, created: time.Unix(1_700_000_000, 7)}
	got, err := decodeHead(want.id, want.encode())
	if err != nil || got != want {
		t.Errorf("decodeHead() = %+v, %v, want %+v", got, err, want)
	}
}

// FuzzSegment reads segments of any content: it must end, without a panic, with
// numbers that have no gaps, and never with a record that was not written.
func FuzzSegment(f *testing.F) {
	id := queue.SegmentID{1}
	whole := sample(id, 5)
	f.Add(whole)
	f.Add(whole[:headSize+50])
	f.Add(whole[:100])
	for _, at := range []int{countAt, progressAt, headSize, headSize + 45, headSize + 130} {
		broken := bytes.Clone(whole)
		broken[at] ^= 0x11
		f.Add(broken)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		page := make([]byte, headSize)
		copy(page, b)
		if h, err := decodeHead(id, page); err == nil && h.id != id {
			t.Errorf("decodeHead() took the header of segment %s", h.id)
		}
		p := decodeProgress(seedOf(id), page[progressAt:][:progressLen])
		counted, known := decodeCount(binary.NativeEndian.Uint64(page[countAt:]))
		r := &reader{file: bytes.NewReader(b), seed: seedOf(id)}
		at := position{p.sent, p.offset}
		e, err := r.measure(at, counted, known, int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		for at.number < e.count {
			rec, lost, after, err := r.next(at, e.count, e.end)
			if err != nil {
				t.Fatal(err)
			}
			if lost == 0 && (after.number != at.number+1 || rec.number != at.number) ||
				lost > 0 && after.number != at.number+lost || after.number > e.count || after.offset < at.offset {
				t.Fatalf("next(%v) = %d, %d lost, %v of %d", at, rec.number, lost, after, e.count)
			}
			if lost == 0 && !bytes.Contains(b, rec.payload) {
				t.Fatalf("next(%v) = %q, which is not in the segment", at, rec.payload)
			}
			at = after
		}
	})
}
