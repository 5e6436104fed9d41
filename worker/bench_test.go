package worker_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"snip"
	"snip/event"
	"snip/queue"
	"snip/queue/engine/memory"
)

// BenchmarkCount counts a backlog in an engine that costs next to nothing: clicks that
// come ten a millisecond, most of them of a few of 1000 links.
func BenchmarkCount(b *testing.B) {
	s, e := setup(b, 1000), memory.New()
	random := rand.New(rand.NewPCG(1, 2))
	link := rand.NewZipf(random, 1.1, 1, uint64(len(s.links)-1))
	segment, batch := queue.NewSegmentID(), queue.Batch{}
	for i := range b.N {
		c := snip.Click{
			Link: s.links[link.Uint64()].ID, At: noon.Add(time.Duration(i) * 100 * time.Microsecond), Visitor: random.Uint64(),
			Browser: fmt.Sprint("browser ", random.IntN(10)), OS: fmt.Sprint("system ", random.IntN(5)), Device: "desktop",
			Referrer: fmt.Sprintf("site-%d.example", random.IntN(30)), Medium: "other", Language: "de", Country: "CH", Region: "CH-ZH",
		}
		body, err := s.event.Append(nil, c)
		if err != nil {
			b.Fatal(err)
		}
		batch.Messages = append(batch.Messages, queue.Message{Type: event.ClickType, Time: c.At, Body: body})
		if len(batch.Messages) == 1000 || i == b.N-1 {
			batch.Segment, batch.First = segment, uint64(i+1-len(batch.Messages))
			s.append(e, 0, batch)
			batch.Messages = nil
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	s.count(e)
}
