package test

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"testing"

	"snip/internal/postgrestest"
)

// TestComposeRuns starts what compose.yaml starts, all at once, without Docker: the same
// commands with the same settings, but for addresses and directories.
func TestComposeRuns(t *testing.T) {
	c, database := readComposition(t), postgrestest.Start(t)
	var processes, webs []*process
	var addrs [2]string
	dirs := map[string]string{}
	for _, mode := range []string{"web", "worker"} {
		for i, name := range c.snips(mode) {
			dirs[name] = t.TempDir()
			p := launch(t, mode, dirs[name], c.environment(t, name, database)...)
			processes = append(processes, p)
			if mode == "web" {
				webs = append(webs, p)
				addrs[i] = p.awaitAddress("public")
			}
		}
	}
	var key string
	for _, p := range processes {
		p.awaitReady()
		if first, ok := p.log.find(func(e entry) bool { return e["key"] != nil }); ok {
			if key != "" {
				t.Error("there are two first admin keys")
			}
			key, _ = first["key"].(string)
		}
	}
	if key == "" {
		t.Fatal("nobody shows the first admin key")
	}
	f := &fleet{t: t, proxy: startCaddy(t, addrs), key: key}
	client := f.proxy.client("127.0.1.1", true)
	f.mustShorten(client, "compose", "https://example.com/")
	const clicks = 20
	for range clicks {
		if got := get(client, "compose"); got != redirected {
			t.Fatalf("a visitor got %s, want %s", got, redirected)
		}
	}
	for _, web := range webs {
		caughtUp(t, web)
	}
	r := f.proxy.ask(client, http.MethodGet, "/api/v1/links/compose/stats", http.Header{"Authorization": {"Bearer " + key}}, "")
	var got statsView
	if err := json.Unmarshal([]byte(r.body), &got); err != nil || got.Clicks != clicks {
		t.Errorf("%s, %v: %d clicks counted, want %d", r.Status, err, got.Clicks, clicks)
	}
	for _, p := range processes {
		p.stop()
	}
	// The volume of a web is for its spool, and nothing else has to outlive a container.
	for name, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() != "spool" || len(c.Services[name].Volumes) == 0 {
				t.Errorf("%s keeps %s", name, e.Name())
			}
		}
	}
}

// environment is that of a service, at addresses that are free here.
func (c composition) environment(t *testing.T, name, database string) (list []string) {
	t.Helper()
	env := map[string]string{}
	maps.Copy(env, readImage(t).env)
	maps.Copy(env, c.Services[name].Environment)
	delete(env, "SNIP_DATA_DIR")
	env["DATABASE_URL"] = database
	env["SNIP_BASE_URL"] = replaceAll(t, env["SNIP_BASE_URL"], map[string]string{"${SNIP_DOMAIN:?set it in .env}": site})
	env["SNIP_ADDR"], env["SNIP_METRICS_ADDR"] = freeAddr(t, websHost), freeAddr(t, websHost)
	if env["SNIP_TRUSTED_PROXIES"] != "" {
		env["SNIP_TRUSTED_PROXIES"] = "127.0.0.1"
	}
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	return list
}
