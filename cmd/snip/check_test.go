package main

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"snip"
	"snip/problem"
	"snip/wire"
)

// checked runs snip check on a data directory, with further variables, and returns what
// it found, by check. The exit code must fit to it.
func checked(t *testing.T, dir string, environ ...string) map[string]finding {
	t.Helper()
	environ = append([]string{"SNIP_DATA_DIR=" + dir, "SNIP_ADDR=127.0.0.1:0", "SNIP_METRICS_ADDR=127.0.0.1:0", "HOME=" + dir}, environ...)
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"check", "--json"}, environ, &stdout, &stderr)
	found := map[string]finding{}
	faults := 0
	for line := range strings.Lines(stdout.String()) {
		var s setting
		var f finding
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if s.Name != "" {
			continue
		}
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if (f.State == fine) != (f.Mend == "") {
			t.Errorf("%+v: what is not ok has a mend, and nothing else", f)
		}
		if f.State == wrong {
			faults++
		}
		found[f.Check] = f
	}
	if want := min(faults, 1); code != want {
		t.Errorf("exit code %d with %d faults: %s", code, faults, &stderr)
	}
	return found
}

// wantFinding checks the state of one finding, and what is told of it.
func wantFinding(t *testing.T, found map[string]finding, check, state, message string) {
	t.Helper()
	if f := found[check]; f.State != state || !strings.Contains(f.Message, message) {
		t.Errorf("%s is %s: %q, want %s: %q", check, f.State, f.Message, state, message)
	}
}

// TestCheckOfNothing: where nothing was started yet nothing is wrong, and nothing is made.
func TestCheckOfNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there")
	found := checked(t, dir)
	for name, f := range found {
		if f.State != fine {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if len(found) != 13 {
		t.Errorf("%d checks", len(found))
	}
	wantFinding(t, found, "data directory", fine, "Snip makes it")
	if _, err := os.Stat(filepath.Dir(dir)); err == nil {
		t.Error("the check made directories")
	}
}

func TestCheckDataDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantFinding(t, checked(t, file), "data directory", wrong, "is not a directory")
	wantFinding(t, checked(t, filepath.Join(file, "below")), "data directory", wrong, "not a directory")
	// Nobody can make files there, whoever it is.
	wantFinding(t, checked(t, "/proc/sys"), "data directory", wrong, "cannot be written")
	wantFinding(t, checked(t, "/proc/sys/none"), "data directory", wrong, "cannot be made")
	dir := t.TempDir()
	wantFinding(t, checked(t, dir), "data directory", fine, "can be written")
	wantFinding(t, checked(t, dir, "SNIP_SPOOL_BYTES=100000TB"), "data directory", warning, "less than the spool may take")
	wantFinding(t, checked(t, dir, "SNIP_SPOOL_SEGMENT_BYTES=100000TB"), "data directory", wrong, "clicks cannot be kept")
}

func TestCheckSpool(t *testing.T) {
	dir := t.TempDir()
	spool := filepath.Join(dir, "spool")
	if err := os.WriteFile(spool, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantFinding(t, checked(t, dir), "spool", wrong, "not a directory")
	if err := os.Remove(spool); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(spool, "aside"), 0o700); err != nil {
		t.Fatal(err)
	}
	wantFinding(t, checked(t, dir), "spool", fine, "0 bytes of 256.0 MB are used")
	if err := os.WriteFile(filepath.Join(spool, "a.seg"), make([]byte, 600), 0o600); err != nil {
		t.Fatal(err)
	}
	wantFinding(t, checked(t, dir, "SNIP_SPOOL_BYTES=1kB"), "spool", warning, "600 bytes of 1.0 kB are used")
	wantFinding(t, checked(t, dir, "SNIP_SPOOL_BYTES=601"), "spool", wrong, "about to be dropped")
	if err := os.WriteFile(filepath.Join(spool, "aside", "b.seg"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantFinding(t, checked(t, dir), "spool", warning, "1 files were set aside")
}

// fake answers what a Snip does, at both of its addresses.
func fake(t *testing.T, key snip.Key) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/keys/current", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer snip_right" {
			_ = json.NewEncoder(w).Encode(wire.KeyOf(key))
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
		_ = json.NewEncoder(w).Encode(problem.Of(&snip.Error{Code: snip.Unauthorized, Message: "This needs a key."}))
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"status": "ready"}`)) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func TestCheckAddresses(t *testing.T) {
	dir, snips := t.TempDir(), fake(t, snip.Key{})
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	taken := other.Listener.Addr().String()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent.Close()

	found := checked(t, dir)
	wantFinding(t, found, "address", fine, "is free")
	wantFinding(t, found, "metrics", fine, "is free")
	found = checked(t, dir, "SNIP_ADDR="+snips, "SNIP_METRICS_ADDR="+snips)
	wantFinding(t, found, "address", fine, answers)
	wantFinding(t, found, "metrics", fine, answers)
	found = checked(t, dir, "SNIP_ADDR="+taken, "SNIP_METRICS_ADDR="+taken)
	wantFinding(t, found, "address", wrong, "is taken by another program")
	wantFinding(t, found, "metrics", wrong, "is taken by another program")
	found = checked(t, dir, "SNIP_ADDR=192.0.2.1:8080", "SNIP_METRICS_ADDR=nobody.invalid:1")
	wantFinding(t, found, "address", wrong, "cannot be used")
	wantFinding(t, found, "metrics", wrong, "cannot be used")

	wantFinding(t, checked(t, dir), "base URL", fine, "none is set")
	wantFinding(t, checked(t, dir, "SNIP_ADDR=0.0.0.0:0"), "base URL", warning, "others can reach")
	wantFinding(t, checked(t, dir, "SNIP_BASE_URL=http://"+snips), "base URL", fine, answers)
	wantFinding(t, checked(t, dir, "SNIP_BASE_URL=http://"+silent.Addr().String()), "base URL", warning, "none runs at")
	wantFinding(t, checked(t, dir, "SNIP_ADDR="+snips, "SNIP_BASE_URL=http://"+taken), "base URL", wrong, "does not lead to a Snip")
	wantFinding(t, checked(t, dir, "SNIP_BASE_URL=https://nobody.invalid"), "base URL", wrong, "has no address")
}

func TestCheckProxies(t *testing.T) {
	dir := t.TempDir()
	wantFinding(t, checked(t, dir, "SNIP_TRUSTED_PROXIES=10.0.0.0/8,nonsense"), "proxies", wrong, `"nonsense"`)
	wantFinding(t, checked(t, dir, "SNIP_TRUSTED_PROXIES=10.0.0.0/8,::1"), "proxies", fine, "2 are trusted")
	wantFinding(t, checked(t, dir), "proxies", fine, "nobody")
	wantFinding(t, checked(t, dir, "SNIP_BASE_URL=http://127.0.0.1:1"), "proxies", warning, "all visitors would have its address")
}

func TestCheckServer(t *testing.T) {
	dir := t.TempDir()
	address := "SNIP_SERVER=http://" + fake(t, snip.Key{Label: "laptop", Scopes: []snip.Scope{snip.ScopeRead, snip.ScopeWrite}, OwnLinks: true})
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	wantFinding(t, checked(t, dir, address, "SNIP_KEY=snip_right"), "server", fine, `takes the key "laptop": it may read,write, of links its own`)
	wantFinding(t, checked(t, dir, address, "SNIP_KEY=snip_wrong"), "server", wrong, "does not take the key")
	wantFinding(t, checked(t, dir, address), "server", warning, "without a key")
	wantFinding(t, checked(t, dir, "SNIP_SERVER=http://127.0.0.1:1"), "server", wrong, "cannot be reached")
	wantFinding(t, checked(t, dir, "SNIP_SERVER=gopher"), "server", wrong, "must be a URL")
	wantFinding(t, checked(t, dir, "SNIP_SERVER="+other.URL, "SNIP_KEY=snip_right"), "server", wrong, "404")
	saved := profiles{InUse: "none", Profiles: map[string]profile{}}
	if err := saved.write([]string{"HOME=" + dir}); err != nil {
		t.Fatal(err)
	}
	wantFinding(t, checked(t, dir), "server", wrong, "there is no profile")
	if err := os.Chmod(profilesFile([]string{"HOME=" + dir}), 0o644); err != nil {
		t.Fatal(err)
	}
	wantFinding(t, checked(t, dir), "server", wrong, "others can get at it")
}

// TestCheckConfiguration: what cannot be read is told, with all that was said.
func TestCheckConfiguration(t *testing.T) {
	for _, variable := range []string{"SNIP_TIME_ZONE=Mars/Olympus", "SNIP_SPOOL_BYTES=much", "REDIS_URL=redis://x", "SNIP_ADDR=8080", "SNIP_CONNECTIONS=1"} {
		found := checked(t, t.TempDir(), variable)
		name, _, _ := strings.Cut(variable, "=")
		wantFinding(t, found, "configuration", wrong, name)
		if len(found) != 2 {
			t.Errorf("%s: found %v", variable, found)
		}
	}
	wantFinding(t, checked(t, t.TempDir(), "SNIP_TIME_ZONE=Asia/Kathmandu"), "time zone", fine, "Asia/Kathmandu")
}

// TestCheckTellsNoSecrets, in whatever variable and way they are written.
func TestCheckTellsNoSecrets(t *testing.T) {
	dir := t.TempDir()
	if err := (profiles{InUse: "p", Profiles: map[string]profile{"p": {Server: "http://127.0.0.1:1", Key: "snip_s3cret"}}}).write([]string{"HOME=" + dir}); err != nil {
		t.Fatal(err)
	}
	for _, environ := range [][]string{
		{"DATABASE_URL=postgres://ada:s3cret@127.0.0.1:1/snip"},
		{"DATABASE_URL=postgres://ada:s3cret%40x@127.0.0.1:1/snip?sslpassword=s3cret"},
		{"DATABASE_URL=postgres://127.0.0.1:1/snip?user=ada&password=s3cret"},
		{"DATABASE_URL=host=127.0.0.1 password=s3cret"},
		{"DATABASE_URL=postgres://ada:s3cret@host:port/snip"},
		{"DATABASE_URL=mysql://ada:s3cret@host/snip"},
		{"REDIS_URL=redis://:s3cret@host"},
		{"SNIP_BASE_URL=https://ada:s3cret@snip.example"},
		{"SNIP_SERVER=http://ada:s3cret@127.0.0.1:1"},
		{"SNIP_SERVER=ada:s3cret@127.0.0.1:1"},
		{"SNIP_KEY=snip_s3cret", "SNIP_SERVER=http://127.0.0.1:1"},
		{"SNIP_KEY=snip_s3cret"},
		{},
	} {
		environ := append([]string{"SNIP_DATA_DIR=" + dir, "HOME=" + dir, "SNIP_ADDR=127.0.0.1:0", "SNIP_METRICS_ADDR=127.0.0.1:0"}, environ...)
		for _, args := range [][]string{{"check"}, {"check", "--json"}, {"profile", "ls"}, {"profile", "ls", "--json"}, {"links"}} {
			var out bytes.Buffer
			run(t.Context(), args, environ, &out, &out)
			if i := strings.Index(out.String(), "s3cret"); i >= 0 {
				t.Errorf("%q with %q: …%s", args, environ[4:], out.String()[max(0, i-60):i+6])
			}
		}
	}
}

// TestCheckShowsSettings: all variables, those that were not set as defaults.
func TestCheckShowsSettings(t *testing.T) {
	c := &checker{environ: []string{"SNIP_DRAIN=3s", "DATABASE_URL=postgres://ada:pw@db.example/snip?sslmode=require&password=pw"}}
	var err error
	if c.cfg, err = readConfig(c.environ, parts{web: true}); err != nil {
		t.Fatal(err)
	}
	all := c.settings()
	for _, want := range []setting{
		{"SNIP_DRAIN", "3s", false}, {"SNIP_SESSION", "5s", true}, {"SNIP_METRICS_ADDR", "127.0.0.1:8081", true}, {"SNIP_CONNECTIONS", "10", true},
		{"SNIP_OPEN_SHORTEN", "true", true}, {"DATABASE_URL", "postgres://ada:xxxxx@db.example/snip?password=xxxxx&sslmode=require", false}, {"SNIP_KEY", "", true},
	} {
		if !slices.Contains(all, want) {
			t.Errorf("%+v is not among %+v", want, all)
		}
	}
}
