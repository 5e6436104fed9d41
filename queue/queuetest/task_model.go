package queuetest

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"time"

	"snip/queue"
)

// TaskModel does the same to a task engine and to a reference, and wants the same
// answers, as LogModel does. With pgregory.net/rapid:
//
//	func TestTaskModel(t *testing.T) {
//		rapid.Check(t, func(r *rapid.T) {
//			choose := func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(r, what) }
//			m := queuetest.NewTaskModel(r, newTaskStore(t), memory.New(), choose)
//			r.Repeat(map[string]func(*rapid.T){"step": func(*rapid.T) { m.Step() }})
//		})
//	}
//
// Time passes, and not alike for both, so no answer depends on it: a delay is of hours,
// and never over; a lease is of hours, or of a millisecond, and then the model waits
// until it is over for both; tasks become due one call after the other, so that both
// know their order. A TaskModel is used by one goroutine.
type TaskModel struct {
	t         T
	choose    Choose
	store     TaskStore
	engine    queue.TaskEngine
	reference queue.TaskEngine
	db        *sql.DB // Nil where the engine is no TxPusher.
	steps     []func()
	ids       map[string]string // Those made at random: the reference's, by the engine's.
	used      []taskID          // All IDs.
	leases    []taskLease       // All that were given.
	made      int               // How many tasks.
}

// taskID is an ID, as the two name it.
type taskID struct{ engine, reference string }

// taskLease is one lease, as the two name it.
type taskLease struct {
	queue             string
	engine, reference queue.Lease
	ended             bool // By a verdict.
}

// NewTaskModel opens an engine on an empty store. It is closed when the test ends. The
// reference must be new, too, and have every optional interface.
func NewTaskModel(t T, store TaskStore, reference queue.TaskEngine, choose Choose) *TaskModel {
	t.Helper()
	m := &TaskModel{t: t, choose: choose, store: store, reference: reference, ids: map[string]string{}}
	for id := range 6 {
		name := string(rune('a' + id))
		m.used = append(m.used, taskID{name, name})
	}
	m.open()
	t.Cleanup(m.close)
	for _, name := range []string{"mail", "bills"} {
		m.declareAs(queue.QueueConfig{Name: name, MaxDead: modelMaxDead})
	}
	m.steps = []func(){m.push, m.push, m.push, m.pull, m.pull, m.pull, m.settle, m.settle, m.settle, m.declare}
	if controls(m.engine) {
		m.steps = append(m.steps, m.get, m.cancel, m.replace, m.pause)
	}
	if deadLetters(m.engine) {
		m.steps = append(m.steps, m.redrive, m.deleteDead)
	}
	if pushesTx(m.engine) {
		m.steps = append(m.steps, m.pushTx)
	}
	if m.engine.Caps().Durability > queue.DurableNothing {
		m.steps = append(m.steps, m.reopen)
	}
	return m
}

// Step makes one call, chosen at random, and compares its answers and what the two
// are after it.
func (m *TaskModel) Step() {
	m.t.Helper()
	m.steps[m.choose("step", len(m.steps))]()
	for _, name := range []string{"mail", "bills"} {
		m.compareStats(name)
		if deadLetters(m.engine) {
			m.compareDead(name)
		}
	}
}

func (m *TaskModel) open() {
	m.t.Helper()
	var err error
	if m.engine, err = m.store.Open(); err != nil {
		m.t.Fatalf("open: %v", err)
	}
	if pushesTx(m.engine) {
		if m.db, err = m.store.OpenDB(); err != nil {
			m.t.Fatalf("open the database: %v", err)
		}
	}
}

func (m *TaskModel) close() {
	m.t.Helper()
	if m.db != nil {
		if err := m.db.Close(); err != nil {
			m.t.Fatalf("close the database: %v", err)
		}
	}
	if c, ok := m.engine.(io.Closer); ok {
		if err := c.Close(); err != nil {
			m.t.Fatalf("Close() = %v", err)
		}
	}
}

// reopen is what a reference that dies with its process cannot, and what must change
// nothing.
func (m *TaskModel) reopen() {
	m.t.Logf("close, and open again")
	m.close()
	m.open()
}

// leasesEnd waits until leases of a millisecond are over for both.
func (m *TaskModel) leasesEnd() {
	m.t.Helper()
	time.Sleep(2 * time.Millisecond) // Now they are for the reference.
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		same := true
		for _, name := range []string{"mail", "bills"} {
			got, err := m.engine.QueueStats(m.t.Context(), name)
			want, wantErr := m.reference.QueueStats(m.t.Context(), name)
			m.agree("QueueStats()", err, wantErr)
			same = same && got.Leased == want.Leased
		}
		if same {
			return
		}
		if time.Now().After(end) {
			m.t.Fatalf("a lease of a millisecond is not over after %s", patience)
		}
	}
}

// ended tells how a call ended, and compares it.
func (m *TaskModel) ended(call string, got, want error) {
	m.t.Helper()
	m.t.Logf("%s = %v", call, got)
	m.agree(call, got, want)
}

func (m *TaskModel) agree(call string, got, want error) {
	m.t.Helper()
	same := (got == nil) == (want == nil)
	for _, sentinel := range []error{
		queue.ErrNotFound, queue.ErrFull, queue.ErrConflict, queue.ErrLeaseLost, queue.ErrUnsupported,
	} {
		same = same && errors.Is(got, sentinel) == errors.Is(want, sentinel)
	}
	if !same {
		m.t.Fatalf("%s = %v, want %v", call, got, want)
	}
}

func (m *TaskModel) compareStats(name string) {
	m.t.Helper()
	got, err := m.engine.QueueStats(m.t.Context(), name)
	want, wantErr := m.reference.QueueStats(m.t.Context(), name)
	call := fmt.Sprintf("QueueStats(%q)", name)
	m.agree(call, err, wantErr)
	same := sameMoment(got.OldestReady, want.OldestReady) && sameMoment(got.OldestDead, want.OldestDead)
	got.OldestReady, got.OldestDead = want.OldestReady, want.OldestDead
	if got != want || !same {
		m.t.Fatalf("%s = %+v, want %+v", call, got, want)
	}
}

// sameMoment allows for what passes between a call to one and the call to the other.
func sameMoment(a, b time.Time) bool {
	return a.IsZero() == b.IsZero() && a.Sub(b).Abs() < patience
}

// sameTask: two IDs that were made at random are the same if they are those of one task.
func (m *TaskModel) sameTask(a, b queue.Task) bool {
	if id, ok := m.ids[a.ID]; ok {
		a.ID = id
	}
	return sameTask(a, b) && sameMoment(a.At, b.At) && a.Delay == b.Delay
}

func (m *TaskModel) compareDead(name string) {
	m.t.Helper()
	got, want := m.listDead(name)
	call := fmt.Sprintf("ListDead(%q)", name)
	for i := range min(len(got), len(want)) {
		g, w := got[i], want[i]
		if !m.sameTask(g.Task, w.Task) || g.Reason != w.Reason || g.Error != w.Error || g.Failed != w.Failed || g.Lost != w.Lost ||
			g.Released != w.Released || !sameMoment(g.Pushed, w.Pushed) || !sameMoment(g.Buried, w.Buried) {
			m.t.Fatalf("%s: dead letter %d = %+v, want %+v", call, i, g, w)
		}
	}
	if len(got) != len(want) {
		m.t.Fatalf("%s = %q, want %q", call, deadNames(got), deadNames(want))
	}
}

func (m *TaskModel) listDead(name string) (got, want []queue.DeadLetter) {
	m.t.Helper()
	got, err := m.engine.(queue.DeadLetters).ListDead(m.t.Context(), name, 0, many)
	want, wantErr := m.reference.(queue.DeadLetters).ListDead(m.t.Context(), name, 0, many)
	m.agree(fmt.Sprintf("ListDead(%q)", name), err, wantErr)
	return got, want
}
