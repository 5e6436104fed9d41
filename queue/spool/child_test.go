package spool_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"snip/queue/spool"
)

// childEnv makes the test binary a process that uses the spool in the directory it
// names: it records until it is killed, and prints how each record ended.
const childEnv = "SPOOL_TEST_DIR"

func child() {
	cfg := config(os.Getenv(childEnv))
	cfg.MaxBytes = 1 << 20
	s, err := spool.Open(cfg)
	if err != nil {
		fmt.Println("failed", err)
		os.Exit(1)
	}
	for i := 0; ; i++ {
		payload := fmt.Sprintf("%d-%d", os.Getpid(), i)
		if err := s.Record(time.Now(), []byte(payload)); err != nil {
			fmt.Println("dropped", payload)
			continue
		}
		fmt.Println("kept", payload)
	}
}

// runChild starts a child, kills it once it printed n lines that start with a word,
// and returns the payloads it kept and how many it dropped. Of a last record that
// it did not come to print, nothing is known.
func runChild(t *testing.T, dir, word string, n int) (kept []string, dropped int64) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // Killed: what is left of the pipe was read.
		}
		state, payload, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch state {
		case "kept":
			kept = append(kept, payload)
		case "dropped":
			dropped++
		default:
			t.Errorf("child: %s", line)
		}
		if state == word {
			if n--; n == 0 {
				if err := cmd.Process.Kill(); err != nil {
					t.Error(err)
				}
			}
		}
	}
	_ = cmd.Wait() // It was killed.
	if n > 0 {
		t.Fatalf("the child ended by itself")
	}
	return kept, dropped
}

func TestKilledProcessLosesNothing(t *testing.T) {
	dir := t.TempDir()
	e := newEngine()
	var kept []string
	for round := range 5 {
		k, dropped := runChild(t, dir, "kept", 500*(round+1))
		if dropped > 0 {
			t.Logf("round %d: %d records were dropped while segments were made", round, dropped)
		}
		kept = append(kept, k...)
	}
	s := open(t, config(dir))
	stop := ship(t, s, e)
	eventually(t, "all segments are sent", func() bool { return s.Stats().Unsent == 0 })
	stop()
	got, lost := e.bodies()
	if lost > 0 {
		t.Errorf("%d records were lost", lost)
	}
	for _, payload := range kept {
		if got[payload] != 1 {
			t.Errorf("%s was kept and is in the log %d times", payload, got[payload])
		}
	}
	// Of each process one record may have been kept without a word.
	if extra := len(got) - len(kept); extra < 0 || extra > 5 {
		t.Errorf("the log has %d messages, %d were kept", len(got), len(kept))
	}
}
