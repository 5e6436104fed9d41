package queuetest

import (
	"database/sql"
	"errors"
	"strings"

	"snip/queue"
)

func pushesTx(e queue.TaskEngine) bool {
	_, ok := e.(queue.TxPusher)
	return ok
}

var taskTxCases = []TaskCase{
	{
		Name:  "ACommitPushes",
		Rule:  "What was pushed in a transaction is there once it is committed, and not before.",
		needs: pushesTx,
		run:   aCommitPushes,
	},
	{
		Name:  "ARollbackPushesNothing",
		Rule:  "Of what was pushed in a transaction that is rolled back nothing is left, its IDs are free and nothing was dropped for it.",
		needs: pushesTx,
		run:   aRollbackPushesNothing,
	},
	{
		Name:  "ATransactionPushesAsPushDoes",
		Rule:  "A push in a transaction skips, refuses and drops as Push does; what the transaction pushed before counts for it.",
		needs: pushesTx,
		run:   aTransactionPushesAsPushDoes,
	},
	{
		Name:  "WakeWakes",
		Rule:  "After the commit Wake ends WaitQueue.",
		needs: func(e queue.TaskEngine) bool { return pushesTx(e) && waitsForTasks(e) },
		run:   wakeWakes,
	},
}

// begin begins a transaction on the engine's database.
func (s *taskSuite) begin() *sql.Tx {
	s.Helper()
	db, err := s.store.OpenDB()
	if err != nil {
		s.Fatalf("open the database: %v", err)
	}
	s.Cleanup(func() { _ = db.Close() }) // A transaction that failed is in its way.
	tx, err := db.BeginTx(s.Context(), nil)
	if err != nil {
		s.Fatalf("begin: %v", err)
	}
	return tx
}

func (s *taskSuite) commit(tx *sql.Tx) {
	s.Helper()
	if err := tx.Commit(); err != nil {
		s.Fatalf("commit: %v", err)
	}
}

func (s *taskSuite) rollback(tx *sql.Tx) {
	s.Helper()
	if err := tx.Rollback(); err != nil {
		s.Fatalf("roll back: %v", err)
	}
}

// pushTx pushes in a transaction and returns the IDs of what was pushed.
func (s *taskSuite) pushTx(tx *sql.Tx, tasks ...queue.Task) string {
	s.Helper()
	results, err := s.engine.(queue.TxPusher).PushTx(s.Context(), tx, mail, tasks)
	if err != nil {
		s.Fatalf("PushTx(%q) = %v", names(tasks), err)
	}
	s.wantResults(tasks, results)
	var pushed []string
	for _, r := range results {
		if r.Pushed {
			pushed = append(pushed, r.ID)
		}
	}
	return strings.Join(pushed, " ")
}

func aCommitPushes(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	want := oddTasks()
	tx := s.begin()
	s.pushTx(tx, want...)
	s.pushTx(tx, delayed("delayed", long))
	s.wantCounts(counts{})
	s.commit(tx)
	s.wantCounts(counts{ready: int64(len(want)), delayed: 1})
	s.pullTasks(want)
}

func aRollbackPushesNothing(s *taskSuite) {
	s.declare(queue.QueueConfig{MaxTasks: 2, Overflow: queue.DropOldest})
	s.push(jobs("a b")...)
	before := s.stats()
	tx := s.begin()
	if got := s.pushTx(tx, jobs("c d")...); got != "c d" {
		s.Errorf("PushTx() pushed %q, want %q", got, "c d")
	}
	s.rollback(tx)
	if after := s.stats(); after != before {
		s.Errorf("a transaction that was rolled back changed %+v to %+v", before, after)
	}
	s.done(s.wantPull("a b")...)
	s.push(jobs("c d")...)
	s.wantPull("c d")
}

func aTransactionPushesAsPushDoes(s *taskSuite) {
	s.declare(queue.QueueConfig{MaxTasks: 4})
	s.push(jobs("done a")...)
	s.done(s.wantLeases("done", 1, long)...)
	tx := s.begin()
	if got := s.pushTx(tx, jobs("a done b b")...); got != "b" {
		s.Errorf("PushTx() pushed %q, want %q", got, "b")
	}
	if got := s.pushTx(tx, jobs("b c")...); got != "c" {
		s.Errorf("PushTx() pushed %q, want %q", got, "c")
	}
	if got := s.pushTx(tx, delayed("", long)); got == "" {
		s.Error("PushTx() without an ID pushed nothing")
	}
	s.commit(tx)
	s.wantPull("a b c")
	s.wantCounts(counts{delayed: 1, leased: 3})

	for field, task := range map[string]queue.Task{"Type": {}, "Delay": delayed("x", -1)} {
		tx = s.begin()
		_, err := s.engine.(queue.TxPusher).PushTx(s.Context(), tx, mail, []queue.Task{task})
		if err == nil || !strings.Contains(err.Error(), field) {
			s.Errorf("PushTx() = %v, want an error that names %s", err, field)
		}
		s.rollback(tx)
	}
	tx = s.begin()
	if _, err := s.engine.(queue.TxPusher).PushTx(s.Context(), tx, "never", jobs("x")); !errors.Is(err, queue.ErrNotFound) {
		s.Errorf("PushTx() into a queue that is not there = %v, want %v", err, queue.ErrNotFound)
	}
	s.rollback(tx)
	tx = s.begin()
	if _, err := s.engine.(queue.TxPusher).PushTx(s.Context(), tx, mail, jobs("x")); !s.isFull(err) {
		s.Error("PushTx() was taken into a full queue")
	}
	s.rollback(tx)

	s.declare(queue.QueueConfig{MaxTasks: 5, Overflow: queue.DropOldest})
	s.push(job("ready"))
	tx = s.begin()
	s.pushTx(tx, jobs("x")...)
	s.commit(tx)
	s.wantPull("x")
	if got := s.stats().Dropped; got != 1 {
		s.Errorf("Dropped = %d, want 1", got)
	}
}

func wakeWakes(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	wait := s.waiting()
	tx := s.begin()
	s.pushTx(tx, job("a"))
	s.commit(tx)
	s.engine.(queue.TxPusher).Wake(s.Context(), mail)
	wait()
	s.wantPull("a")
}
