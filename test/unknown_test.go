package test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

type unknownView struct {
	Hits  int64            `json:"hits"`
	Codes []unknownHitView `json:"codes"`
	More  int64            `json:"more"`
	Other int64            `json:"other"`
}

type unknownHitView struct {
	Code string `json:"code"`
	Hits int64  `json:"hits"`
}

// readUnknown reads the report of unknown codes of the last 30 days.
func readUnknown(t *testing.T, web *process, key, query string) (u unknownView) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+web.public+"/api/v1/stats/unknown-codes"+query, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&u); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("report of unknown codes: %s, %v", resp.Status, err)
	}
	return u
}

// mustMiss asks for a path n times and gets 404.
func mustMiss(t *testing.T, web *process, path string, n int) {
	t.Helper()
	v := &visitor{}
	defer v.close()
	for range n {
		resp, err := v.get(web.public, path)
		if err != nil || resp.StatusCode != http.StatusNotFound {
			t.Errorf("GET %s: %v, %v; want 404", path, resp, err)
			return
		}
	}
}

// What was asked for in the last seconds before a stop is in the report after it,
// and nothing else is.
func TestUnknownCodesAreReportedAfterAStop(t *testing.T) {
	dir, vs := t.TempDir(), &visits{}
	p := start(t, "", dir)
	key, code := adminKey(t, dir), makeLinks(t, p, 1)[0]
	mustMiss(t, p, "/none", 3)
	mustMiss(t, p, "/none/?who=me", 2)
	mustMiss(t, p, "/None", 4)
	mustMiss(t, p, "/other", 1)
	mustMiss(t, p, "/none+", 1)     // A preview,
	mustMiss(t, p, "/none.html", 1) // what is no code,
	resp, err := http.Head("http://" + p.public + "/none")
	if err != nil || resp.StatusCode != http.StatusNotFound { // and what is no GET.
		t.Fatalf("HEAD /none: %v, %v; want 404", resp, err)
	}
	resp.Body.Close()
	for range 2 {
		mustRedirect(t, vs, p, code)
	}
	p.stop()

	p = start(t, "", dir)
	want := unknownView{Hits: 10, Codes: []unknownHitView{{"none", 5}, {"None", 4}, {"other", 1}}}
	if got := readUnknown(t, p, key, ""); !reflect.DeepEqual(got, want) {
		t.Errorf("report after a stop = %+v, want %+v", got, want)
	}
	first := unknownView{Hits: 10, Codes: want.Codes[:1], More: 5}
	if got := readUnknown(t, p, key, "?limit=1&zone=Asia/Kathmandu"); !reflect.DeepEqual(got, first) {
		t.Errorf("the first of the report = %+v, want %+v", got, first)
	}
	caughtUp(t, p)
	if s := readStats(t, p, key, code); s.Clicks != 2 {
		t.Errorf("%d clicks of the link, want 2", s.Clicks)
	}
}

func TestUnknownCodesAreReportedWhileTheServerRuns(t *testing.T) {
	slow(t)
	t.Parallel() // It only waits.
	dir := t.TempDir()
	p := start(t, "web", dir)
	key := adminKey(t, dir)
	mustMiss(t, p, "/none", 3)
	eventually(t, "the report is written", func() bool { return readUnknown(t, p, key, "").Hits == 3 })
}

// Two web processes on one directory write one report, and a flood of codes leaves
// the sum right.
func TestUnknownCodesOfTwoWebProcessesAddUp(t *testing.T) {
	dir := t.TempDir()
	webs := []*process{start(t, "web", dir), start(t, "web", dir)}
	began := time.Now()
	const codes, visitors = 700, 4 // Together more than are kept apart.
	for _, web := range webs {
		mustMiss(t, web, "/same", 1) // It gets a place before the flood.
	}
	var wg sync.WaitGroup
	for w, web := range webs {
		for i := range visitors {
			wg.Go(func() {
				for k := i; k < codes; k += visitors {
					mustMiss(t, web, fmt.Sprintf("/flood-%d-%d", w, k), 1)
				}
				mustMiss(t, web, "/same", 49)
			})
		}
	}
	wg.Wait()
	for _, web := range webs {
		web.terminate()
	}
	for _, web := range webs {
		web.awaitEnd()
		if lost := web.log.grep("unknown codes are lost"); len(lost) > 0 {
			t.Errorf("%s", strings.Join(lost, "\n"))
		}
	}
	p := start(t, "web", dir)
	got := readUnknown(t, p, adminKey(t, dir), "?limit=1000")
	const same, all = 2 * (1 + visitors*49), 2*codes + 2*(1+visitors*49)
	sum := got.More + got.Other
	for _, c := range got.Codes {
		sum += c.Hits
	}
	if got.Hits != all || sum != all || got.Codes[0] != (unknownHitView{"same", same}) {
		t.Errorf("%d hits, and %d when added up, of them %+v; want %d, and %d of same", got.Hits, sum, got.Codes[0], all, same)
	}
	// Of the 1000 codes that one day keeps apart one is no part of the flood.
	const others = 2*codes - 999
	oneDay := began.UTC().YearDay() == time.Now().UTC().YearDay()
	if got.Other != others && (oneDay || got.Other > others) {
		t.Errorf("%d hits are of codes that are not kept apart, want %d", got.Other, others)
	}
}
