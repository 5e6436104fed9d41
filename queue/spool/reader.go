package spool

import (
	"encoding/binary"
	"errors"
	"io"
)

// position is a place in a segment: the number that comes next, and the offset
// from which on its record is looked for.
type position struct {
	number uint64
	offset int64
}

// reader walks the records of a segment through the page cache, never through
// mapped memory: what is missing or cannot be read is an error, not a fault.
type reader struct {
	file io.ReaderAt
	seed uint32

	buf  []byte // The file's bytes from base on. Never overwritten: payloads point into it.
	base int64
}

const readAhead = 256 << 10

// next returns the record with the number p.number, or how many numbers from that
// one on are lost, and the position behind. The segment holds count records, the
// last of which ends before end.
func (r *reader) next(p position, count uint64, end int64) (rec record, lost uint64, after position, err error) {
	rec, ok, err := r.record(p.offset, end)
	if err != nil {
		return record{}, 0, p, err
	}
	if !ok || rec.number != p.number {
		rec, p.offset, ok, err = r.resync(p, end)
		if err != nil {
			return record{}, 0, p, err
		}
		if !ok {
			return record{}, count - p.number, position{count, end}, nil
		}
		if rec.number > p.number {
			number := min(rec.number, count)
			return record{}, number - p.number, position{number, p.offset}, nil
		}
	}
	return rec, 0, behind(p, rec), nil
}

// behind returns the position after the record that stands at p.
func behind(p position, rec record) position {
	return position{p.number + 1, p.offset + int64(align(recordHead+len(rec.payload)))}
}

// record reads the record at an offset, if a whole one stands there.
func (r *reader) record(offset, end int64) (record, bool, error) {
	b, err := r.bytes(offset, recordHead, end)
	if b == nil || err != nil {
		return record{}, false, err
	}
	if n := recordSize(b); n < recordHead || n != recordSize(b[12:]) {
		return record{}, false, nil
	}
	b, err = r.bytes(offset, recordSize(b), end)
	if b == nil || err != nil {
		return record{}, false, err
	}
	rec, ok := parseRecord(r.seed, b)
	return rec, ok, nil
}

// resync looks for the next whole record from p on whose number is not behind.
func (r *reader) resync(p position, end int64) (rec record, offset int64, ok bool, err error) {
	for offset = p.offset; offset+recordHead <= end; offset += 8 {
		rec, ok, err = r.record(offset, end)
		if err != nil || ok && rec.number >= p.number {
			return rec, offset, ok, err
		}
	}
	return record{}, end, false, nil
}

// bytes returns n bytes from an offset on, or nil if they do not end before end.
// What the file lacks of them, because it was cut, is zero.
func (r *reader) bytes(offset int64, n int, end int64) ([]byte, error) {
	if offset+int64(n) > end {
		return nil, nil
	}
	if offset < r.base || offset+int64(n) > r.base+int64(len(r.buf)) {
		buf := make([]byte, min(max(int64(n), readAhead), end-offset))
		if _, err := r.file.ReadAt(buf, offset); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		r.buf, r.base = buf, offset
	}
	return r.buf[offset-r.base:][:n:n], nil
}

// extent is how much a segment holds.
type extent struct {
	count uint64 // Records ever written, as far as can be known.
	end   int64  // Where the last whole one ends.
	torn  bool   // A record was begun there and never ended.
}

// measure finds out how much a segment holds whose process is dead, from a
// position on. counted is the header's count; the process may have died between a
// record and its count.
func (r *reader) measure(p position, counted uint64, known bool, size int64) (extent, error) {
	for {
		rec, ok, err := r.record(p.offset, size)
		if err != nil {
			return extent{}, err
		}
		if !ok || rec.number != p.number {
			if known && p.number >= counted {
				break
			}
			var offset int64
			if rec, offset, ok, err = r.resync(p, size); err != nil {
				return extent{}, err
			}
			if !ok {
				break
			}
			p = position{rec.number, offset}
		}
		p = behind(p, rec)
	}
	return r.tail(p, counted, known, size)
}

// tail judges what stands behind the last whole record.
func (r *reader) tail(p position, counted uint64, known bool, size int64) (extent, error) {
	e := extent{count: p.number, end: p.offset}
	if known && counted > e.count {
		e.count = counted // The last records are broken.
		return e, nil
	}
	b, err := r.bytes(p.offset, recordHead, size)
	if b == nil || err != nil {
		return e, err
	}
	switch {
	case binary.NativeEndian.Uint64(b) == 0:
		e.torn = [recordHead]byte(b) != [recordHead]byte{}
	case known:
		e.torn = true // Its count never came to be, nor did Record return.
	default:
		e.count++ // Without a count, a record that has its first word was a record.
	}
	return e, nil
}
