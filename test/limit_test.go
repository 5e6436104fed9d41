package test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
)

// Rows L17 and L18: of 50 that come at once, to three webs, as many are let through as the
// limit says, and whoever only looks takes nothing from them.
func TestClickLimitIsExact(t *testing.T) {
	t.Run("files", func(t *testing.T) {
		w := startWebs(t, 3)
		start(t, "worker", w.dir)
		clickLimitIsExact(t, w)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		slow(t)
		c := newCluster(t, 3, 1)
		clickLimitIsExact(t, &webs{t: t, all: c.webs, key: firstKey(t, c.webs...)})
	})
}

func clickLimitIsExact(t *testing.T, w *webs) {
	for _, limit := range []int{1, 20} {
		code := fmt.Sprintf("limit-%d", limit)
		w.change(w.all[0], http.MethodPost, "", fmt.Sprintf(`{"code":%q,"url":"https://example.com/","click_limit":%d}`, code, limit))
		w.change(w.all[0], http.MethodPost, "", fmt.Sprintf(`{"code":"other-%d","url":"https://example.com/"}`, limit))

		looked := w.look(code, http.StatusTemporaryRedirect)
		let := w.crowdIn(code, 50)
		if let != limit {
			t.Errorf("/%s let %d of 50 through, want %d", code, let, limit)
		}
		w.look(code, http.StatusGone)
		if n := w.crowdIn(fmt.Sprintf("other-%d", limit), 50); n != 50 {
			t.Errorf("a link without a limit let %d of 50 through", n)
		}

		for _, web := range w.all {
			caughtUp(t, web)
		}
		if got := readStats(t, w.all[1], w.key, code); got.Clicks != int64(looked+let) {
			t.Errorf("/%s has %d clicks, want the %d redirects that were answered", code, got.Clicks, looked+let)
		}
		if used := w.limitUsed(code); used != limit {
			t.Errorf("%d redirects of /%s are used up, want %d", used, code, limit)
		}
	}
}

// look lets programs come that only look, to each web, and returns how many redirects
// were answered that count as clicks of some class.
func (w *webs) look(code string, want int) (redirects int) {
	w.t.Helper()
	for _, web := range w.all {
		for agent, header := range map[string]http.Header{
			"WhatsApp/2.23.20.0":            {},
			"TelegramBot (like TwitterBot)": {},
			"facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)": {},
			"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)":  {},
			person: {"Sec-Purpose": {"prefetch"}},
		} {
			for range 3 {
				if status := w.follow(web, http.MethodGet, code, agent, header); status != want {
					w.t.Errorf("GET /%s of %s by %s: %d, want %d", code, web, agent, status, want)
				}
				if want == http.StatusTemporaryRedirect {
					redirects++
				}
			}
		}
		if status := w.follow(web, http.MethodHead, code, person, nil); status != want {
			w.t.Errorf("HEAD /%s of %s: %d, want %d", code, web, status, want)
		}
	}
	return redirects
}

// person is the user agent of somebody who uses a limit up.
const person = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"

// crowdIn lets n people come at once, and returns how many of them were led on. All others
// must be told that the link is gone.
func (w *webs) crowdIn(code string, n int) (let int) {
	w.t.Helper()
	statuses := make([]int, n)
	var people sync.WaitGroup
	for i := range statuses {
		people.Go(func() { statuses[i] = w.follow(w.all[i%len(w.all)], http.MethodGet, code, person, nil) })
	}
	people.Wait()
	for _, status := range statuses {
		switch status {
		case http.StatusTemporaryRedirect:
			let++
		case http.StatusGone:
		default:
			w.t.Errorf("GET /%s: %d, want 307 or 410", code, status)
		}
	}
	return let
}

// follow returns the status that a visitor gets, or 0.
func (w *webs) follow(web *process, method, code, agent string, header http.Header) int {
	req, err := http.NewRequestWithContext(w.t.Context(), method, "http://"+web.public+"/"+code, nil)
	if err != nil {
		w.t.Error(err)
		return 0
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", agent)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		w.t.Errorf("%s /%s of %s: %v", method, code, web, err)
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

func (w *webs) limitUsed(code string) int {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, "http://"+w.all[2].public+"/api/v1/links/"+code, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	var link struct {
		LimitUsed int `json:"limit_used"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&link); err != nil {
		w.t.Fatal(err)
	}
	return link.LimitUsed
}
