package postgres_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"snip/internal/postgrestest"
	"snip/queue"
	"snip/queue/engine/memory"
	"snip/queue/engine/postgres"
)

// pair is the engine and its specification, side by side. Their positions differ in
// the random check, so they are kept in pairs, too.
type pair struct {
	*testing.T
	engine    *postgres.Engine
	model     *memory.Engine
	cfg       postgres.Config
	topics    map[string][2]queue.TopicID
	positions [][2]queue.Position
	segments  []queue.SegmentID
	rosters   map[string]int64 // Versions, by group.
}

// agree compares what the two answered.
func (p *pair) agree(t *rapid.T, call string, got, want error) {
	t.Helper()
	for _, sentinel := range []error{
		queue.ErrNotFound, queue.ErrFull, queue.ErrFenced, queue.ErrConflict, queue.ErrPositionLost, queue.ErrUnsupported,
	} {
		if errors.Is(got, sentinel) != errors.Is(want, sentinel) {
			t.Fatalf("%s = %v, want %v", call, got, want)
		}
	}
	if (got == nil) != (want == nil) {
		t.Fatalf("%s = %v, want %v", call, got, want)
	}
	g, _ := errors.AsType[*queue.SequenceError](got)
	w, _ := errors.AsType[*queue.SequenceError](want)
	if (g == nil) != (w == nil) || g != nil && *g != *w {
		t.Fatalf("%s = %v, want %v", call, got, want)
	}
}

func (p *pair) topic(t *rapid.T) string {
	return rapid.SampledFrom([]string{"orders", "bills", "orders", "never"}).Draw(t, "topic")
}

func partition(t *rapid.T) int { return rapid.IntRange(-1, 2).Draw(t, "partition") }

// position draws a pair of positions: those seen, near them, or none.
func (p *pair) position(t *rapid.T) [2]queue.Position {
	if len(p.positions) == 0 || rapid.IntRange(0, 5).Draw(t, "zero if 0") == 0 {
		return [2]queue.Position{}
	}
	at := rapid.SampledFrom(p.positions).Draw(t, "position")
	near := rapid.IntRange(-1, 1).Draw(t, "off by")
	at[0].Index += near
	at[1].Index += near
	return at
}

func (p *pair) declare(t *rapid.T) {
	c := queue.TopicConfig{
		Name:       rapid.SampledFrom([]string{"orders", "bills", "Bad"}).Draw(t, "name"),
		Partitions: rapid.SampledFrom([]int{2, 2, 2, 3}).Draw(t, "partitions"),
		MaxBytes:   rapid.SampledFrom([]int64{0, 64 << 10, 80 << 10}).Draw(t, "bound"),
	}
	got, err := p.engine.Declare(p.Context(), c)
	want, wantErr := p.model.Declare(p.Context(), c)
	p.agree(t, "Declare()", err, wantErr)
	if err != nil {
		return
	}
	ids := [2]queue.TopicID{got, want}
	if before, ok := p.topics[c.Name]; ok && before != ids {
		t.Fatalf("Declare(%q) = %v, want %v", c.Name, ids, before)
	}
	p.topics[c.Name] = ids
}

func (p *pair) append(t *rapid.T) {
	var b queue.Batch
	for i := range rapid.IntRange(0, 4).Draw(t, "messages") {
		m := queue.Message{ID: fmt.Sprint(i), Body: make([]byte, rapid.IntRange(0, 8<<10).Draw(t, "size"))}
		b.Messages = append(b.Messages, m)
	}
	if rapid.Bool().Draw(t, "of a segment") {
		b.Segment = rapid.SampledFrom(p.segments).Draw(t, "segment")
		b.First = uint64(rapid.IntRange(0, 6).Draw(t, "first"))
	}
	topic, n := p.topic(t), partition(t)
	err := p.engine.Append(p.Context(), topic, n, b)
	wantErr := p.model.Append(p.Context(), topic, n, b)
	if e, ok := errors.AsType[*queue.SequenceError](wantErr); ok {
		p.agree(t, "Append()", err, wantErr)
		b.First = e.Expected // As a producer goes on.
		err, wantErr = p.engine.Append(p.Context(), topic, n, b), p.model.Append(p.Context(), topic, n, b)
	}
	p.agree(t, "Append()", err, wantErr)
}

// places leaves out what may differ: the names of entries.
var places = cmp.Options{cmpopts.IgnoreFields(queue.Position{}, "Entry"), cmpopts.EquateEmpty()}

func (p *pair) read(t *rapid.T) {
	topic, n, at := p.topic(t), partition(t), p.position(t)
	max := rapid.IntRange(0, 12).Draw(t, "max")
	got, err := p.engine.Read(p.Context(), topic, n, at[0], max)
	want, wantErr := p.model.Read(p.Context(), topic, n, at[1], max)
	p.agree(t, "Read()", err, wantErr)
	if diff := cmp.Diff(want, got, places); diff != "" {
		t.Fatalf("Read(%q, %d, %v, %d) differs: %s", topic, n, at, max, diff)
	}
	for i := range got {
		p.positions = append(p.positions,
			[2]queue.Position{got[i].Position, want[i].Position}, [2]queue.Position{got[i].Next, want[i].Next})
	}
}

func (p *pair) trim(t *rapid.T) {
	topic, n, at := p.topic(t), partition(t), p.position(t)
	p.agree(t, "Trim()", p.engine.Trim(p.Context(), topic, n, at[0]), p.model.Trim(p.Context(), topic, n, at[1]))
}

func (p *pair) backlog(t *rapid.T) {
	topic, n, at := p.topic(t), partition(t), p.position(t)
	got, err := p.engine.Backlog(p.Context(), topic, n, at[0])
	want, wantErr := p.model.Backlog(p.Context(), topic, n, at[1])
	p.agree(t, "Backlog()", err, wantErr)
	if got != want {
		t.Fatalf("Backlog(%q, %d, %v) = %+v, want %+v", topic, n, at, got, want)
	}
}

func (p *pair) commit(t *rapid.T) {
	ids, ok := p.topics["orders"]
	if !ok {
		t.Skip("no topic yet")
	}
	from, to := p.position(t), p.position(t)
	for i := range 2 {
		// No log gives an index below zero: nobody can commit one.
		from[i].Index, to[i].Index = max(0, from[i].Index), max(0, to[i].Index)
	}
	if rapid.Bool().Draw(t, "from where it stands") {
		var errs [2]error
		from[0], errs[0] = p.engine.Position(p.Context(), "count", ids[0], 0)
		from[1], errs[1] = p.model.Position(p.Context(), "count", ids[1], 0)
		p.agree(t, "Position()", errs[0], errs[1])
	}
	p.agree(t, "Commit()",
		p.engine.Commit(p.Context(), "count", ids[0], 0, from[0], to[0]),
		p.model.Commit(p.Context(), "count", ids[1], 0, from[1], to[1]))
}

func (p *pair) swap(t *rapid.T) {
	group := rapid.SampledFrom([]string{"count", "live"}).Draw(t, "group")
	version := p.rosters[group] + int64(rapid.SampledFrom([]int{0, 0, 1, -1}).Draw(t, "off by"))
	roster := rapid.SliceOf(rapid.Byte()).Draw(t, "roster")
	err := p.engine.Swap(p.Context(), group, "orders", version, roster)
	p.agree(t, "Swap()", err, p.model.Swap(p.Context(), group, "orders", version, roster))
	if err == nil {
		p.rosters[group]++
	}
	got, gotVersion, _, err := p.engine.Roster(p.Context(), group, "orders")
	want, wantVersion, _, wantErr := p.model.Roster(p.Context(), group, "orders")
	p.agree(t, "Roster()", err, wantErr)
	if string(got) != string(want) || gotVersion != wantVersion {
		t.Fatalf("Roster(%q) = %q, version %d, want %q, version %d", group, got, gotVersion, want, wantVersion)
	}
}

// reopen is what the model cannot, and what must change nothing.
func (p *pair) reopen(t *rapid.T) {
	if err := p.engine.Close(); err != nil {
		t.Fatal(err)
	}
	p.open(t)
}

func (p *pair) open(t *rapid.T) {
	e, err := postgres.Open(p.Context(), p.cfg)
	if err != nil {
		t.Fatal(err)
	}
	p.engine = e
}

func (p *pair) compareStats(t *rapid.T) {
	for _, topic := range []string{"orders", "bills"} {
		got, err := p.engine.Stats(p.Context(), topic)
		want, wantErr := p.model.Stats(p.Context(), topic)
		p.agree(t, "Stats()", err, wantErr)
		if diff := cmp.Diff(want, got, places, cmpopts.IgnoreFields(queue.TopicStats{}, "ID")); diff != "" {
			t.Fatalf("Stats(%q) differs: %s", topic, diff)
		}
	}
}

// TestModel does the same to the engine and to its specification, at random.
func TestModel(t *testing.T) {
	url, run := postgrestest.Start(t), 0
	rapid.Check(t, func(r *rapid.T) {
		run++
		p := &pair{
			T: t, model: memory.New(), cfg: postgres.Config{URL: url, Schema: fmt.Sprint("queue_", run)},
			topics: map[string][2]queue.TopicID{}, rosters: map[string]int64{},
			segments: []queue.SegmentID{queue.NewSegmentID(), queue.NewSegmentID(), queue.NewSegmentID()},
		}
		p.open(r)
		defer func() {
			if err := p.engine.Close(); err != nil {
				t.Error(err)
			}
		}()
		r.Repeat(map[string]func(*rapid.T){
			"declare": p.declare,
			"append":  p.append,
			"append2": p.append, // Mostly.
			"append3": p.append,
			"read":    p.read,
			"read2":   p.read,
			"trim":    p.trim,
			"backlog": p.backlog,
			"commit":  p.commit,
			"swap":    p.swap,
			"reopen":  p.reopen,
			"":        p.compareStats,
		})
	})
}
