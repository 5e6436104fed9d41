package queuetest

import (
	"errors"
	"strings"
	"time"

	"snip/queue"
)

// declare makes queue mail, or the one that is named.
func (s *taskSuite) declare(c queue.QueueConfig) {
	s.Helper()
	if c.Name == "" {
		c.Name = mail
	}
	if err := s.engine.DeclareQueue(s.Context(), c); err != nil {
		s.Fatalf("DeclareQueue(%+v) = %v", c, err)
	}
}

// job is a task of nothing but an ID and a type.
func job(id string) queue.Task {
	return queue.Task{Message: queue.Message{ID: id, Type: send}}
}

// jobs are such tasks, of the IDs in a text with spaces between them.
func jobs(ids string) []queue.Task {
	var tasks []queue.Task
	for id := range strings.FieldsSeq(ids) {
		tasks = append(tasks, job(id))
	}
	return tasks
}

// delayed is a task that is due later.
func delayed(id string, delay time.Duration) queue.Task {
	t := job(id)
	t.Delay = delay
	return t
}

// push pushes tasks that must be taken.
func (s *taskSuite) push(tasks ...queue.Task) {
	s.Helper()
	for i, r := range s.offer(tasks...) {
		if !r.Pushed {
			s.Fatalf("Push() skipped task %d, %q", i, r.ID)
		}
	}
}

// offer pushes tasks that may be skipped.
func (s *taskSuite) offer(tasks ...queue.Task) []queue.PushResult {
	s.Helper()
	results, err := s.engine.Push(s.Context(), mail, tasks)
	if err != nil {
		s.Fatalf("Push(%q) = %v", names(tasks), err)
	}
	s.wantResults(tasks, results)
	return results
}

// wantResults wants a result for each task, of its ID.
func (s *taskSuite) wantResults(tasks []queue.Task, results []queue.PushResult) {
	s.Helper()
	if len(results) != len(tasks) {
		s.Fatalf("Push() = %d results, want %d", len(results), len(tasks))
	}
	for i, r := range results {
		if r.ID == "" || tasks[i].ID != "" && r.ID != tasks[i].ID {
			s.Fatalf("Push(): result %d is of ID %q, want that of task %q", i, r.ID, tasks[i].ID)
		}
	}
}

// skipped wants a push to skip all its tasks.
func (s *taskSuite) skipped(tasks ...queue.Task) {
	s.Helper()
	for _, r := range s.offer(tasks...) {
		if r.Pushed {
			s.Errorf("Push() took %q, want it skipped", r.ID)
		}
	}
}

func names(tasks []queue.Task) string {
	var ids []string
	for _, t := range tasks {
		ids = append(ids, t.ID)
	}
	return strings.Join(ids, " ")
}

func leasedNames(all []queue.Leased) string {
	var tasks []queue.Task
	for _, l := range all {
		tasks = append(tasks, l.Task)
	}
	return names(tasks)
}

// request pulls from mail.
func (s *taskSuite) request(p queue.PullRequest) queue.Pulled {
	s.Helper()
	if p.Types == nil {
		p.Types = []string{send}
	}
	pulled, err := s.engine.Pull(s.Context(), mail, p)
	if err != nil {
		s.Fatalf("Pull(%+v) = %v", p, err)
	}
	if len(pulled.Tasks) > p.Max {
		s.Fatalf("Pull(%+v) = %d tasks", p, len(pulled.Tasks))
	}
	return pulled
}

// many is a Max that no case reaches, and long a lease that none outlives.
const (
	many = 1000
	long = time.Hour
)

// pull leases all that is due.
func (s *taskSuite) pull() []queue.Leased {
	s.Helper()
	return s.request(queue.PullRequest{Max: many, Lease: long}).Tasks
}

// wantPull leases all that is due, and wants it to be these, in this order.
func (s *taskSuite) wantPull(want string) []queue.Leased {
	s.Helper()
	return s.wantLeases(want, many, long)
}

func (s *taskSuite) wantLeases(want string, limit int, lease time.Duration) []queue.Leased {
	s.Helper()
	got := s.request(queue.PullRequest{Max: limit, Lease: lease}).Tasks
	if leasedNames(got) != want {
		s.Fatalf("Pull() = %q, want %q", leasedNames(got), want)
	}
	return got
}

// pullOne leases the one task that must be due.
func (s *taskSuite) pullOne(id string) queue.Leased {
	s.Helper()
	return s.wantPull(id)[0]
}

// pullSoon leases all that is due as soon as there is some.
func (s *taskSuite) pullSoon(lease time.Duration) (got []queue.Leased) {
	s.Helper()
	s.eventually("due", func() bool {
		got = s.request(queue.PullRequest{Max: many, Lease: lease}).Tasks
		return len(got) > 0
	})
	return got
}

// come leases tasks as they become due, until so many have come, and shows each one at
// once. It returns their IDs.
func (s *taskSuite) come(n int, show func(queue.Leased)) string {
	s.Helper()
	var all []queue.Leased
	for len(all) < n {
		got := s.pullSoon(long)
		for _, l := range got {
			show(l)
		}
		all = append(all, got...)
	}
	return leasedNames(all)
}

// ready waits until so many tasks are ready, with time the only one who does something.
func (s *taskSuite) ready(n int64) {
	s.Helper()
	s.eventually("ready", func() bool { return s.stats().Ready == n })
}

// lose leases all that is due, which must be these, and lets the leases end.
func (s *taskSuite) lose(want string) []queue.Leased {
	s.Helper()
	others := s.stats().Leased
	lost := s.wantLeases(want, many, time.Millisecond)
	s.eventually("the end of leases", func() bool { return s.stats().Leased == others })
	return lost
}

// tick lets the engine's clock go on: in a bubble it stands still while anything runs,
// and what happens in one microsecond happens at once to an engine.
func tick() { time.Sleep(time.Millisecond) }

// verdicts gives results for each of the verdicts.
func (s *taskSuite) verdicts(all ...queue.Verdict) []error {
	s.Helper()
	results, err := s.engine.Settle(s.Context(), mail, all)
	if err != nil {
		s.Fatalf("Settle() = %v", err)
	}
	if len(results) != len(all) {
		s.Fatalf("Settle() = %d results, want %d", len(results), len(all))
	}
	return results
}

// settle gives verdicts that must be carried out.
func (s *taskSuite) settle(all ...queue.Verdict) {
	s.Helper()
	for i, err := range s.verdicts(all...) {
		if err != nil {
			s.Fatalf("verdict %d, %s: %v", i, all[i].Kind, err)
		}
	}
}

// wantLost wants verdicts to change nothing.
func (s *taskSuite) wantLost(all ...queue.Verdict) {
	s.Helper()
	for i, err := range s.verdicts(all...) {
		if !errors.Is(err, queue.ErrLeaseLost) {
			s.Errorf("verdict %d, %s: %v, want %v", i, all[i].Kind, err, queue.ErrLeaseLost)
		}
	}
}

// done acknowledges tasks.
func (s *taskSuite) done(all ...queue.Leased) {
	s.Helper()
	for _, l := range all {
		s.settle(queue.Verdict{Lease: l.Lease, Kind: queue.Done})
	}
}

// bury sets tasks aside, one after the other.
func (s *taskSuite) bury(all ...queue.Leased) {
	s.Helper()
	for _, l := range all {
		s.settle(queue.Verdict{Lease: l.Lease, Kind: queue.Bury, Reason: queue.ReasonFailed, Error: "no such address"})
	}
}

// everyVerdict is one of each kind, under one lease.
func everyVerdict(l queue.Lease) []queue.Verdict {
	return []queue.Verdict{
		{Lease: l, Kind: queue.Done, Result: []byte("result")},
		{Lease: l, Kind: queue.Retry, Error: "again"},
		{Lease: l, Kind: queue.Release},
		{Lease: l, Kind: queue.Bury, Reason: queue.ReasonFailed, Error: "never"},
		{Lease: l, Kind: queue.Extend, Delay: long, Progress: []byte("progress")},
	}
}

func (s *taskSuite) stats() queue.QueueStats {
	s.Helper()
	stats, err := s.engine.QueueStats(s.Context(), mail)
	if err != nil {
		s.Fatalf("QueueStats() = %v", err)
	}
	return stats
}

// counts are the numbers of tasks in a queue, by where they stand.
type counts struct{ ready, delayed, leased, dead, kept int64 }

func (s *taskSuite) wantCounts(want counts) {
	s.Helper()
	q := s.stats()
	if got := (counts{q.Ready, q.Delayed, q.Leased, q.Dead, q.Kept}); got != want {
		s.Errorf("QueueStats() = %+v, want %+v", got, want)
	}
}
