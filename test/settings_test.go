package test

import (
	"regexp"
	"testing"
	"time"
)

// settings are the variables of the environment that snip reads, with their defaults.
func settings(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, tag := range regexp.MustCompile("`env:\"(\\w+)\"(?: envDefault:\"(.*?)\")?").FindAllStringSubmatch(readRoot(t, "cmd/snip/config.go"), -1) {
		found[tag[1]] = tag[2]
	}
	if len(found) < 10 {
		t.Fatalf("cmd/snip/config.go seems to read no more than %v", found)
	}
	return found
}

// mustBeSettings fails the test if snip does not know what it is given.
func mustBeSettings(t *testing.T, where string, environment map[string]string) {
	t.Helper()
	known := settings(t)
	for name := range environment {
		if _, ok := known[name]; !ok {
			t.Errorf("%s sets %s, which snip does not read", where, name)
		}
	}
}

// mustOutlastStop fails the test unless a limit is longer than a stop may take: three
// steps of SNIP_DRAIN each, and 5 s for a file that is locked.
func mustOutlastStop(t *testing.T, where, limit, drain string) {
	t.Helper()
	given, err := time.ParseDuration(limit)
	if err != nil {
		t.Errorf("%s gives a stop %q: %v", where, limit, err)
	}
	if drain == "" {
		drain = settings(t)["SNIP_DRAIN"]
	}
	step, err := time.ParseDuration(drain)
	if err != nil {
		t.Errorf("%s sets SNIP_DRAIN to %q: %v", where, drain, err)
	}
	if needed := 3*step + 5*time.Second; given <= needed {
		t.Errorf("%s gives a stop %s, it may take %s", where, given, needed)
	}
}
