package main

import (
	"bytes"
	"strings"
	"testing"

	"snip/internal/postgrestest"
)

// TestLocalOnServer works on the database that DATABASE_URL names, with no server of
// Snip's and no key.
func TestLocalOnServer(t *testing.T) {
	environ := []string{"DATABASE_URL=" + postgrestest.Start(t), "SNIP_DATA_DIR=" + t.TempDir(), "SNIP_BASE_URL=https://snip.example"}
	snip := func(wantCode int, args ...string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), append(args, "--local"), environ, &stdout, &stderr); code != wantCode {
			t.Fatalf("snip %s: exit code %d, want %d\n%s", strings.Join(args, " "), code, wantCode, &stderr)
		}
		return stdout.String()
	}
	for _, step := range []struct {
		args string
		code int
		want string
	}{
		{"shorten https://example.com/spring --code spring --tag news --title Blossoms", 0, "https://snip.example/spring"},
		{"domain add go.example --ignore-case", 0, "go.example"},
		{"shorten https://example.com/other --code Spring --domain go.example", 0, "https://go.example/Spring"},
		{"links --search bloss", 0, "spring"},
		{"edit spring --new-code bloom --keep-code", 0, "https://snip.example/bloom"},
		{"link spring", 0, "https://snip.example/bloom"},
		{"stats bloom", 0, "clicks"},
		{"archive bloom", 0, ""},
		{"rm bloom --yes", 0, ""},
		{"link bloom", 3, ""},
	} {
		if got := snip(step.code, strings.Fields(step.args)...); !strings.Contains(got, step.want) {
			t.Errorf("snip %s: printed %q, want %q in it", step.args, got, step.want)
		}
	}
}
