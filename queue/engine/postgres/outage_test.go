package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"snip/internal/postgrestest"
	"snip/queue"
	"snip/queue/engine/postgres"
)

// Partitions and producers of the topic that goes through outages. Each partition has
// several, so that their order in it is tried too.
const (
	outagePartitions = 2
	outageProducers  = 5
)

// load appends to a topic and consumes it, from two engines, until it is stopped.
type load struct {
	*testing.T
	url      string
	appended atomic.Int64 // Messages whose append is known to have landed.
	ending   chan struct{}
	wg       sync.WaitGroup

	mu       sync.Mutex // Protects below.
	seen     map[queue.SegmentID]uint64
	segments []queue.SegmentID
	sent     []uint64 // Messages of each segment.
	gaps     []string
}

func startLoad(t *testing.T, url string) *load {
	t.Helper()
	l := &load{T: t, url: url, ending: make(chan struct{}), seen: map[queue.SegmentID]uint64{}}
	from, to := open(t, postgres.Config{URL: url}), open(t, postgres.Config{URL: url})
	mustDeclare(t, from, outagePartitions)
	l.segments, l.sent = make([]queue.SegmentID, outageProducers), make([]uint64, outageProducers)
	for i := range outageProducers {
		l.segments[i] = queue.NewSegmentID()
		l.wg.Go(func() { l.sent[i] = l.produce(from, i) })
	}
	g, err := queue.NewGroup(queue.GroupConfig{
		Name: "count", Topic: queue.TopicConfig{Name: "orders", Partitions: outagePartitions},
		Engine: to, Store: to, Handle: l.handle, Poll: 100 * time.Millisecond, Session: 3 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var consumer sync.WaitGroup
	consumer.Go(func() {
		if err := g.Run(ctx); err != nil {
			t.Errorf("Run() = %v", err)
		}
	})
	t.Cleanup(func() { stop(); consumer.Wait() })
	return l
}

// produce appends as the shipper does: one batch at a time, and none after an unknown
// outcome until that is known.
func (l *load) produce(e *postgres.Engine, i int) uint64 {
	next := uint64(0)
	for n := 0; ; n++ {
		select {
		case <-l.ending:
			return next
		default:
		}
		b := queue.Batch{Segment: l.segments[i], First: next}
		for k := range uint64(1 + n%7) {
			b.Messages = append(b.Messages, queue.Message{Key: strconv.Itoa(i), Body: []byte(strconv.FormatUint(next+k, 10))})
		}
		if !l.deliver(e, i%outagePartitions, b) {
			return next
		}
		next += uint64(len(b.Messages))
		l.appended.Add(int64(len(b.Messages)))
	}
}

// deliver appends a batch, however often that takes.
func (l *load) deliver(e *postgres.Engine, partition int, b queue.Batch) bool {
	after := b.First + uint64(len(b.Messages))
	for deadline := time.Now().Add(patience); ; {
		ctx, cancel := context.WithTimeout(l.Context(), 5*time.Second)
		err := e.Append(ctx, "orders", partition, b)
		cancel()
		if err == nil {
			return true
		}
		if s, ok := errors.AsType[*queue.SequenceError](err); ok {
			if s.Expected != after {
				l.Errorf("after number %d was taken, number %d is expected", b.First, s.Expected)
				return false
			}
			return true // It had landed.
		}
		if time.Now().After(deadline) {
			l.Errorf("Append() = %v, for %s", err, patience)
			return false
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// handle notes what comes. It may come again, but nothing may be left out.
func (l *load) handle(_ context.Context, d queue.Delivery) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range d.Entries {
		if next := l.seen[e.Segment]; e.First > next {
			l.gaps = append(l.gaps, fmt.Sprintf("segment %s: number %d follows %d", e.Segment, e.First, next))
		}
		l.seen[e.Segment] = max(l.seen[e.Segment], e.First+uint64(len(e.Messages)))
	}
	return nil
}

// goesOn waits until more was appended.
func (l *load) goesOn() {
	l.Helper()
	want := l.appended.Load() + 100
	for deadline := time.Now().Add(patience); l.appended.Load() < want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			l.Fatalf("%d messages were appended, and no more come", l.appended.Load())
		}
	}
}

// verify stops the producers and compares what they sent with what the log holds and
// what came of it.
func (l *load) verify() {
	l.Helper()
	close(l.ending)
	l.wg.Wait()
	e := open(l.T, postgres.Config{URL: l.url})
	next := map[queue.SegmentID]uint64{}
	for p := range outagePartitions {
		entries, err := e.Read(l.Context(), "orders", p, queue.Position{}, 1<<30)
		if err != nil {
			l.Fatal(err)
		}
		var offset uint64
		for _, entry := range entries {
			if entry.Offset != offset || entry.First != next[entry.Segment] {
				l.Fatalf("partition %d, offset %d: number %d of segment %s at offset %d, want number %d",
					p, offset, entry.First, entry.Segment, entry.Offset, next[entry.Segment])
			}
			for i, m := range entry.Messages {
				if want := strconv.FormatUint(entry.First+uint64(i), 10); string(m.Body) != want {
					l.Fatalf("message %s stands where %s should", m.Body, want)
				}
			}
			next[entry.Segment] += uint64(len(entry.Messages))
			offset += uint64(len(entry.Messages))
		}
	}
	for i, segment := range l.segments {
		if next[segment] != l.sent[i] {
			l.Errorf("segment %d: the log holds %d messages, %d were sent", i, next[segment], l.sent[i])
		}
	}
	for deadline := time.Now().Add(patience); !l.sawAll(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			l.Fatalf("the group came to %v, want %v", l.seen, next)
		}
	}
	for _, gap := range l.gaps {
		l.Error(gap)
	}
	l.Logf("%d messages went through", l.appended.Load())
}

func (l *load) sawAll() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, segment := range l.segments {
		if l.seen[segment] != l.sent[i] {
			return false
		}
	}
	return true
}

// TestSessionsAreTerminated ends every session with the database, again and again.
func TestSessionsAreTerminated(t *testing.T) {
	url := postgrestest.Start(t)
	l := startLoad(t, url)
	admin := dial(t, url)
	for range 20 {
		l.goesOn()
		mustExec(t, admin, `SELECT count(pg_terminate_backend(pid))::text FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	}
	l.goesOn()
	l.verify()
}

// TestSessionsAreTerminatedBehindAPooler does it to the sessions that a pooler shares
// out.
func TestSessionsAreTerminatedBehindAPooler(t *testing.T) {
	url := postgrestest.Start(t)
	l := startLoad(t, postgrestest.Pool(t, url))
	admin := dial(t, url)
	for range 10 {
		l.goesOn()
		mustExec(t, admin, `SELECT count(pg_terminate_backend(pid))::text FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	}
	l.goesOn()
	l.verify()
}

// TestTheServerIsStopped and started again in the middle.
func TestTheServerIsStopped(t *testing.T) {
	s := postgrestest.New(t)
	l := startLoad(t, s.Database(t))
	for range 2 {
		l.goesOn()
		s.Stop(t)
		s.Start(t)
	}
	l.goesOn()
	l.verify()
}

// TestTheServerIsKilled in the middle: what it had answered is there afterwards.
func TestTheServerIsKilled(t *testing.T) {
	s := postgrestest.New(t)
	l := startLoad(t, s.Database(t))
	for range 2 {
		l.goesOn()
		s.Kill(t)
		s.Start(t)
	}
	l.goesOn()
	l.verify()
}

// TestSomebodyElsesTransaction is open all the time, has written, and sees the database
// as it was. Positions grow in commit order, so nothing waits for it and nothing is
// skipped because of it.
func TestSomebodyElsesTransaction(t *testing.T) {
	url := postgrestest.Start(t)
	admin := dial(t, url)
	mustExec(t, admin, "CREATE TABLE theirs AS SELECT 1 AS n")
	tx, err := admin.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, tx, "INSERT INTO theirs VALUES (2)")
	l := startLoad(t, url)
	for range 10 {
		l.goesOn()
	}
	l.verify()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}
