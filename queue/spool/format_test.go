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

// FuzzSegment reads segments whose records are any bytes, some of them with their
// CRC put right: it must end, without a panic, with numbers that have no gaps, and
// never with a record that was not written.
func FuzzSegment(f *testing.F) {
	id := queue.SegmentID{1}
	whole := sample(id, 5)[headSize:]
	f.Add(uint32(5), true, uint16(0), whole)
	f.Add(uint32(5), false, uint16(48), whole[:150])
	f.Add(uint32(9), true, uint16(8), whole[:30])
	for _, at := range []int{0, 9, 45, 96, 130} {
		broken := bytes.Clone(whole)
		broken[at] ^= 0x11
		f.Add(uint32(5), at%2 == 0, uint16(at), broken)
	}
	f.Fuzz(func(t *testing.T, counted uint32, known bool, right uint16, body []byte) {
		if at := int(right) &^ 7; at+recordHead <= len(body) {
			if n := recordSize(body[at:]); n >= recordHead && n <= len(body)-at {
				body = bytes.Clone(body)
				binary.NativeEndian.PutUint32(body[at+4:], checksum(seedOf(id), body[at+8:at+n]))
			}
		}
		b := append(make([]byte, headSize), body...)
		r := &reader{file: bytes.NewReader(b), seed: seedOf(id)}
		at := position{0, headSize}
		e, err := r.measure(at, uint64(counted), known, int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		if known && e.count < uint64(counted) {
			t.Fatalf("measure() = %d records, %d were counted", e.count, counted)
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
			if lost == 0 && !bytes.Contains(body, rec.payload) {
				t.Fatalf("next(%v) = %q, which is not in the segment", at, rec.payload)
			}
			at = after
		}
	})
}

// FuzzHead decodes headers of any content.
func FuzzHead(f *testing.F) {
	id := queue.SegmentID{1}
	f.Add(sample(id, 0)[:headSealed], sample(id, 0)[progressAt:][:progressLen])
	f.Add([]byte(magic), make([]byte, progressLen))
	f.Fuzz(func(t *testing.T, page, sent []byte) {
		h, err := decodeHead(id, page)
		if err == nil && !bytes.Equal(h.encode()[:headSealed], page[:headSealed]) {
			t.Errorf("decodeHead() = %+v, which is written in another way", h)
		}
		if len(sent) >= progressLen {
			if p := decodeProgress(seedOf(id), sent); p.offset < headSize || p.offset > maxSegment {
				t.Errorf("decodeProgress() = %+v", p)
			}
		}
	})
}
