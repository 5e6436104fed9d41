package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"sync/atomic"
	"time"
	"unsafe"

	"snip/queue"
)

// A segment is one page of header and then records, each at a multiple of 8.
// Numbers are in the machine's byte order: a segment never leaves its machine.
//
//	header   0  magic, segment ID, created, partition, topic, CRC   written once
//	       512  how many records were written                      by the intake
//	      1024  how far the segment was sent, CRC                  by the shipper
//	record   0  size u32, CRC u32       one word, stored last: zero means no record yet
//	         8  number u32, size u32
//	        16  time, in nanoseconds since 1970
//	        24  payload, then zeros up to a multiple of 8
//
// Every CRC-32C starts from the segment's ID, so that what another segment left
// on the disk is not taken for a record of this one.
const (
	magic       = "snipseg1"
	headSize    = 4096
	headSealed  = 160 // The bytes of the header under its CRC.
	countAt     = 512
	progressAt  = 1024
	progressLen = 40
	recordHead  = 24

	maxSegment = 1 << 30
)

func checksum(seed uint32, b []byte) uint32 {
	return crc32.Update(seed, crc32.MakeTable(crc32.Castagnoli), b)
}

func seedOf(id queue.SegmentID) uint32 { return checksum(0, id[:]) }

func align(n int) int { return (n + 7) &^ 7 }

// head is what a segment is, for life.
type head struct {
	id        queue.SegmentID
	topic     string
	partition int
	created   time.Time
}

// encode returns the header page of a segment that holds nothing.
func (h head) encode() []byte {
	b := make([]byte, headSize)
	copy(b, magic)
	copy(b[8:], h.id[:])
	binary.NativeEndian.PutUint64(b[24:], uint64(h.created.UnixNano()))
	binary.NativeEndian.PutUint32(b[32:], uint32(h.partition))
	binary.NativeEndian.PutUint32(b[36:], uint32(len(h.topic)))
	copy(b[40:headSealed-4], h.topic)
	binary.NativeEndian.PutUint32(b[headSealed-4:], checksum(seedOf(h.id), b[:headSealed-4]))
	binary.NativeEndian.PutUint64(b[countAt:], countWord(0))
	copy(b[progressAt:], progress{offset: headSize}.encode(seedOf(h.id)))
	return b
}

// decodeHead reads a header page. The ID comes from the file's name; a header that
// holds another one is as broken as one with a bad CRC.
func decodeHead(id queue.SegmentID, b []byte) (head, error) {
	if len(b) < headSealed || string(b[:8]) != magic {
		return head{}, errors.New("not a segment")
	}
	if queue.SegmentID(b[8:24]) != id {
		return head{}, errors.New("the header holds another ID than the name")
	}
	if binary.NativeEndian.Uint32(b[headSealed-4:]) != checksum(seedOf(id), b[:headSealed-4]) {
		return head{}, errors.New("the header's CRC is wrong")
	}
	n := binary.NativeEndian.Uint32(b[36:])
	if n > headSealed-4-40 {
		return head{}, fmt.Errorf("the topic is %d bytes long", n)
	}
	return head{
		id:        id,
		topic:     string(b[40 : 40+n]),
		partition: int(binary.NativeEndian.Uint32(b[32:])),
		created:   time.Unix(0, int64(binary.NativeEndian.Uint64(b[24:]))),
	}, nil
}

// countWord holds a count and its complement, which tells a broken word.
func countWord(n uint32) uint64 { return uint64(n) | uint64(^n)<<32 }

func decodeCount(word uint64) (n uint64, ok bool) {
	return uint64(uint32(word)), uint32(word) == ^uint32(word>>32)
}

// progress says how far a segment was sent. Where asked is larger than sent, an
// append was begun of which no answer was noted: its outcome is in doubt.
type progress struct {
	sent   uint64 // Number of the first message that was not acknowledged.
	asked  uint64 // Number behind the last message an engine was asked to take.
	lost   uint64 // How many of the messages before sent went out as queue.TypeLost.
	offset int64  // Where the record with number sent stands.
}

func (p progress) encode(seed uint32) []byte {
	b := make([]byte, progressLen)
	binary.NativeEndian.PutUint64(b, p.sent)
	binary.NativeEndian.PutUint64(b[8:], p.asked)
	binary.NativeEndian.PutUint64(b[16:], p.lost)
	binary.NativeEndian.PutUint64(b[24:], uint64(p.offset))
	binary.NativeEndian.PutUint32(b[32:], checksum(seed, b[:32]))
	return b
}

// askedUnknown stands in a progress that could not be read.
const askedUnknown = math.MaxUint64

// decodeProgress answers a broken one with "nothing sent, in doubt": the engine's
// own memory then says how far it came.
func decodeProgress(seed uint32, b []byte) progress {
	p := progress{
		sent:   binary.NativeEndian.Uint64(b),
		asked:  binary.NativeEndian.Uint64(b[8:]),
		lost:   binary.NativeEndian.Uint64(b[16:]),
		offset: int64(binary.NativeEndian.Uint64(b[24:])),
	}
	if binary.NativeEndian.Uint32(b[32:]) != checksum(seed, b[:32]) || p.offset < headSize || p.offset > maxSegment {
		return progress{asked: askedUnknown, offset: headSize}
	}
	return p
}

// putRecord writes a record at the start of b, which is mapped and zero. Whoever
// sees its first word sees all of it.
func putRecord(b []byte, seed, number uint32, at int64, payload []byte) {
	size := recordHead + len(payload)
	binary.NativeEndian.PutUint32(b[8:], number)
	binary.NativeEndian.PutUint32(b[12:], uint32(size))
	binary.NativeEndian.PutUint64(b[16:], uint64(at))
	copy(b[recordHead:], payload)
	var word [8]byte
	binary.NativeEndian.PutUint32(word[:], uint32(size))
	binary.NativeEndian.PutUint32(word[4:], checksum(seed, b[8:size]))
	storeWord(b, binary.NativeEndian.Uint64(word[:]))
}

// storeWord stores the first word of b, which is aligned, so that no reader of the
// page sees half of it, nor it before what was stored earlier.
func storeWord(b []byte, word uint64) {
	_ = b[7]
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&b[0])), word)
}

// record is a whole record as it stands in a segment.
type record struct {
	number  uint64
	at      int64
	payload []byte
}

// recordSize returns the size that the record at the start of b claims.
func recordSize(b []byte) int { return int(binary.NativeEndian.Uint32(b)) }

// parseRecord reads the record that b holds from start to end, padding left out.
func parseRecord(seed uint32, b []byte) (record, bool) {
	if len(b) < recordHead || recordSize(b) != len(b) ||
		recordSize(b[12:]) != len(b) ||
		binary.NativeEndian.Uint32(b[4:]) != checksum(seed, b[8:]) {
		return record{}, false
	}
	return record{
		number:  uint64(binary.NativeEndian.Uint32(b[8:])),
		at:      int64(binary.NativeEndian.Uint64(b[16:])),
		payload: b[recordHead:],
	}, true
}

// noTime stands for the zero time, which has no count of nanoseconds.
const noTime = math.MinInt64

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return noTime
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == noTime {
		return time.Time{}
	}
	return time.Unix(0, n)
}
