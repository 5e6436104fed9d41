package event_test

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/avro"

	"snip"
	"snip/event"
)

//go:embed click.avsc
var schema string

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
			Device: "desktop", Referrer: "example.com", Medium: "other", Language: "de", Country: "CH", Region: "CH-ZH", Campaign: "späte Ernte"},
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
	b, err := open(t).Append(nil, snip.Click{Link: 3, At: time.UnixMicro(1), Visitor: 4, Campaign: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := hex.EncodeToString(b), "0000000001"+"06"+"02"+"00"+"08"+"0000000000000000"+"0261"; got != want {
		t.Errorf("encoded click = %s, want %s", got, want)
	}
}

// TestSchemaSaysWhatIsWritten holds the bytes against a codec that goes by the schema.
func TestSchemaSaysWhatIsWritten(t *testing.T) {
	s, err := avro.Parse(schema)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 29, 12, 0, 0, 123456000, time.UTC)
	b, err := open(t).Append(nil, snip.Click{
		Link: -5, At: at, Class: snip.Prefetch, Visitor: 1<<64 - 2, Browser: "Firefox", OS: "Linux", Device: "desktop", Referrer: "example.com",
		Medium: "other", Language: "de", Country: "CH", Region: "CH-ZH", Campaign: "späte Ernte",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"link": int64(-5), "at": at, "class": "prefetch", "visitor": int64(-2), "browser": "Firefox", "os": "Linux", "device": "desktop",
		"referrer": "example.com", "medium": "other", "language": "de", "country": "CH", "region": "CH-ZH", "campaign": "späte Ernte",
	}
	var got any
	if rest, err := s.Decode(b[5:], &got); err != nil || len(rest) > 0 {
		t.Fatalf("Decode() leaves %x, %v", rest, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	again, err := s.AppendEncode(b[:5:5], got)
	if err != nil || !bytes.Equal(again, b) {
		t.Errorf("by the schema it is %x, %v, want %x", again, err, b)
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
	seed, err := e.Append(nil, snip.Click{Link: 7, At: time.UnixMicro(1e15), Campaign: "x"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
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
