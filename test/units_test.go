package test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnits(t *testing.T) {
	analyze, dir := tool(t, "systemd-analyze"), t.TempDir()
	for name, mode := range map[string]string{"snip.service": "", "snip-web@.service": "web", "snip-worker@.service": "worker"} {
		text := readRoot(t, filepath.Join("deploy", name))
		if got := strings.TrimSpace(setting(t, text, "ExecStart")); strings.TrimSpace(strings.TrimPrefix(got, "/usr/local/bin/snip")) != mode {
			t.Errorf("%s starts %q, want snip %s", name, got, mode)
		}
		mustOutlastStop(t, name, setting(t, text, "TimeoutStopSec"), "")
		environment := map[string]string{}
		for s := range strings.FieldsSeq(setting(t, text, "Environment")) {
			name, value, _ := strings.Cut(s, "=")
			environment[name] = value
		}
		mustBeSettings(t, name, environment)
		// What it writes lies in the directory that systemd makes for it.
		if got, want := environment["SNIP_DATA_DIR"], "%S/"+setting(t, text, "StateDirectory"); got != want {
			t.Errorf("%s keeps its data in %s, and may write to %s", name, got, want)
		}

		path := filepath.Join(dir, name)
		write(t, path, replaceAll(t, text, map[string]string{"/usr/local/bin/snip": snip}))
		// It warns of what it does not know, and exits with 0.
		out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", path).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("systemd-analyze verify %s: %v\n%s", name, err, out)
		}
		// 1.5 of 10, where 10 is a service that restricts nothing.
		out, err = exec.CommandContext(t.Context(), analyze, "security", "--no-pager", "--offline=true", "--threshold=15", path).CombinedOutput()
		if err != nil {
			t.Errorf("%s is exposed: %v\n%s", name, err, out)
		}
	}
}

// setting returns what a unit says once.
func setting(t *testing.T, unit, name string) string {
	t.Helper()
	var found []string
	for line := range strings.Lines(unit) {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			found = append(found, strings.TrimSpace(value))
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s is set %d times, want once", name, len(found))
	}
	return found[0]
}
