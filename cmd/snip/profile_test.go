package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProfileChoosesServerAndKey: what is said goes before the environment, and that
// before a profile; a profile's key goes to its server only.
func TestProfileChoosesServerAndKey(t *testing.T) {
	home := t.TempDir()
	environ := []string{"XDG_CONFIG_HOME=" + home}
	saved := profiles{InUse: "work", Profiles: map[string]profile{
		"work": {Server: "https://work.example", Key: "snip_work", TimeZone: "Europe/Berlin"}, "home": {Server: "http://home.example"},
	}}
	if err := saved.write(environ); err != nil {
		t.Fatal(err)
	}
	keyFile := filepath.Join(home, "key")
	if err := os.WriteFile(keyFile, []byte("snip_file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name        string
		w           whereabouts
		environ     []string
		server, key string
	}{
		{"in use", whereabouts{}, nil, "https://work.example", "snip_work"},
		{"named", whereabouts{profile: "home"}, nil, "http://home.example", ""},
		{"environment", whereabouts{}, []string{"SNIP_SERVER=http://env.example"}, "http://env.example", ""},
		{"environment with key", whereabouts{}, []string{"SNIP_SERVER=http://env.example", "SNIP_KEY=snip_env"}, "http://env.example", "snip_env"},
		{"key of the environment alone", whereabouts{}, []string{"SNIP_KEY= snip_env "}, "https://work.example", "snip_env"},
		{"flag", whereabouts{server: "http://flag.example"}, []string{"SNIP_SERVER=http://env.example"}, "http://flag.example", ""},
		{"profile before the environment", whereabouts{profile: "work"}, []string{"SNIP_SERVER=http://env.example", "SNIP_KEY=snip_env"}, "https://work.example", "snip_work"},
		{"file", whereabouts{keyFile: keyFile}, []string{"SNIP_KEY=snip_env"}, "https://work.example", "snip_file"},
	} {
		c.w.environ = append(environ[:1:1], c.environ...)
		got, err := c.w.target(nil)
		if err != nil || got.server != c.server || got.key != c.key {
			t.Errorf("%s: %q with %q, %v, want %q with %q", c.name, got.server, got.key, err, c.server, c.key)
		}
	}
	none := whereabouts{environ: []string{"HOME=/nowhere"}}
	if got, err := none.target(nil); err != nil || got.server != defaultServer || got.key != "" {
		t.Errorf("without anything: %+v, %v", got, err)
	}
	for name, w := range map[string]whereabouts{
		"none such": {environ: environ, profile: "play"}, "two": {environ: environ, profile: "home", server: "http://a.example"},
		"no file": {environ: environ, keyFile: filepath.Join(home, "none")},
	} {
		if got, err := w.target(nil); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestProfilesOfOthers: a file that others can read is refused, with the mend.
func TestProfilesOfOthers(t *testing.T) {
	home := t.TempDir()
	environ := []string{"HOME=" + home}
	if err := (profiles{Profiles: map[string]profile{"work": {Server: "http://work.example", Key: "snip_secret"}}}).write(environ); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(home, ".config", "snip", "profiles.json")
	for path, want := range map[string]os.FileMode{name: 0o600, filepath.Dir(name): 0o700 | os.ModeDir} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: mode %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{"profile", "ls"}, environ, &stdout, &stderr)
		if code != 1 || !strings.Contains(stderr.String(), "hint: chmod 600 "+name) || strings.Contains(stdout.String()+stderr.String(), "secret") {
			t.Errorf("mode %v: exit code %d, %q", mode, code, &stderr)
		}
	}
	if err := os.Chmod(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(`{"profiles": {"work": {"key": "snip_secret"`), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"links"}, environ, &stdout, &stderr); code != 1 || !strings.Contains(stderr.String(), "is damaged") || strings.Contains(stderr.String(), "secret") {
		t.Errorf("a damaged file: exit code %d, %q", code, &stderr)
	}
}
