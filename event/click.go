// Package event encodes what goes over Snip's topics. Clicks are Avro in the wire
// format of Kafka's ecosystem, a zero byte and the schema's number in four bytes, the
// largest first, then the record. Changes of links and of domains, and what is told to
// the audit, are JSON.
package event

import (
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/avro"

	"snip"
)

// ClickType is the message type of a click on topic "clicks".
const ClickType = "snip.click"

// The numbers of the schemas. A changed schema gets a new number and the old file
// stays, for topics keep old events.
const (
	clickSchema1 = 1 // click.avsc: neither alias nor arm.
	clickSchema2 = 2 // click.2.avsc, in which clicks are written.
)

//go:embed click.avsc click.2.avsc
var clickSchemas embed.FS

// Clicks encodes and decodes clicks. It is safe for concurrent use.
//
// It writes and reads the one record of each schema by hand, in a fraction of the time
// that a codec for any schema takes. A test holds it against one.
type Clicks struct{}

// NewClicks checks that the schemas are some.
func NewClicks() (*Clicks, error) {
	for _, name := range []string{"click.avsc", "click.2.avsc"} {
		text, err := clickSchemas.ReadFile(name)
		if err == nil {
			_, err = avro.Parse(string(text))
		}
		if err != nil {
			return nil, fmt.Errorf("event: schema %s: %w", name, err)
		}
	}
	return &Clicks{}, nil
}

// Append adds the encoded click to dst. An instant is cut to the microsecond.
func (*Clicks) Append(dst []byte, c snip.Click) ([]byte, error) {
	if c.Class > snip.Unknown {
		return nil, fmt.Errorf("event: there is no class %d of clicks", c.Class)
	}
	dst = append(dst, 0)
	dst = binary.BigEndian.AppendUint32(dst, clickSchema2)
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

// texts are those of a click in the order of schema 2. Schema 1 has the first texts1.
func texts(c *snip.Click) [11]*string {
	return [...]*string{
		&c.Browser, &c.OS, &c.Device, &c.Referrer, &c.Medium, &c.Language, &c.Country, &c.Region, &c.Campaign,
		&c.Alias, &c.Arm,
	}
}

const texts1 = 9

var errNotClick = errors.New("event: not an encoded click of a known schema")

// Decode reads what Append wrote, today or with an older schema.
func (e *Clicks) Decode(b []byte) (snip.Click, error) { return e.DecodeSharing(b, nil) }

// DecodeSharing is Decode for one of many: texts that were met before share memory.
func (*Clicks) DecodeSharing(b []byte, met Texts) (snip.Click, error) {
	if len(b) < 5 || b[0] != 0 {
		return snip.Click{}, errNotClick
	}
	schema := binary.BigEndian.Uint32(b[1:])
	if schema != clickSchema1 && schema != clickSchema2 {
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
	all := texts(&c)
	told := all[:]
	if schema == clickSchema1 {
		told = all[:texts1]
	}
	for _, text := range told {
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
