// Package event encodes what goes over Snip's topics. Clicks are Avro in the wire
// format of Kafka's ecosystem, a zero byte and the schema's number in four bytes, the
// largest first, then the record. Changes of links are JSON.
package event

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/avro"

	"snip"
)

// ClickType is the message type of a click on topic "clicks".
const ClickType = "snip.click"

// clickSchemaID numbers click.avsc. A changed schema gets a new number and the old
// file stays, for topics keep old events.
const clickSchemaID = 1

//go:embed click.avsc
var clickSchema string

// Clicks encodes and decodes clicks. It is safe for concurrent use.
//
// It writes and reads the one record of click.avsc by hand, in a fraction of the time
// that a codec for any schema takes. A test holds it against one.
type Clicks struct{}

// NewClicks checks that the schema is one.
func NewClicks() (*Clicks, error) {
	if _, err := avro.Parse(clickSchema); err != nil {
		return nil, fmt.Errorf("event: click schema: %w", err)
	}
	return &Clicks{}, nil
}

// Append adds the encoded click to dst. An instant is cut to the microsecond.
func (*Clicks) Append(dst []byte, c snip.Click) ([]byte, error) {
	if c.Class > snip.Unknown {
		return nil, fmt.Errorf("event: there is no class %d of clicks", c.Class)
	}
	dst = append(dst, 0)
	dst = binary.BigEndian.AppendUint32(dst, clickSchemaID)
	dst = binary.AppendVarint(dst, c.Link)
	dst = binary.AppendVarint(dst, c.At.UnixMicro())
	dst = binary.AppendVarint(dst, int64(c.Class))
	dst = binary.AppendVarint(dst, int64(c.Visitor))
	for _, text := range texts(&c) {
		dst = binary.AppendVarint(dst, int64(len(*text)))
		dst = append(dst, *text...)
	}
	return dst, nil
}

// texts are those of a click in the order of the schema.
func texts(c *snip.Click) [9]*string {
	return [...]*string{
		&c.Browser, &c.OS, &c.Device, &c.Referrer, &c.Medium, &c.Language, &c.Country, &c.Region, &c.Campaign,
	}
}

var errNotClick = errors.New("event: not an encoded click of a known schema")

// Decode reads what Append wrote.
func (e *Clicks) Decode(b []byte) (snip.Click, error) { return e.DecodeSharing(b, nil) }

// DecodeSharing is Decode for one of many: texts that were met before share memory.
func (*Clicks) DecodeSharing(b []byte, met Texts) (snip.Click, error) {
	if len(b) < 5 || b[0] != 0 || binary.BigEndian.Uint32(b[1:]) != clickSchemaID {
		return snip.Click{}, errNotClick
	}
	b = b[5:]
	var numbers [4]int64
	for i := range numbers {
		n, size := binary.Varint(b)
		if size <= 0 {
			return snip.Click{}, errNotClick
		}
		numbers[i], b = n, b[size:]
	}
	if numbers[2] < 0 || numbers[2] > int64(snip.Unknown) {
		return snip.Click{}, errNotClick
	}
	c := snip.Click{
		Link: numbers[0], At: time.UnixMicro(numbers[1]).UTC(), Class: snip.Class(numbers[2]), Visitor: uint64(numbers[3]),
	}
	for _, text := range texts(&c) {
		n, size := binary.Varint(b)
		if size <= 0 || n < 0 || n > int64(len(b)-size) {
			return snip.Click{}, errNotClick
		}
		end := size + int(n)
		*text, b = met.share(b[size:end]), b[end:]
	}
	if len(b) > 0 {
		return snip.Click{}, errNotClick
	}
	return c, nil
}

// Texts are those of clicks that were decoded. One that is made grows with each click
// that has others; nil remembers none. It is not safe for concurrent use.
type Texts map[string]string

func (t Texts) share(b []byte) string {
	s, ok := t[string(b)] // Makes no copy.
	if !ok {
		s = string(b)
		if t != nil {
			t[s] = s
		}
	}
	return s
}
