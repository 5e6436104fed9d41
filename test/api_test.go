package test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// shorten asks for a link; no code means that one is made up.
func shorten(web *process, code string) (status int, got string, err error) {
	body, err := json.Marshal(map[string]string{"url": "https://example.com/" + code, "code": code})
	if err != nil {
		return 0, "", err
	}
	if code == "" {
		body = []byte(`{"url":"https://example.com/"}`)
	}
	resp, err := http.Post("http://"+web.public+"/shorten", "application/json", bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	var answer struct {
		Code string `json:"code"`
	}
	err = json.NewDecoder(resp.Body).Decode(&answer)
	return resp.StatusCode, answer.Code, err
}

// makeLinks makes links and returns their codes.
func makeLinks(t *testing.T, web *process, n int) []string {
	t.Helper()
	codes := make([]string, n)
	for i := range codes {
		codes[i] = fmt.Sprintf("link-%d", i)
		status, _, err := shorten(web, codes[i])
		if err != nil || status != http.StatusCreated {
			t.Fatalf("shorten %s: status %d, %v", codes[i], status, err)
		}
	}
	return codes
}

// mustRedirect follows a link once.
func mustRedirect(t *testing.T, vs *visits, web *process, code string) {
	t.Helper()
	v := &visitor{}
	defer v.close()
	one, err := vs.visit(v, web.public, code)
	if err != nil || one.outcome != answered {
		t.Fatalf("request %d for /%s of %s was not answered: %v", one.number, code, web, err)
	}
}

// adminKey makes a key, as an operator does on the host.
func adminKey(t *testing.T, dir string, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), snip, "key", "new", "--admin")
	cmd.Env = append(environ(dir), env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("snip key new --admin: %v", err)
	}
	return strings.TrimSpace(string(out))
}

type stats struct {
	Clicks      int64  `json:"clicks"`
	HumanClicks int64  `json:"human_clicks"`
	CountedUpTo string `json:"counted_up_to"`
	Dropped     int64  `json:"dropped"`
}

func readStats(t *testing.T, web *process, key, code string) (s stats) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+web.public+"/api/v1/links/"+code+"/stats", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("stats of %s: %s, %v", code, resp.Status, err)
	}
	return s
}

// readMetrics returns every series with its value. The name of a series has its labels.
func (p *process) readMetrics() map[string]float64 {
	p.t.Helper()
	p.mustRun()
	resp, err := http.Get("http://" + p.metrics + "/metrics")
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	series := map[string]float64{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		line := lines.Text()
		i := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || i < 0 {
			continue
		}
		value, err := strconv.ParseFloat(line[i+1:], 64)
		if err != nil {
			p.t.Fatalf("metrics of %s: %q: %v", p, line, err)
		}
		series[line[:i]] = value
	}
	if err := lines.Err(); err != nil {
		p.t.Fatal(err)
	}
	return series
}

// metric returns one series, which must be there.
func (p *process) metric(name string) float64 {
	p.t.Helper()
	value, ok := p.readMetrics()[name]
	if !ok {
		p.t.Fatalf("%s has no metric %s", p, name)
	}
	return value
}

// dropped returns what the process reports as dropped by its whole directory.
func (p *process) dropped() int64 { return int64(p.metric("snip_clicks_dropped_total")) }

// caughtUp waits until every click that was answered so far is counted, as seen by
// a web process. First the spool must be empty; what came out of it is in the topic.
func caughtUp(t *testing.T, web *process) {
	t.Helper()
	eventually(t, "the spool is empty", func() bool {
		return web.metric("snip_spool_oldest_seconds") == 0
	})
	eventually(t, "the count has caught up", func() bool {
		// Left out for as long as it cannot be measured.
		lag, ok := web.readMetrics()[`snip_group_lag_messages{group="count"}`]
		return ok && lag == 0
	})
}
