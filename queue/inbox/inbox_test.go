package inbox_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"snip/queue"
	"snip/queue/inbox"
)

var errRollBack = errors.New("roll back")

func open(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "effects.db")+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), inbox.Schema); err != nil {
		t.Fatal(err)
	}
	return db
}

// in runs work in one transaction, rolled back after an error.
func in(t *testing.T, db *sql.DB, work func(ctx context.Context, tx *sql.Tx) error) error {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := work(t.Context(), tx); err != nil {
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		return err
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	return nil
}

func receive(t *testing.T, db *sql.DB, box *inbox.Inbox, d queue.Delivery) (bodies []string, err error) {
	t.Helper()
	err = in(t, db, func(ctx context.Context, tx *sql.Tx) error {
		fresh, err := box.Receive(ctx, tx, d)
		for _, m := range fresh {
			bodies = append(bodies, string(m.Body))
		}
		return err
	})
	return bodies, err
}

func mustReceive(t *testing.T, db *sql.DB, box *inbox.Inbox, d queue.Delivery, want ...string) {
	t.Helper()
	got, err := receive(t, db, box, d)
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("Receive = %q, %v, want %q", got, err, want)
	}
}

func position(t *testing.T, db *sql.DB, box *inbox.Inbox, topic queue.TopicID) queue.Position {
	t.Helper()
	p, err := box.Position(t.Context(), db, topic, 0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func at(n int) queue.Position {
	if n == 0 {
		return queue.Position{}
	}
	return queue.Position{Entry: fmt.Sprintf("%04d", n), Index: 1}
}

// numbers is an entry of messages first to last of a segment, whose bodies are
// these numbers.
func numbers(segment queue.SegmentID, first, last int) queue.Entry {
	e := queue.Entry{Batch: queue.Batch{Segment: segment, First: uint64(first)}}
	for n := first; n <= last; n++ {
		e.Messages = append(e.Messages, queue.Message{Type: "n", Body: fmt.Append(nil, n)})
	}
	return e
}

func deliver(topic queue.TopicID, from, to int, entries ...queue.Entry) queue.Delivery {
	return queue.Delivery{Group: "count", Topic: "clicks", TopicID: topic, Entries: entries, From: at(from), To: at(to)}
}

func TestReceiveMovesThePosition(t *testing.T) {
	db, box, topic, seg := open(t), &inbox.Inbox{Consumer: "count"}, queue.NewTopicID(), queue.NewSegmentID()
	if p := position(t, db, box, topic); p != at(0) {
		t.Errorf("Position = %v before anything came", p)
	}
	mustReceive(t, db, box, deliver(topic, 0, 1, numbers(seg, 0, 1)), "0", "1")
	mustReceive(t, db, box, deliver(topic, 1, 3, numbers(seg, 2, 2), numbers(seg, 3, 4)), "2", "3", "4")
	if p := position(t, db, box, topic); p != at(3) {
		t.Errorf("Position = %v, want %v", p, at(3))
	}
	if p, err := box.Position(t.Context(), db, topic, 1); err != nil || p != at(0) {
		t.Errorf("Position of another partition = %v, %v, want none", p, err)
	}
}

func TestReceiveFencesTheSlower(t *testing.T) {
	db, box, topic := open(t), &inbox.Inbox{Consumer: "count"}, queue.NewTopicID()
	fenced := func(d queue.Delivery) {
		t.Helper()
		if got, err := receive(t, db, box, d); !errors.Is(err, queue.ErrFenced) || len(got) != 0 {
			t.Errorf("Receive from %v = %q, %v, want %v", d.From, got, err, queue.ErrFenced)
		}
	}
	mustReceive(t, db, box, deliver(topic, 0, 2, numbers(queue.NewSegmentID(), 0, 0)), "0")
	fenced(deliver(topic, 0, 1, numbers(queue.NewSegmentID(), 0, 0))) // Both began at the start.
	mustReceive(t, db, box, deliver(topic, 2, 4, numbers(queue.NewSegmentID(), 0, 0)), "0")
	fenced(deliver(topic, 2, 3, numbers(queue.NewSegmentID(), 0, 0))) // Both began at 2.
	if p := position(t, db, box, topic); p != at(4) {
		t.Errorf("Position = %v, want %v", p, at(4))
	}
}

func TestReceiveSkipsByNumber(t *testing.T) {
	seg, other := queue.NewSegmentID(), queue.NewSegmentID()
	for _, c := range []struct {
		name string
		d    []queue.Entry
		want []string
	}{
		{"all known", []queue.Entry{numbers(seg, 0, 4)}, nil},
		{"older part", []queue.Entry{numbers(seg, 1, 3)}, nil},
		{"partly known", []queue.Entry{numbers(seg, 3, 6)}, []string{"5", "6"}},
		{"twice in one delivery", []queue.Entry{numbers(seg, 5, 7), numbers(seg, 5, 7)}, []string{"5", "6", "7"}},
		{"overlapping in one delivery", []queue.Entry{numbers(seg, 5, 7), numbers(seg, 6, 8)}, []string{"5", "6", "7", "8"}},
		{"another segment between", []queue.Entry{numbers(seg, 4, 5), numbers(other, 0, 1), numbers(seg, 6, 6)}, []string{"5", "0", "1", "6"}},
		{"no segment", []queue.Entry{numbers(queue.SegmentID{}, 0, 1), numbers(queue.SegmentID{}, 0, 1)}, []string{"0", "1", "0", "1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			db, box, topic := open(t), &inbox.Inbox{Consumer: "count"}, queue.NewTopicID()
			mustReceive(t, db, box, deliver(topic, 0, 1, numbers(seg, 0, 4)), "0", "1", "2", "3", "4")
			mustReceive(t, db, box, deliver(topic, 1, 2, c.d...), c.want...)
		})
	}
}

func TestReceiveRefusesAGap(t *testing.T) {
	db, box, topic, seg := open(t), &inbox.Inbox{Consumer: "count"}, queue.NewTopicID(), queue.NewSegmentID()
	mustReceive(t, db, box, deliver(topic, 0, 1, numbers(seg, 0, 1)), "0", "1")
	got, err := receive(t, db, box, deliver(topic, 1, 2, numbers(seg, 2, 3), numbers(seg, 6, 7)))
	var gap *inbox.GapError
	if !errors.As(err, &gap) || *gap != (inbox.GapError{Segment: seg, Expected: 4, Got: 6}) || len(got) != 0 {
		t.Fatalf("Receive = %q, %v, want a gap of 4 and 5", got, err)
	}
	if p := position(t, db, box, topic); p != at(1) {
		t.Errorf("Position = %v after a gap, want %v", p, at(1))
	}
	mustReceive(t, db, box, deliver(topic, 1, 2, numbers(seg, 2, 5)), "2", "3", "4", "5")
}

func TestRollbackLeavesNothing(t *testing.T) {
	db, box, topic, seg := open(t), &inbox.Inbox{Consumer: "count"}, queue.NewTopicID(), queue.NewSegmentID()
	d := deliver(topic, 0, 1, numbers(seg, 0, 1))
	err := in(t, db, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := box.Receive(ctx, tx, d); err != nil {
			return err
		}
		return errRollBack // As if an effect had failed.
	})
	if !errors.Is(err, errRollBack) {
		t.Fatal(err)
	}
	if p := position(t, db, box, topic); p != at(0) {
		t.Errorf("Position = %v after a rollback, want none", p)
	}
	mustReceive(t, db, box, d, "0", "1")
}

// A log that was deleted comes back with another topic ID, and what producers had
// not freed yet is sent again.
func TestReplacedLogSkipsWhatWasReceived(t *testing.T) {
	db, box, seg := open(t), &inbox.Inbox{Consumer: "count"}, queue.NewSegmentID()
	mustReceive(t, db, box, deliver(queue.NewTopicID(), 0, 1, numbers(seg, 0, 9)), "0", "1", "2", "3", "4", "5", "6", "7", "8", "9")
	replaced := queue.NewTopicID()
	if p := position(t, db, box, replaced); p != at(0) {
		t.Errorf("Position in the new log = %v, want its start", p)
	}
	mustReceive(t, db, box, deliver(replaced, 0, 1, numbers(seg, 0, 9), numbers(seg, 10, 11)), "10", "11")
}

func TestLostMessagesOnlyHoldTheirNumbers(t *testing.T) {
	db, box, topic, seg := open(t), &inbox.Inbox{Consumer: "count"}, queue.NewTopicID(), queue.NewSegmentID()
	e := numbers(seg, 0, 3)
	e.Messages[1] = queue.Message{Type: queue.TypeLost}
	e.Messages[3] = queue.Message{Type: queue.TypeLost}
	mustReceive(t, db, box, deliver(topic, 0, 1, e), "0", "2")
	mustReceive(t, db, box, deliver(topic, 1, 2, numbers(seg, 4, 4)), "4") // Not a gap.
	mustReceive(t, db, box, deliver(topic, 2, 3, e))
}

func TestGenerationsAndConsumersAreIndependent(t *testing.T) {
	db, topic := open(t), queue.NewTopicID()
	d := deliver(topic, 0, 1, numbers(queue.NewSegmentID(), 0, 0))
	for _, box := range []*inbox.Inbox{{Consumer: "count"}, {Consumer: "count", Generation: 1}, {Consumer: "live"}} {
		mustReceive(t, db, box, d, "0")
	}
}

func TestForget(t *testing.T) {
	db, topic := open(t), queue.NewTopicID()
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	box := &inbox.Inbox{Consumer: "count", Now: func() time.Time { return now }}
	other := &inbox.Inbox{Consumer: "live", Now: box.Now}
	old, recent := queue.NewSegmentID(), queue.NewSegmentID()
	mustReceive(t, db, box, deliver(topic, 0, 1, numbers(old, 0, 0)), "0")
	mustReceive(t, db, other, deliver(topic, 0, 1, numbers(old, 0, 0)), "0")
	mustReceive(t, db, box, deliver(topic, 1, 2, numbers(recent, 0, 0)), "0")
	now = now.Add(time.Hour)
	mustReceive(t, db, box, deliver(topic, 2, 3, numbers(recent, 1, 1)), "1")
	err := in(t, db, func(ctx context.Context, tx *sql.Tx) error { return box.Forget(ctx, tx, now) })
	if err != nil {
		t.Fatal(err)
	}
	// The forgotten segment is a new one, the others are known.
	mustReceive(t, db, box, deliver(topic, 3, 4, numbers(recent, 0, 1), numbers(old, 0, 0)), "0")
	mustReceive(t, db, other, deliver(topic, 1, 2, numbers(old, 0, 0)))
	if p := position(t, db, box, topic); p != at(4) {
		t.Errorf("Position = %v, want %v: only segments are forgotten", p, at(4))
	}
}

// TestTwoWorkersAtOnce lets two who believe they own the partition work at the same
// time: each message has its effect once.
func TestTwoWorkersAtOnce(t *testing.T) {
	db, topic, seg := open(t), queue.NewTopicID(), queue.NewSegmentID()
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE effects (n INTEGER)`); err != nil {
		t.Fatal(err)
	}
	const entries = 50
	log := []queue.Delivery{}
	for n := range entries {
		log = append(log, deliver(topic, n, n+1, numbers(seg, n, n)))
	}
	failed := make(chan error)
	for range 2 {
		go func() { failed <- workOff(t.Context(), db, log) }()
	}
	if err := errors.Join(<-failed, <-failed); err != nil {
		t.Fatal(err)
	}
	var all, distinct int
	err := db.QueryRowContext(t.Context(), `SELECT COUNT(*), COUNT(DISTINCT n) FROM effects`).Scan(&all, &distinct)
	if err != nil || all != entries || distinct != entries {
		t.Errorf("%d effects of %d messages, %v, want %d of each", all, distinct, err, entries)
	}
}

// workOff takes each delivery of a log in turn, from where the inbox stands.
func workOff(ctx context.Context, db *sql.DB, log []queue.Delivery) error {
	box := &inbox.Inbox{Consumer: "count"}
	for {
		p, err := box.Position(ctx, db, log[0].TopicID, 0)
		if err != nil {
			return err
		}
		n := slices.IndexFunc(log, func(d queue.Delivery) bool { return d.From == p })
		if n < 0 {
			return nil // At the end.
		}
		if err := workOn(ctx, db, box, log[n]); err != nil && !errors.Is(err, queue.ErrFenced) {
			return err
		}
	}
}

func workOn(ctx context.Context, db *sql.DB, box *inbox.Inbox, d queue.Delivery) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	fresh, err := box.Receive(ctx, tx, d)
	if err != nil {
		return err
	}
	for _, m := range fresh {
		if _, err := tx.ExecContext(ctx, `INSERT INTO effects (n) VALUES ($1)`, string(m.Body)); err != nil {
			return err
		}
	}
	return tx.Commit()
}
