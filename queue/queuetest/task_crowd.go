package queuetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"snip/queue"
)

var taskCrowdCases = []TaskCase{
	{
		Name: "OfManyPullersOneGetsATask",
		Rule: "However many pull, settle and push at the same time, each task goes to one of them, and none is left out.",
		run:  ofManyPullersOneGetsATask,
	},
	{
		Name: "ATaskIsUnderOneLease",
		Rule: "Where leases end while their holders still work, a task may be run again, but of all its leases exactly one is acknowledged, and no two of them are the same.",
		run:  aTaskIsUnderOneLease,
	},
	{
		Name: "OfManyPushesOfAnIDOneIsTaken",
		Rule: "Of pushes of the same IDs at the same time, in whatever order, each ID is taken once, and none of them fails.",
		run:  ofManyPushesOfAnIDOneIsTaken,
	},
	{
		Name: "VerdictsInAnyOrder",
		Rule: "Calls that settle the same tasks at the same time, in whatever order, all end without an error of their own.",
		run:  verdictsInAnyOrder,
	},
	{
		Name: "OfTwoVerdictsOneCounts",
		Rule: "Of different verdicts that end one lease at the same time exactly one is carried out.",
		run:  ofTwoVerdictsOneCounts,
	},
}

const workers = 8

func ofManyPullersOneGetsATask(s *taskSuite) {
	const tasks = 400
	s.declare(queue.QueueConfig{})
	var mu sync.Mutex // Protects the following.
	times := map[string]int{}
	var producers, all sync.WaitGroup
	pushed := make(chan struct{})
	for p := range 4 {
		producers.Go(func() {
			for i := range tasks / 4 / 5 {
				var push []queue.Task
				for n := range 5 {
					push = append(push, job(fmt.Sprintf("%d-%d", p, i*5+n)))
				}
				if _, err := s.engine.Push(s.Context(), mail, push); err != nil {
					s.Errorf("Push() = %v", err)
				}
			}
		})
	}
	all.Go(func() { producers.Wait(); close(pushed) })
	for w := range workers {
		all.Go(func() {
			for {
				isLast := false
				select {
				case <-pushed:
					isLast = true
				default:
				}
				pulled, err := s.engine.Pull(s.Context(), mail, queue.PullRequest{Types: []string{send}, Max: 1 + w%4, Lease: long})
				if err != nil {
					s.Errorf("Pull() = %v", err)
					return
				}
				var verdicts []queue.Verdict
				mu.Lock()
				for _, l := range pulled.Tasks {
					times[l.ID]++
					verdicts = append(verdicts, queue.Verdict{Lease: l.Lease, Kind: queue.Done})
				}
				mu.Unlock()
				results, err := s.engine.Settle(s.Context(), mail, verdicts)
				if err = errors.Join(append(results, err)...); err != nil {
					s.Errorf("Settle() = %v", err)
					return
				}
				if isLast && len(pulled.Tasks) == 0 {
					return
				}
			}
		})
	}
	all.Wait()
	// A pull beside others may find less than there is.
	for _, l := range s.pull() {
		times[l.ID]++
		s.done(l)
	}
	for id, n := range times {
		if n != 1 {
			s.Errorf("task %q was pulled %d times", id, n)
		}
	}
	if len(times) != tasks {
		s.Errorf("%d tasks were pulled, want %d", len(times), tasks)
	}
	s.wantCounts(counts{})
}

func aTaskIsUnderOneLease(s *taskSuite) {
	const tasks = 20
	s.declare(queue.QueueConfig{})
	for i := range tasks {
		s.push(job(fmt.Sprint(i)))
	}
	var mu sync.Mutex // Protects the following.
	acknowledged, leases := map[string]int{}, map[queue.Lease]string{}
	lost := 0
	left := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(acknowledged) < tasks
	}
	end := time.Now().Add(patience)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 0))
			for left() && time.Now().Before(end) {
				pulled, err := s.engine.Pull(s.Context(), mail, queue.PullRequest{Types: []string{send}, Max: 2, Lease: time.Millisecond})
				if err != nil {
					s.Errorf("Pull() = %v", err)
					return
				}
				time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond) // The work, longer than its lease now and then.
				for _, l := range pulled.Tasks {
					results, err := s.engine.Settle(s.Context(), mail, []queue.Verdict{{Lease: l.Lease, Kind: queue.Done}})
					if err != nil {
						s.Errorf("Settle() = %v", err)
						return
					}
					mu.Lock()
					if before, ok := leases[l.Lease]; ok {
						s.Errorf("lease %v was given for %q, and again for %q", l.Lease, before, l.ID)
					}
					leases[l.Lease] = l.ID
					switch err := results[0]; {
					case err == nil:
						acknowledged[l.ID]++
					case errors.Is(err, queue.ErrLeaseLost):
						lost++
					default:
						s.Errorf("a verdict = %v, want nil or %v", err, queue.ErrLeaseLost)
					}
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	s.Logf("%d leases were lost", lost)
	for id, n := range acknowledged {
		if n != 1 {
			s.Errorf("task %q was acknowledged under %d leases", id, n)
		}
	}
	if len(acknowledged) != tasks {
		s.Errorf("%d tasks were acknowledged, want %d", len(acknowledged), tasks)
	}
	s.wantCounts(counts{})
}

func ofManyPushesOfAnIDOneIsTaken(s *taskSuite) {
	const ids, rounds = 20, 5
	s.declare(queue.QueueConfig{})
	var mu sync.Mutex // Protects the following.
	taken := map[string]int{}
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 0))
			for range rounds {
				var tasks []queue.Task
				for _, i := range random.Perm(ids) {
					tasks = append(tasks, job(fmt.Sprint(i)))
				}
				results, err := s.engine.Push(s.Context(), mail, tasks)
				if err != nil {
					s.Errorf("Push() = %v", err)
					return
				}
				mu.Lock()
				for _, r := range results {
					if r.Pushed {
						taken[r.ID]++
					}
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for id, n := range taken {
		if n != 1 {
			s.Errorf("ID %q was taken %d times", id, n)
		}
	}
	if len(taken) != ids {
		s.Errorf("%d IDs were taken, want %d", len(taken), ids)
	}
	s.wantCounts(counts{ready: ids})
}

func verdictsInAnyOrder(s *taskSuite) {
	const tasks, rounds = 30, 5
	s.declare(queue.QueueConfig{})
	for range tasks {
		s.push(job(""))
	}
	held := s.pull()
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 0))
			for range rounds {
				var verdicts []queue.Verdict
				for _, i := range random.Perm(tasks) {
					verdicts = append(verdicts, queue.Verdict{Lease: held[i].Lease, Kind: queue.Extend, Delay: long})
				}
				results, err := s.engine.Settle(s.Context(), mail, verdicts)
				if err = errors.Join(append(results, err)...); err != nil {
					s.Errorf("Settle() = %v", err)
				}
			}
		})
	}
	all.Wait()
	for w := range workers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 1))
			var verdicts []queue.Verdict
			for _, i := range random.Perm(tasks) {
				verdicts = append(verdicts, queue.Verdict{Lease: held[i].Lease, Kind: queue.Done})
			}
			results, err := s.engine.Settle(s.Context(), mail, verdicts)
			if err != nil {
				s.Errorf("Settle() = %v", err)
			}
			for _, err := range results {
				if err != nil && !errors.Is(err, queue.ErrLeaseLost) {
					s.Errorf("a verdict = %v, want nil or %v", err, queue.ErrLeaseLost)
				}
			}
		})
	}
	all.Wait()
	s.wantCounts(counts{})
}

func ofTwoVerdictsOneCounts(s *taskSuite) {
	s.declare(queue.QueueConfig{Remember: -1})
	for round := range 5 {
		s.push(job("a"))
		verdicts := slices.DeleteFunc(everyVerdict(s.pullOne("a").Lease), func(v queue.Verdict) bool { return v.Kind == queue.Extend })
		outcomes := make([]error, len(verdicts))
		var all sync.WaitGroup
		for i, v := range verdicts {
			all.Go(func() {
				results, err := s.engine.Settle(s.Context(), mail, []queue.Verdict{v})
				if outcomes[i] = err; err == nil {
					outcomes[i] = results[0]
				}
			})
		}
		all.Wait()
		won := 0
		for i, err := range outcomes {
			if err == nil {
				won++
			} else if !errors.Is(err, queue.ErrLeaseLost) {
				s.Errorf("%s = %v, want nil or %v", verdicts[i].Kind, err, queue.ErrLeaseLost)
			}
		}
		if won != 1 {
			s.Fatalf("round %d: %d verdicts were carried out, want 1", round, won)
		}
		s.done(s.pull()...)
	}
}
