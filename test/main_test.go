package test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// snip is the path of the program, which TestMain builds.
var snip string

func TestMain(m *testing.M) {
	if os.Getenv(lockEnv) != "" {
		os.Exit(lockInChild())
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "snip-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	snip = filepath.Join(dir, "snip")
	build := exec.Command("go", "build", "-o", snip, "snip/cmd/snip")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "go build snip/cmd/snip:", err)
		return 1
	}
	return m.Run()
}

// patience is how long a test waits for what must happen. Nothing is measured by
// it: it is what a very slow machine may need.
const patience = 60 * time.Second

// eventually polls until cond holds, and fails the test if it never does.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for limit := time.Now().Add(patience); !cond(); {
		if time.Now().After(limit) {
			t.Fatalf("still not after %s: %s", patience, what)
		}
		<-poll.C
	}
}

// pass lets time go by while something runs beside the test.
func pass(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}

// random returns the test's source of random choices, which its seed repeats.
func random(t *testing.T) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(seed(t), 0))
}

func seed(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if s := os.Getenv("SNIP_TEST_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("SNIP_TEST_SEED: %v", err)
		}
	}
	t.Logf("SNIP_TEST_SEED=%d", seed)
	return seed
}

// kills says how often a test kills.
func kills(t *testing.T) int {
	t.Helper()
	s := os.Getenv("SNIP_TORTURE")
	if s == "" {
		return 3
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("SNIP_TORTURE=%q must be a number of kills", s)
	}
	return n
}

// slow marks a test that go test -short leaves out.
func slow(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long: left out with -short")
	}
}

// lacks skips a test whose machine lacks something, and fails it where CI=true.
func lacks(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("CANNOT RUN: %s", what)
	}
	t.Skipf("SKIPPED, NOTHING WAS TESTED: %s", what)
}
