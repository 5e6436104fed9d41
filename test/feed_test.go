package test

import (
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	domain "snip"
	"snip/event"
	"snip/queue"
	"snip/queue/engine/sqlite"
	"snip/worker"
)

// instance is a snip with links, whose clicks come from a generator.
type instance struct {
	t   *testing.T
	dir string
	web *process
	key string
	rnd *rand.Rand
	sums
}

// newInstance makes links on a data directory of its own. Its process has ended: resume
// starts the next.
func newInstance(t *testing.T, codes ...string) *instance {
	t.Helper()
	s := &instance{t: t, dir: t.TempDir(), rnd: random(t), sums: sums{links: map[string]int64{}}}
	s.key = adminKey(t, s.dir)
	s.web = start(t, "", s.dir)
	for _, code := range codes {
		if status, _, err := shorten(s.web, code); err != nil || status != http.StatusCreated {
			t.Fatalf("shorten %s: status %d, %v", code, status, err)
		}
		s.links[code] = s.link(code).ID
	}
	s.web.stop()
	return s
}

// linkView is a link as the API answers it.
type linkView struct {
	ID   int64  `json:"id"`
	Code string `json:"code"`
	tally
}

func (s *instance) link(code string) (l linkView) {
	s.t.Helper()
	s.get("/api/v1/links/"+code, nil, &l)
	return l
}

// get asks the API for something that must be there.
func (s *instance) get(path string, query url.Values, answer any) {
	s.t.Helper()
	status, body := s.request(http.MethodGet, path, query)
	if err := json.Unmarshal(body, answer); err != nil || status != http.StatusOK {
		s.t.Fatalf("GET %s?%s: status %d, %v\n%.1000s", path, query.Encode(), status, err, body)
	}
}

func (s *instance) request(method, path string, query url.Values) (status int, body []byte) {
	s.t.Helper()
	target := url.URL{Scheme: "http", Host: s.web.public, Path: path, RawQuery: query.Encode()}
	req, err := http.NewRequestWithContext(s.t.Context(), method, target.String(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err = io.ReadAll(resp.Body); err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, body
}

// resume starts the program and waits until all clicks are counted, each once.
func (s *instance) resume() {
	s.t.Helper()
	s.web = start(s.t, "", s.dir, "SNIP_FINE_DAYS=0") // Nothing is too old to be told exactly.
	caughtUp(s.t, s.web)
	for code := range s.links {
		s.mustHaveCounted(code)
	}
}

// mustHaveCounted compares what a link has in all with the sums.
func (s *instance) mustHaveCounted(code string) {
	s.t.Helper()
	var want tally
	for c := range s.of([]string{code}, "2000-01-01", "2100-01-01") {
		want.add(c)
	}
	if got := s.link(code); got.tally != want {
		s.t.Errorf("link %s has %+v, want %+v", code, got.tally, want)
	}
}

// feed puts clicks into topic "clicks", as shippers of several processes do: in any
// order, and now and then again, since the answer to an append was lost. happened tells
// when a message says that its click was; nil: when it was.
func (s *instance) feed(clicks []domain.Click, happened func(domain.Click) time.Time) {
	t := s.t
	t.Helper()
	s.clicks = append(s.clicks, clicks...)
	engine, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(s.dir, "log.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	topic := worker.ClicksTopic(0)
	if _, err := engine.Declare(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	encoder, err := event.NewClicks()
	if err != nil {
		t.Fatal(err)
	}
	clicks = append([]domain.Click{}, clicks...)
	s.rnd.Shuffle(len(clicks), func(i, j int) { clicks[i], clicks[j] = clicks[j], clicks[i] })
	shippers := make([]shipper, 2*topic.Partitions)
	for i := range shippers {
		shippers[i] = shipper{engine: engine, partition: i % topic.Partitions, segment: queue.NewSegmentID()}
	}
	for len(clicks) > 0 {
		n := min(len(clicks), 1+s.rnd.IntN(500))
		var messages []queue.Message
		for _, c := range clicks[:n] {
			body, err := encoder.Append(nil, c)
			if err != nil {
				t.Fatal(err)
			}
			at := c.At
			if happened != nil {
				at = happened(c)
			}
			messages = append(messages, queue.Message{Type: event.ClickType, Time: at, Body: body})
		}
		shippers[s.rnd.IntN(len(shippers))].ship(t, messages, s.rnd.IntN(5) == 0)
		clicks = clicks[n:]
	}
}

// shipper carries one segment to the topic.
type shipper struct {
	engine    queue.LogEngine
	partition int
	segment   queue.SegmentID
	next      uint64
}

func (s *shipper) ship(t *testing.T, messages []queue.Message, again bool) {
	t.Helper()
	b := queue.Batch{Segment: s.segment, First: s.next, Messages: messages}
	if err := s.engine.Append(t.Context(), "clicks", s.partition, b); err != nil {
		t.Fatal(err)
	}
	s.next += uint64(len(messages))
	if !again {
		return
	}
	err := s.engine.Append(t.Context(), "clicks", s.partition, b)
	if e, ok := errors.AsType[*queue.SequenceError](err); !ok || e.Expected != s.next {
		t.Fatalf("a batch that was appended, again: %v, want to be told that %d is next", err, s.next)
	}
}
