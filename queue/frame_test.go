package queue_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"snip/queue"
)

// sameMessages: nil and empty are the same.
var sameMessages = cmpopts.EquateEmpty()

func anyMessage() *rapid.Generator[queue.Message] {
	texts := rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 20), func(b []byte) string { return string(b) })
	return rapid.Custom(func(t *rapid.T) queue.Message {
		m := queue.Message{
			ID: texts.Draw(t, "ID"), Key: texts.Draw(t, "key"), Type: texts.Draw(t, "type"),
			Headers: rapid.MapOfN(texts, texts, 0, 4).Draw(t, "headers"),
			Body:    rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "body"),
		}
		if rapid.Bool().Draw(t, "has a time") {
			m.Time = time.Unix(0, rapid.Int64().Draw(t, "nanoseconds")).UTC()
		}
		return m
	})
}

func TestFramesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(anyMessage(), 0, 20).Draw(t, "messages")
		b := queue.AppendFrames([]byte("before"), want)
		b, ok := bytes.CutPrefix(b, []byte("before"))
		if !ok {
			t.Fatal("AppendFrames did not append")
		}
		got, err := queue.DecodeFrames(b, len(want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, sameMessages); diff != "" {
			t.Errorf("frames come back as others: %s", diff)
		}
		for _, count := range []int{len(want) - 1, len(want) + 1} {
			if _, err := queue.DecodeFrames(b, count); err == nil {
				t.Errorf("%d messages were read as %d", len(want), count)
			}
		}
		for n := range b {
			if _, err := queue.DecodeFrames(b[:n], len(want)); err == nil {
				t.Errorf("%d of %d bytes were read", n, len(b))
			}
		}
	})
}

// TestFrameBytes pins the form, for it is on people's disks.
func TestFrameBytes(t *testing.T) {
	got := queue.AppendFrames(nil, []queue.Message{
		{},
		{ID: "i", Key: "k", Type: "t", Time: time.Unix(0, 5), Headers: map[string]string{"b": "2", "a": ""}, Body: []byte("xy")},
		{Time: time.Unix(0, 4), Body: []byte{0}},
	})
	want := []byte{
		1,
		0, 0,
		0b11111, 1, 'i', 1, 'k', 1, 't', 10, 2, 1, 'a', 0, 1, 'b', 1, '2', 2, 'x', 'y',
		0b1000, 1, 1, 0,
	}
	if !bytes.Equal(got, want) {
		t.Errorf("AppendFrames() = %v, want %v", got, want)
	}
}

func TestDecodeFramesRefuses(t *testing.T) {
	huge := binary.AppendUvarint(nil, math.MaxUint64)
	for name, c := range map[string]struct {
		frames []byte
		count  int
	}{
		"nothing":                      {nil, 0},
		"another version":              {[]byte{2}, 0},
		"a negative count":             {[]byte{1}, -1},
		"a count that cannot be":       {[]byte{1, 0, 0}, math.MaxInt},
		"what follows":                 {[]byte{1, 0, 0, 0}, 1},
		"a bit of a later version":     {[]byte{1, 0b100000, 0}, 1},
		"a body larger than the input": {append([]byte{1, 0}, huge...), 1},
		"an ID larger than the input":  {append([]byte{1, 1}, huge...), 1},
		"more headers than bytes":      {append([]byte{1, 0b10000}, huge...), 1},
		"a varint without an end":      {[]byte{1, 0b1000, 0x80}, 1},
		"a varint that is too large":   {append([]byte{1, 0b1000}, bytes.Repeat([]byte{0xff}, 11)...), 1},
	} {
		if m, err := queue.DecodeFrames(c.frames, c.count); err == nil {
			t.Errorf("%s: DecodeFrames() = %+v", name, m)
		}
	}
}

func FuzzDecodeFrames(f *testing.F) {
	f.Add(queue.AppendFrames(nil, nil), 0)
	f.Add(queue.AppendFrames(nil, []queue.Message{
		{ID: "1", Key: "k", Type: "t", Time: time.Unix(0, 1), Headers: map[string]string{"a": "b"}, Body: []byte("x")},
		{Type: "t", Time: time.Unix(0, 2)},
	}), 2)
	f.Fuzz(func(t *testing.T, b []byte, count int) {
		messages, err := queue.DecodeFrames(b, count)
		if err != nil {
			return
		}
		// Another form of the same frames is possible, other messages are not.
		again, err := queue.DecodeFrames(queue.AppendFrames(nil, messages), len(messages))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(messages, again, sameMessages); diff != "" {
			t.Errorf("what was read comes back as something else: %s", diff)
		}
	})
}

func ExampleAppendFrames() {
	b := queue.AppendFrames(nil, []queue.Message{{Body: []byte("one")}, {Body: []byte("two")}})
	messages, err := queue.DecodeFrames(b, 2)
	fmt.Println(len(b), string(messages[1].Body), err)
	// Output: 11 two <nil>
}
