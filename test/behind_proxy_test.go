package test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// fleet is two webs and a proxy before them.
type fleet struct {
	t     *testing.T
	dir   string
	addrs [2]string
	webs  [2]*process
	proxy *proxy
	key   string
}

func newFleet(t *testing.T, startProxy func(*testing.T, [2]string) *proxy) *fleet {
	f := &fleet{t: t, dir: t.TempDir()}
	for i := range f.webs {
		f.addrs[i] = freeAddr(t, websHost)
		f.startWeb(i)
	}
	f.key = adminKey(t, f.dir)
	f.proxy = startProxy(t, f.addrs)
	return f
}

// startWeb starts one of the webs on its address. The first counts, too.
func (f *fleet) startWeb(i int) {
	f.t.Helper()
	f.webs[i] = start(f.t, []string{"", "web"}[i], f.dir,
		"SNIP_ADDR="+f.addrs[i], "SNIP_BASE_URL=https://"+site, "SNIP_TRUSTED_PROXIES=127.0.0.1", "SNIP_SESSION=1s")
}

func (f *fleet) shorten(client *http.Client, code, target string) reply {
	f.t.Helper()
	body, err := json.Marshal(map[string]string{"url": target, "code": code})
	if err != nil {
		f.t.Fatal(err)
	}
	return f.proxy.ask(client, http.MethodPost, "/shorten", http.Header{
		"Content-Type": {"application/json"}, "Authorization": {"Bearer " + f.key},
		"Origin": {"https://" + site}, "Sec-Fetch-Site": {"same-origin"},
	}, string(body))
}

func (f *fleet) mustShorten(client *http.Client, code, target string) {
	f.t.Helper()
	if r := f.shorten(client, code, target); r.StatusCode != http.StatusCreated {
		f.t.Fatalf("shorten %.80q: status %d: %.500s", target, r.StatusCode, r.body)
	}
}

func TestBehindNginx(t *testing.T) { testBehind(t, startNginx) }
func TestBehindCaddy(t *testing.T) { testBehind(t, startCaddy) }

func testBehind(t *testing.T, startProxy func(*testing.T, [2]string) *proxy) {
	f := newFleet(t, startProxy)
	f.targetsArrive()
	f.answersArrive()
	f.visitorsAreKnown()
	f.restartsTurnNobodyAway()
	f.allComeBack()
}

func (f *fleet) targetsArrive() {
	old, now := f.proxy.client("127.0.0.1", false), f.proxy.client("127.0.0.1", true)
	for i, target := range []string{
		"https://example.com/",
		"https://en.wikipedia.org/wiki/?2+2_(TV_channel)",
		"https://guides.apple.com/?ug=a%2BGA&&x=%20#frag?ment",
		"https://example.com/a//b/../c;d?url=https://snip.example/e",
		"http://snip/on-a-host-called-like-the-upstream",
		"http://localhost/a",
		"mailto:a@b.c?subject=T&body=x%0D%0Ay",
		"https://example.com/" + strings.Repeat("long", 16_000),
	} {
		code := fmt.Sprintf("target-%d", i)
		f.mustShorten(now, code, target)
		for _, client := range []*http.Client{old, now} {
			r := f.proxy.ask(client, http.MethodGet, "/"+code, nil, "")
			if got := r.Header["Location"]; r.StatusCode != http.StatusTemporaryRedirect || len(got) != 1 || got[0] != target {
				f.t.Errorf("%s answers %s, Location %.100q, want 307, %.100q", r.Proto, r.Status, got, target)
			}
			if got := r.Header.Get("Cache-Control"); got != "private, no-store" {
				f.t.Errorf("%s: Cache-Control %q", r.Proto, got)
			}
		}
	}
}

func (f *fleet) answersArrive() {
	for _, http2 := range []bool{false, true} {
		client := f.proxy.client("127.0.0.1", http2)
		code, target := fmt.Sprintf("answer-%v", http2), "https://example.com/answer"
		if r := f.shorten(client, code, target); r.StatusCode != http.StatusCreated || !strings.Contains(r.body, "https://"+site+"/"+code) {
			f.t.Errorf("POST /shorten: %s, %.500s; want 201 and the link", r.Status, r.body)
		}
		for _, want := range []struct {
			method, path, body, location, text string
			status                             int
		}{
			{method: "GET", path: "/" + code, status: 307, location: target},
			{method: "GET", path: "/" + code + "/", status: 307, location: target},
			{method: "HEAD", path: "/" + code, status: 307, location: target},
			{method: "OPTIONS", path: "/" + code, status: 204},
			{method: "GET", path: "/" + code + "+", status: 200, text: target},
			{method: "GET", path: "/" + code + "%2B", status: 200, text: target},
			{method: "GET", path: "/" + code + "?q=" + strings.Repeat("long", 15_000), status: 307, location: target},
			{method: "GET", path: "//" + code, status: 307, location: "/" + code}, // Snip's own way.
			{method: "GET", path: "/no-such-code", status: 404, text: `"not_found"`},
			{method: "GET", path: "/api/v1/links", status: 401, text: `"code":`},
			{method: "POST", path: "/shorten", body: strings.Repeat(" ", 1_500_000), status: 413, text: `"code":`},
		} {
			header := http.Header{}
			if want.body != "" {
				header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + f.key}}
			}
			r := f.proxy.ask(client, want.method, want.path, header, want.body)
			if r.StatusCode != want.status || r.Header.Get("Location") != want.location || !strings.Contains(r.body, want.text) {
				f.t.Errorf("%s %s %.30s: %s, Location %q, %.300s; want %d, %q, %q",
					r.Proto, want.method, want.path, r.Status, r.Header.Get("Location"), r.body, want.status, want.location, want.text)
			}
		}
		plain, err := client.Get("http://" + site + "/" + code + "?a=%2B")
		if http2 {
			continue // Not without TLS.
		}
		if err != nil {
			f.t.Fatal(err)
		}
		plain.Body.Close()
		if got, want := plain.Header.Get("Location"), "https://"+site+"/"+code+"?a=%2B"; got != want {
			f.t.Errorf("without TLS: %s, Location %q, want %q", plain.Status, got, want)
		}
	}
}

// visitorsAreKnown: whatever three visitors claim, they are three.
func (f *fleet) visitorsAreKnown() {
	f.mustShorten(f.proxy.client("127.0.0.1", true), "visitors", "https://example.com/visitors")
	clicks := int64(0)
	for _, http2 := range []bool{false, true} {
		for _, from := range []string{"127.0.1.1", "127.0.1.2", "127.0.1.3"} {
			client := f.proxy.client(from, http2)
			for forged := range 4 {
				header := http.Header{"User-Agent": {"Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"}}
				if forged&1 != 0 {
					header.Set("X-Forwarded-For", fmt.Sprintf("203.0.113.%d, 127.0.0.1", clicks))
				}
				if forged&2 != 0 {
					header.Set("Forwarded", fmt.Sprintf("for=198.51.100.%d", clicks))
				}
				f.proxy.ask(client, http.MethodGet, "/visitors", header, "")
				clicks++
			}
		}
	}
	for _, web := range f.webs {
		caughtUp(f.t, web)
	}
	r := f.proxy.ask(f.proxy.client("127.0.0.1", true), http.MethodGet, "/api/v1/links/visitors/stats",
		http.Header{"Authorization": {"Bearer " + f.key}}, "")
	var got statsView
	if err := json.Unmarshal([]byte(r.body), &got); err != nil {
		f.t.Fatalf("%s, %v: %.500s", r.Status, err, r.body)
	}
	if got.HumanClicks != clicks {
		f.t.Errorf("%d clicks of people, want %d", got.HumanClicks, clicks)
	}
	// At midnight they become others.
	seen := int64(0)
	for _, day := range got.Visitors {
		if seen += day.Visitors; day.Visitors > 3 {
			f.t.Errorf("3 visitors were taken for %d", day.Visitors)
		}
	}
	if seen < 3 {
		f.t.Errorf("3 visitors were taken for %d", seen)
	}
}

const redirected = "307 Temporary Redirect"

// get follows a link and returns the status, or the error.
func get(client *http.Client, code string) string {
	resp, err := client.Get("https://" + site + "/" + code)
	if err != nil {
		return err.Error()
	}
	resp.Body.Close()
	return resp.Status
}

// restartsTurnNobodyAway: each web stops and comes back at once, and then is killed.
func (f *fleet) restartsTurnNobodyAway() {
	redirects := f.visitDuring("stops", func(i int) { f.webs[i].stop() })
	if got := readStats(f.t, f.webs[0], f.key, "stops").Clicks; got != redirects {
		f.t.Errorf("%d clicks counted of %d redirects", got, redirects)
	}
	// What a kill cut off the proxy asked again.
	redirects = f.visitDuring("kills", func(i int) { f.webs[i].kill() })
	most := redirects + int64(len(f.webs)*visitors)
	if got := readStats(f.t, f.webs[0], f.key, "kills").Clicks; got < redirects || got > most {
		f.t.Errorf("%d clicks counted of %d redirects, want up to %d", got, redirects, most)
	}
}

// visitDuring ends one web after the other and starts it again, while visitors follow a
// link. It returns how often they were redirected, when all clicks are counted.
func (f *fleet) visitDuring(code string, end func(web int)) (redirects int64) {
	f.t.Helper()
	f.mustShorten(f.proxy.client("127.0.0.1", true), code, "https://example.com/")
	ctx, stop := context.WithCancel(f.t.Context())
	defer stop()
	var mu sync.Mutex // Protects answers.
	answers := map[string]int64{}
	var crowd sync.WaitGroup
	for i := range visitors {
		client := f.proxy.client("127.0.0.1", i%2 == 0)
		crowd.Go(func() {
			for ctx.Err() == nil {
				answer := get(client, code)
				mu.Lock()
				answers[answer]++
				mu.Unlock()
			}
		})
	}
	for i := range f.webs {
		end(i)
		f.startWeb(i)
	}
	stop()
	crowd.Wait()
	if redirects = answers[redirected]; len(answers) != 1 || redirects == 0 {
		f.t.Errorf("in the test of %s visitors got %v, want %s alone", code, answers, redirected)
	}
	for _, web := range f.webs {
		caughtUp(f.t, web)
	}
	return redirects
}

// allComeBack: as soon as there is a web again visitors are served, however long there
// was none.
func (f *fleet) allComeBack() {
	client := f.proxy.client("127.0.0.1", true)
	f.mustShorten(client, "back", "https://example.com/back")
	for i := range f.webs {
		f.webs[i].stop()
	}
	if f.proxy.waits {
		answer := make(chan string, 1)
		go func() { answer <- get(client, "back") }()
		f.startWeb(0)
		if got := <-answer; got != redirected {
			f.t.Errorf("who came while no web was there got %s, want %s", got, redirected)
		}
		f.startWeb(1)
	} else {
		for range 4 {
			if got := get(client, "back"); got != "502 Bad Gateway" {
				f.t.Errorf("with no web there a visitor got %s, want 502", got)
			}
		}
		f.startWeb(1)
		f.startWeb(0)
	}
	for range 10 {
		if got := get(client, "back"); got != redirected {
			f.t.Errorf("with all webs back a visitor got %s, want %s", got, redirected)
		}
	}
}
