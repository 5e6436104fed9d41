package event_test

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/avro"

	"snip"
	"snip/event"
)

var (
	//go:embed click.avsc
	schema1 string
	//go:embed click.2.avsc
	schema2 string
)

func open(tb testing.TB) *event.Clicks {
	tb.Helper()
	e, err := event.NewClicks()
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func TestRoundTrip(t *testing.T) {
	e := open(t)
	for _, c := range []snip.Click{
		{Link: 1, At: time.Date(2026, 11, 29, 12, 0, 0, 123456000, time.UTC), Class: snip.Bot, Visitor: 1<<64 - 1, Browser: "Firefox", OS: "Linux",
			Device: "desktop", Referrer: "example.com", Medium: "other", Language: "de", Country: "CH", Region: "CH-ZH", Campaign: "späte Ernte",
			Alias: "Old_1", Arm: "Grüße/B"},
		{Link: 1<<63 - 1, At: time.UnixMicro(-1).UTC()},
	} {
		b, err := e.Append(nil, c)
		if err != nil {
			t.Fatalf("Append(%v) = %v", c, err)
		}
		got, err := e.Decode(b)
		if err != nil || got != c {
			t.Errorf("Decode() = %v, %v, want %v", got, err, c)
		}
	}
}

// The bytes are a contract: they stay in topics and are read by other programs.
func TestWireFormat(t *testing.T) {
	b, err := open(t).Append(nil, snip.Click{Link: 3, At: time.UnixMicro(1), Visitor: 4, Campaign: "a", Alias: "b", Arm: "c/d"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := hex.EncodeToString(b), "0000000002"+"06"+"02"+"00"+"08"+"0000000000000000"+"0261"+"0262"+"06632f64"; got != want {
		t.Errorf("encoded click = %s, want %s", got, want)
	}
}

// Topics keep events that were written before clicks told alias and arm.
func TestOldEventsAreRead(t *testing.T) {
	b, err := hex.DecodeString("0000000001" + "06" + "02" + "00" + "08" + "0000000000000000" + "0261")
	if err != nil {
		t.Fatal(err)
	}
	got, err := open(t).Decode(b)
	if want := (snip.Click{Link: 3, At: time.UnixMicro(1).UTC(), Visitor: 4, Campaign: "a"}); err != nil || got != want {
		t.Errorf("Decode() = %v, %v, want %v", got, err, want)
	}
}

func TestDecodeRefuses(t *testing.T) {
	e := open(t)
	whole, err := e.Append(nil, snip.Click{Link: 1, Campaign: "a", Arm: "b"})
	if err != nil {
		t.Fatal(err)
	}
	older := bytes.Clone(whole)
	older[4] = 1 // Two texts too many for it.
	newer := bytes.Clone(whole)
	newer[4] = 3
	old := bytes.Clone(whole[:len(whole)-3]) // One text too few.
	for name, b := range map[string][]byte{
		"nothing": nil, "only a schema": whole[:5], "a text too few": old, "a text cut": whole[:len(whole)-1],
		"more behind": append(bytes.Clone(whole), 0), "schema 1 with the texts of 2": older, "a schema of the future": newer,
	} {
		if c, err := e.Decode(b); err == nil || c != (snip.Click{}) {
			t.Errorf("%s: Decode() = %v, %v, want an error", name, c, err)
		}
	}
}

// TestSchemasSayWhatIsWritten holds the bytes against a codec that goes by the schema:
// both read what the other wrote, and write the same.
func TestSchemasSayWhatIsWritten(t *testing.T) {
	e := open(t)
	at := time.Date(2026, 11, 29, 12, 0, 0, 123456000, time.UTC)
	click := snip.Click{
		Link: -5, At: at, Class: snip.Prefetch, Visitor: 1<<64 - 2, Browser: "Firefox", OS: "Linux", Device: "desktop", Referrer: "example.com",
		Medium: "other", Language: "de", Country: "CH", Region: "CH-ZH", Campaign: "späte Ernte",
	}
	record := map[string]any{
		"link": int64(-5), "at": at, "class": "prefetch", "visitor": int64(-2), "browser": "Firefox", "os": "Linux", "device": "desktop",
		"referrer": "example.com", "medium": "other", "language": "de", "country": "CH", "region": "CH-ZH", "campaign": "späte Ernte",
	}
	bySchema := func(number uint32, text string) ([]byte, any) {
		t.Helper()
		s, err := avro.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.AppendEncode(binary.BigEndian.AppendUint32([]byte{0}, number), record)
		if err != nil {
			t.Fatal(err)
		}
		var again any
		if rest, err := s.Decode(b[5:], &again); err != nil || len(rest) > 0 {
			t.Fatalf("Decode() leaves %x, %v", rest, err)
		}
		return b, again
	}

	old, _ := bySchema(1, schema1)
	if got, err := e.Decode(old); err != nil || got != click {
		t.Errorf("schema 1: Decode() = %v, %v, want %v", got, err, click)
	}

	click.Alias, click.Arm = "Old_1", "Grüße/B"
	record["alias"], record["arm"] = "Old_1", "Grüße/B"
	want, read := bySchema(2, schema2)
	if diff := cmp.Diff(any(record), read); diff != "" {
		t.Error(diff)
	}
	if got, err := e.Decode(want); err != nil || got != click {
		t.Errorf("schema 2: Decode() = %v, %v, want %v", got, err, click)
	}
	if got, err := e.Append(nil, click); err != nil || !bytes.Equal(got, want) {
		t.Errorf("Append() = %x, %v, by the schema it is %x", got, err, want)
	}
}

func TestTextsAreShared(t *testing.T) {
	e, met := open(t), event.Texts{}
	want := snip.Click{Link: 1, At: time.UnixMicro(1).UTC(), Browser: "Firefox", OS: "Linux", Region: "CH-ZH"}
	b, err := e.Append(nil, want)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		if got, err := e.DecodeSharing(b, met); err != nil || got != want {
			t.Errorf("DecodeSharing() = %v, %v, want %v", got, err, want)
		}
	}); n > 0 {
		t.Errorf("to decode a click like one before allocates %v times", n)
	}
}

func FuzzDecode(f *testing.F) {
	e := open(f)
	seed, err := e.Append(nil, snip.Click{Link: 7, At: time.UnixMicro(1e15), Campaign: "x", Alias: "y", Arm: "z/z"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte("\x00\x00\x00\x00\x01\x06\x02\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00\x02a"))
	f.Add([]byte{0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := e.Decode(b)
		if err != nil {
			return
		}
		again, err := e.Append(nil, c)
		if err != nil {
			t.Fatalf("Append(Decode(%x)) = %v", b, err)
		}
		if got, err := e.Decode(again); err != nil || got != c {
			t.Fatalf("%x decodes to %v, then to %v, %v", b, c, got, err)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	e := open(b)
	c := snip.Click{Link: 123456, At: time.UnixMicro(1e15), Visitor: 1 << 60, Browser: "Firefox", OS: "Linux", Device: "desktop",
		Referrer: "example.com", Medium: "other", Language: "de", Country: "CH", Region: "CH-ZH", Campaign: "spring"}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = e.Append(buf[:0], c)
	}
}

func BenchmarkDecode(b *testing.B) {
	e := open(b)
	buf, _ := e.Append(nil, snip.Click{Link: 123456, At: time.UnixMicro(1e15), Visitor: 1 << 60, Browser: "Firefox", OS: "Linux", Device: "desktop",
		Referrer: "example.com", Medium: "other", Language: "de", Country: "CH", Region: "CH-ZH", Campaign: "spring"})
	met := event.Texts{}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.DecodeSharing(buf, met); err != nil {
			b.Fatal(err)
		}
	}
}
