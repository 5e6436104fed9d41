package queue_test

import (
	"errors"
	"strings"
	"testing"

	"snip/queue"
)

func TestCheckFillsInDefaults(t *testing.T) {
	got, err := queue.TopicConfig{Name: "orders"}.Check(queue.Caps{})
	want := queue.TopicConfig{Name: "orders", Partitions: 1, MaxBytes: 1 << 30}
	if err != nil || got != want {
		t.Errorf("Check = %+v, %v, want %+v", got, err, want)
	}
}

func TestCheckNamesTheField(t *testing.T) {
	for _, c := range []struct {
		field string
		topic queue.TopicConfig
	}{
		{"Name", queue.TopicConfig{}},
		{"Name", queue.TopicConfig{Name: strings.Repeat("a", 101)}},
		{"Name", queue.TopicConfig{Name: "Orders"}},
		{"Name", queue.TopicConfig{Name: "orders/1"}},
		{"Partitions", queue.TopicConfig{Name: "orders", Partitions: -1}},
		{"Partitions", queue.TopicConfig{Name: "orders", Partitions: 1025}},
		{"MaxBytes", queue.TopicConfig{Name: "orders", MaxBytes: 64<<10 - 1}},
	} {
		if _, err := c.topic.Check(queue.Caps{}); err == nil || !strings.Contains(err.Error(), c.field) {
			t.Errorf("Check(%+v) = %v, want an error that names %s", c.topic, err, c.field)
		}
	}
}

func TestCheckRefusesWhatIsNotClaimed(t *testing.T) {
	weak := queue.Caps{Engine: "weak", Durability: queue.DurableKill}
	strong := queue.Caps{Engine: "strong", Durability: queue.DurablePower, Sequences: true}
	for _, topic := range []queue.TopicConfig{
		{Name: "orders", Durability: queue.DurablePower},
		{Name: "orders", Sequences: true},
	} {
		if _, err := topic.Check(weak); !errors.Is(err, queue.ErrUnsupported) || !strings.Contains(err.Error(), "weak") {
			t.Errorf("Check(%+v) = %v, want %v and the engine's name", topic, err, queue.ErrUnsupported)
		}
		if _, err := topic.Check(strong); err != nil {
			t.Errorf("Check(%+v) = %v, want no error", topic, err)
		}
	}
}

func TestIDs(t *testing.T) {
	segment, topic := queue.NewSegmentID(), queue.NewTopicID()
	if got, err := queue.ParseSegmentID(segment.String()); err != nil || got != segment {
		t.Errorf("ParseSegmentID(%s) = %s, %v", segment, got, err)
	}
	if got, err := queue.ParseTopicID(topic.String()); err != nil || got != topic {
		t.Errorf("ParseTopicID(%s) = %s, %v", topic, got, err)
	}
	if segment == queue.NewSegmentID() || segment.IsZero() || !(queue.SegmentID{}).IsZero() {
		t.Error("segment IDs are not random")
	}
	for _, s := range []string{"", "00", strings.Repeat("x", 32), strings.Repeat("0", 33)} {
		if _, err := queue.ParseSegmentID(s); err == nil {
			t.Errorf("ParseSegmentID(%q) accepts it", s)
		}
	}
}

func FuzzParsePosition(f *testing.F) {
	for _, s := range []string{"", "a:0", "a:b:12", ":1", "a:-1", "a:", "a", "0000000000000001-0000abcd:7"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := queue.ParsePosition(s)
		if err != nil {
			return
		}
		again, err := queue.ParsePosition(p.String())
		if err != nil || again != p {
			t.Errorf("ParsePosition(%q) = %v, which is read back as %v, %v", s, p, again, err)
		}
	})
}
