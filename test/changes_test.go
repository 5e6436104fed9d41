package test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// promptly is when a change must have been seen by every web.
const promptly = time.Second

// webs are processes that serve the same links.
type webs struct {
	t   *testing.T
	all []*process
	dir string // Of all; empty if each has its own.
	key string
}

// startWebs starts n webs that share a data directory.
func startWebs(t *testing.T, n int, env ...string) *webs {
	t.Helper()
	dir := t.TempDir()
	all := make([]*process, n)
	for i := range all {
		all[i] = launch(t, "web", dir, env...)
	}
	for _, p := range all {
		p.awaitReady()
	}
	return &webs{t, all, dir, firstKey(t, all...)}
}

// firstKey returns the key that one of the processes made when it started first.
func firstKey(t *testing.T, all ...*process) string {
	t.Helper()
	for _, p := range all {
		if e, ok := p.log.find(func(e entry) bool { return e["key"] != nil }); ok {
			key, _ := e["key"].(string)
			return key
		}
	}
	t.Fatal("no process logged the first key")
	return ""
}

// ask sends a request to the API and returns its answer, whose body is closed.
func (w *webs) ask(web *process, method, path, body string) *http.Response {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, "http://"+web.public+"/api/v1/links"+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	resp.Body.Close()
	return resp
}

func (w *webs) change(web *process, method, path, body string) {
	w.t.Helper()
	if resp := w.ask(web, method, path, body); resp.StatusCode >= 300 {
		w.t.Fatalf("%s %s %s: %s", method, path, body, resp.Status)
	}
}

// sight is what a web answers to a code: the status, and where it leads.
type sight struct {
	code   string
	status int
	target string
}

func (s sight) isSeen(v *visitor, web *process) (bool, error) {
	resp, err := v.get(web.public, "/"+s.code)
	if err != nil {
		return false, err
	}
	return resp.StatusCode == s.status && resp.Header.Get("Location") == s.target, nil
}

// awaitAll waits until each web has all these sights, and returns how long the last one
// took.
func (w *webs) awaitAll(limit time.Duration, what string, sights ...sight) time.Duration {
	w.t.Helper()
	began := time.Now()
	took := make([]time.Duration, len(w.all))
	var tasks sync.WaitGroup
	for i, web := range w.all {
		tasks.Go(func() {
			v := &visitor{}
			defer v.close()
			poll := time.NewTicker(10 * time.Millisecond)
			defer poll.Stop()
			for _, s := range sights {
				for {
					seen, err := s.isSeen(v, web)
					if err != nil {
						w.t.Errorf("%s: GET /%s of %s: %v", what, s.code, web, err)
						return
					}
					if seen {
						break
					}
					if time.Since(began) > limit {
						w.t.Errorf("%s: not seen by %s within %s", what, web, limit)
						return
					}
					<-poll.C
				}
			}
			took[i] = time.Since(began)
		})
	}
	tasks.Wait()
	return slices.Max(took)
}

// Row L28: five webs have seen a code, as a link or as unknown. What one of them does to
// it is seen by all at once, long before they would have asked for it again.
func TestChangesAreSeenByEveryWeb(t *testing.T) {
	t.Run("files", func(t *testing.T) { changesAreSeen(t, startWebs(t, 5)) })
	t.Run("PostgreSQL", func(t *testing.T) {
		slow(t)
		c := newCluster(t, 5, 0)
		changesAreSeen(t, &webs{t: t, all: c.webs, key: firstKey(t, c.webs...)})
	})
}

func changesAreSeen(t *testing.T, w *webs) {
	const rounds = 20
	target := func(i int) string { return fmt.Sprintf("https://example.com/%d", i) }
	slowest := map[string]time.Duration{}
	for i := range rounds {
		code, other := fmt.Sprintf("code-%d", i), fmt.Sprintf("other-%d", i)
		step := func(what, method, path, body string, want ...sight) {
			t.Helper()
			w.change(w.all[i%len(w.all)], method, path, body)
			slowest[what] = max(slowest[what], w.awaitAll(promptly, what, want...))
		}
		unknown, there := sight{code, http.StatusNotFound, ""}, sight{code, http.StatusTemporaryRedirect, target(i)}
		w.awaitAll(promptly, "unknown", unknown, sight{other, http.StatusNotFound, ""})
		step("creation", http.MethodPost, "", fmt.Sprintf(`{"code":%q,"url":%q}`, code, target(i)), there)
		there.target = target(-i - 1)
		step("edit", http.MethodPatch, "/"+code, fmt.Sprintf(`{"url":%q}`, there.target), there)
		step("expiry", http.MethodPatch, "/"+code, `{"expires_at":"2020-01-01T00:00:00Z"}`, sight{code, http.StatusGone, ""})
		step("no expiry", http.MethodPatch, "/"+code, `{"expires_at":null}`, there)
		step("change of the code", http.MethodPatch, "/"+code, fmt.Sprintf(`{"code":%q}`, other), unknown, sight{other, http.StatusTemporaryRedirect, there.target})
		step("deletion", http.MethodDelete, "/"+other, "", sight{other, http.StatusNotFound, ""})
	}
	for what, took := range slowest {
		t.Logf("%-20s seen by all %d webs within %s, the slowest of %d", what, len(w.all), took.Round(time.Millisecond), rounds)
	}
}

// A web is killed the moment it has answered: the others see its change long before they
// would have asked again.
func TestKilledWebsChangesAreSeen(t *testing.T) {
	w, rnd := startWebs(t, 2), random(t)
	const limit = 20 * time.Second // Of the 60 for which a link is served.
	for i := range kills(t) {
		doomed := start(t, "web", w.dir)
		code, target := fmt.Sprintf("code-%d", i), "https://example.com/before"
		w.change(doomed, http.MethodPost, "", fmt.Sprintf(`{"code":%q,"url":%q}`, code, target))
		w.awaitAll(limit, "creation", sight{code, http.StatusTemporaryRedirect, target})
		unlock, life := func() {}, time.Duration(rnd.Int64N(int64(30*time.Millisecond)))*time.Duration(i%2)
		if i%3 == 2 {
			// It takes the lease and cannot send: what it began is for others to end.
			unlock, life = lockDatabase(t, filepath.Join(w.dir, "log.db"), false), 100*time.Millisecond
		}
		target = "https://example.com/after"
		w.change(doomed, http.MethodPatch, "/"+code, fmt.Sprintf(`{"url":%q}`, target))
		pass(t, life)
		doomed.kill()
		unlock()
		took := w.awaitAll(limit, "edit", sight{code, http.StatusTemporaryRedirect, target})
		t.Logf("seen %s after the kill", took.Round(time.Millisecond))
	}
}

// The topic cannot be written and the outbox fills: then changes are refused, nothing of
// them is kept, and redirects go on.
func TestFullOutboxRefusesChanges(t *testing.T) {
	w := startWebs(t, 2, "SNIP_OUTBOX_ROWS=6") // Each change takes a row of each topic.
	web := w.all[0]
	create := func(code string) *http.Response {
		t.Helper()
		return w.ask(web, http.MethodPost, "", fmt.Sprintf(`{"code":%q,"url":"https://example.com/"}`, code))
	}
	there := func(code string) sight { return sight{code, http.StatusTemporaryRedirect, "https://example.com/"} }
	if resp := create("first"); resp.StatusCode != http.StatusCreated {
		t.Fatalf("first: %s", resp.Status)
	}
	w.awaitAll(promptly, "first", there("first"))
	eventually(t, "the outbox is empty", func() bool {
		return web.metric(`snip_outbox_rows{topic="links"}`) == 0 && web.metric(`snip_outbox_rows{topic="audit"}`) == 0
	})

	unlock := lockDatabase(t, filepath.Join(w.dir, "log.db"), false)
	for i := range 3 {
		if resp := create(fmt.Sprint("kept-", i)); resp.StatusCode != http.StatusCreated {
			t.Fatalf("kept-%d: %s", i, resp.Status)
		}
	}
	for method, path := range map[string]string{http.MethodPost: "", http.MethodPatch: "/first", http.MethodDelete: "/first"} {
		resp := w.ask(web, method, path, map[string]string{
			http.MethodPost: `{"code":"refused","url":"https://example.com/"}`, http.MethodPatch: `{"url":"https://example.com/changed"}`,
		}[method])
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
			t.Errorf("%s with a full outbox: %s, Retry-After %q, want 503 and a time", method, resp.Status, resp.Header.Get("Retry-After"))
		}
	}
	w.awaitAll(promptly, "with a full outbox", there("first"), there("kept-2"), sight{"refused", http.StatusNotFound, ""})
	for _, topic := range []string{"links", "audit"} {
		if rows := web.metric(fmt.Sprintf("snip_outbox_rows{topic=%q}", topic)); rows != 3 {
			t.Errorf("snip_outbox_rows of topic %s = %v, want 3", topic, rows)
		}
	}
	unlock()
	eventually(t, "changes are taken again", func() bool { return create("refused").StatusCode == http.StatusCreated })
	w.awaitAll(patience, "after it", there("refused"), there("kept-0"))
}
