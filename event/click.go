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

// record mirrors click.avsc. Class is the symbol's index.
type record struct {
	Link     int64  `avro:"link"`
	At       int64  `avro:"at"`
	Class    int    `avro:"class"`
	Visitor  int64  `avro:"visitor"`
	Browser  string `avro:"browser"`
	OS       string `avro:"os"`
	Device   string `avro:"device"`
	Referrer string `avro:"referrer"`
	Medium   string `avro:"medium"`
	Language string `avro:"language"`
	Country  string `avro:"country"`
	Region   string `avro:"region"`
	Campaign string `avro:"campaign"`
}

// Clicks encodes and decodes clicks. It is safe for concurrent use.
type Clicks struct{ schema *avro.Schema }

// NewClicks compiles the schema.
func NewClicks() (*Clicks, error) {
	s, err := avro.Parse(clickSchema)
	if err != nil {
		return nil, fmt.Errorf("event: click schema: %w", err)
	}
	return &Clicks{schema: s}, nil
}

// Append adds the encoded click to dst. An instant is cut to the microsecond.
func (e *Clicks) Append(dst []byte, c snip.Click) ([]byte, error) {
	dst = append(dst, 0)
	dst = binary.BigEndian.AppendUint32(dst, clickSchemaID)
	return e.schema.AppendEncode(dst, &record{
		Link: c.Link, At: c.At.UnixMicro(), Class: int(c.Class), Visitor: int64(c.Visitor),
		Browser: c.Browser, OS: c.OS, Device: c.Device, Referrer: c.Referrer, Medium: c.Medium,
		Language: c.Language, Country: c.Country, Region: c.Region, Campaign: c.Campaign,
	})
}

var errNotClick = errors.New("event: not an encoded click of a known schema")

// Decode reads what Append wrote.
func (e *Clicks) Decode(b []byte) (snip.Click, error) {
	if len(b) < 5 || b[0] != 0 || binary.BigEndian.Uint32(b[1:]) != clickSchemaID {
		return snip.Click{}, errNotClick
	}
	var r record
	rest, err := e.schema.Decode(b[5:], &r)
	if err != nil || len(rest) > 0 {
		return snip.Click{}, errNotClick
	}
	return snip.Click{
		Link: r.Link, At: time.UnixMicro(r.At).UTC(), Class: snip.Class(r.Class), Visitor: uint64(r.Visitor),
		Browser: r.Browser, OS: r.OS, Device: r.Device, Referrer: r.Referrer, Medium: r.Medium,
		Language: r.Language, Country: r.Country, Region: r.Region, Campaign: r.Campaign,
	}, nil
}
