package test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"testing"
	"time"

	domain "snip"
	"snip/event"
	"snip/queue"
	"snip/queue/engine/postgres"
	"snip/queue/engine/sqlite"
	"snip/worker"
)

// instance is a snip with links, whose clicks come from a generator.
type instance struct {
	t        *testing.T
	dir      string
	database string // Of a server; empty for a file in dir.
	web      *process
	key      string
	rnd      *rand.Rand
	sums
}

// newInstance makes links on a data directory of its own. Its process has ended: resume
// starts the next.
func newInstance(t *testing.T, codes ...string) *instance {
	t.Helper()
	links := map[string]placed{}
	for _, code := range codes {
		links[code] = placed{}
	}
	return newInstanceOn(t, "", links)
}

// newInstanceOn is newInstance for links with domains and tags, on a database.
func newInstanceOn(t *testing.T, database string, links map[string]placed) *instance {
	t.Helper()
	s := &instance{t: t, dir: t.TempDir(), database: database, rnd: random(t), sums: sums{links: map[string]int64{}, places: links}}
	s.key = adminKey(t, s.dir, s.env()...)
	s.web = start(t, "", s.dir, s.env()...)
	there := map[string]bool{"": true}
	for _, code := range slices.Sorted(maps.Keys(links)) {
		at := links[code]
		if !there[at.domain] {
			s.post("/api/v1/domains", map[string]any{"host": at.domain}, nil)
			there[at.domain] = true
		}
		var made linkView
		s.post("/api/v1/links", map[string]any{
			"url": "https://example.com/" + code, "code": code, "domain": at.domain, "tags": append([]string{}, at.tags...),
		}, &made)
		s.links[code] = made.ID
	}
	s.web.stop()
	return s
}

// env is what the program is told beside its directory.
func (s *instance) env() []string {
	env := []string{"SNIP_FINE_DAYS=0"} // Nothing is too old to be told exactly.
	if s.database != "" {
		env = append(env, "DATABASE_URL="+s.database)
	}
	return env
}

// post asks the API to make something.
func (s *instance) post(path string, what, made any) {
	s.t.Helper()
	body, err := json.Marshal(what)
	if err != nil {
		s.t.Fatal(err)
	}
	status, answer := s.send(http.MethodPost, path, nil, body)
	if status != http.StatusCreated {
		s.t.Fatalf("POST %s %s: status %d: %s", path, body, status, answer)
	}
	if made == nil {
		return
	}
	if err := json.Unmarshal(answer, made); err != nil {
		s.t.Fatalf("POST %s: %v\n%s", path, err, answer)
	}
}

// linkView is a link as the API answers it.
type linkView struct {
	ID   int64  `json:"id"`
	Code string `json:"code"`
	tally
}

func (s *instance) link(code string) (l linkView) {
	s.t.Helper()
	s.get("/api/v1/links/"+code, url.Values{"domain": {s.places[code].domain}}, &l)
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
	return s.send(method, path, query, nil)
}

// send sends JSON.
func (s *instance) send(method, path string, query url.Values, sent []byte) (status int, body []byte) {
	s.t.Helper()
	target := url.URL{Scheme: "http", Host: s.web.public, Path: path, RawQuery: query.Encode()}
	req, err := http.NewRequestWithContext(s.t.Context(), method, target.String(), bytes.NewReader(sent))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	if sent != nil {
		req.Header.Set("Content-Type", "application/json")
	}
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
	s.web = start(s.t, "", s.dir, s.env()...)
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
	engine, end := s.openLog()
	defer func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	}()
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

// openLog opens the log that the program keeps topics in.
func (s *instance) openLog() (engine queue.LogEngine, end func() error) {
	s.t.Helper()
	if s.database != "" {
		engine, err := postgres.Open(s.t.Context(), postgres.Config{URL: s.database})
		if err != nil {
			s.t.Fatal(err)
		}
		return engine, engine.Close
	}
	file, err := sqlite.Open(s.t.Context(), sqlite.Config{Path: filepath.Join(s.dir, "log.db")})
	if err != nil {
		s.t.Fatal(err)
	}
	return file, file.Close
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
