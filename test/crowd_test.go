package test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// outcome is how a numbered request ended.
type outcome int

const (
	refused  outcome = iota // It was not sent.
	cut                     // It was sent, and the connection broke before the answer.
	answered                // The 307 was seen.
	failed                  // Something else was answered.
)

// visit is one numbered request.
type visit struct {
	number  int64
	code    string
	outcome outcome
	began   time.Time
	took    time.Duration
}

// visits is every request made to one data directory. It is safe for concurrent use.
type visits struct {
	last atomic.Int64 // The number that was given last.
	mu   sync.Mutex   // Protects list.
	list []visit
}

// visit makes one request and notes how it ended. What is answered must be a 307.
func (vs *visits) visit(v *visitor, addr, code string) (visit, error) {
	one := visit{number: vs.last.Add(1), code: code, began: time.Now()}
	resp, err := v.get(addr, fmt.Sprintf("/%s?utm_campaign=%d", code, one.number))
	one.took = time.Since(one.began)
	switch {
	case errors.Is(err, errRefused):
		one.outcome, err = refused, nil
	case err != nil:
		one.outcome, err = cut, nil
	case resp.StatusCode != http.StatusTemporaryRedirect:
		one.outcome, err = failed, fmt.Errorf("GET /%s answered %s", code, resp.Status)
	default:
		one.outcome = answered
	}
	vs.note(one)
	return one, err
}

func (vs *visits) note(one visit) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	vs.list = append(vs.list, one)
}

func (vs *visits) all() []visit {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	return slices.Clone(vs.list)
}

// copy is for a data directory that was copied: from here on each has its own.
func (vs *visits) copy() *visits {
	c := &visits{list: vs.all()}
	c.last.Store(vs.last.Load())
	return c
}

// count returns how many requests ended so.
func (vs *visits) count(o outcome) (n int64) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	for _, v := range vs.list {
		if v.outcome == o {
			n++
		}
	}
	return n
}

// mustAllBeAnswered fails the test if a request was not answered, or not within the
// limit. A limit of 0 is none.
func (vs *visits) mustAllBeAnswered(t *testing.T, limit time.Duration) {
	t.Helper()
	var slowest visit
	for _, v := range vs.all() {
		if v.outcome != answered {
			t.Errorf("request %d for /%s was not answered", v.number, v.code)
		}
		if v.took > slowest.took {
			slowest = v
		}
	}
	t.Logf("%d requests were answered, the slowest after %s", vs.count(answered), slowest.took)
	if limit > 0 && slowest.took > limit {
		t.Errorf("request %d for /%s took %s, more than %s", slowest.number, slowest.code, slowest.took, limit)
	}
}

const (
	visitors = 4
	every    = time.Millisecond // How often each of them makes a request, at most, unless told.
)

// crowd is visitors who follow links until they are stopped.
type crowd struct {
	t      *testing.T
	visits *visits
	codes  []string // The first one is the hot one.
	pace   time.Duration
	addrs  atomic.Pointer[[]string]
	end    chan struct{}
	tasks  sync.WaitGroup
	wrong  atomic.Int64 // Answers that were not 307.
}

// gather lets a crowd follow links. The first link gets half of the requests.
func gather(t *testing.T, vs *visits, rnd *rand.Rand, codes []string, webs ...*process) *crowd {
	t.Helper()
	return gatherAt(t, every, vs, rnd, codes, webs...)
}

// gatherAt is gather with a pace: how often each visitor makes a request, at most.
func gatherAt(t *testing.T, pace time.Duration, vs *visits, rnd *rand.Rand, codes []string, webs ...*process) *crowd {
	t.Helper()
	c := &crowd{t: t, visits: vs, codes: codes, pace: pace, end: make(chan struct{})}
	c.sendTo(webs...)
	for range visitors {
		own := rand.New(rand.NewPCG(rnd.Uint64(), rnd.Uint64()))
		c.tasks.Go(func() { c.follow(own) })
	}
	t.Cleanup(c.stop)
	return c
}

// sendTo says where requests go from now on. Without a process they wait.
func (c *crowd) sendTo(webs ...*process) {
	addrs := make([]string, len(webs))
	for i, p := range webs {
		addrs[i] = p.public
	}
	c.sendToAddrs(addrs...)
}

func (c *crowd) sendToAddrs(addrs ...string) { c.addrs.Store(&addrs) }

// stop returns when every request has ended.
func (c *crowd) stop() {
	select {
	case <-c.end:
	default:
		close(c.end)
	}
	c.tasks.Wait()
}

// awaitAnswers returns when n more requests were answered.
func (c *crowd) awaitAnswers(n int64) {
	c.t.Helper()
	goal := c.visits.count(answered) + n
	eventually(c.t, fmt.Sprintf("%d more requests are answered", n), func() bool {
		return c.visits.count(answered) >= goal
	})
}

// leaveAfter lets n more requests be answered and stops the crowd.
func (c *crowd) leaveAfter(n int64) {
	c.t.Helper()
	c.awaitAnswers(n)
	c.stop()
}

func (c *crowd) follow(rnd *rand.Rand) {
	vs := map[string]*visitor{}
	defer func() {
		for _, v := range vs {
			v.close()
		}
	}()
	pace := time.NewTicker(c.pace)
	defer pace.Stop()
	for {
		select {
		case <-c.end:
			return
		case <-pace.C:
		}
		addrs := *c.addrs.Load()
		if len(addrs) == 0 {
			continue
		}
		addr := addrs[rnd.IntN(len(addrs))]
		if vs[addr] == nil {
			vs[addr] = &visitor{}
		}
		if _, err := c.visits.visit(vs[addr], addr, c.choose(rnd)); err != nil && c.wrong.Add(1) <= 5 {
			c.t.Error(err)
		}
	}
}

func (c *crowd) choose(rnd *rand.Rand) string {
	if rnd.IntN(2) == 0 {
		return c.codes[0]
	}
	return c.codes[rnd.IntN(len(c.codes))]
}
