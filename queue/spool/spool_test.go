package spool_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"snip/queue"
	"snip/queue/spool"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		child()
		return
	}
	goleak.VerifyTestMain(m)
}

const patience = 20 * time.Second

// eventually polls until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %s still not: %s", patience, what)
		}
	}
}

// config is that of a small spool which forces nothing to the disk.
func config(dir string) spool.Config {
	return spool.Config{Dir: dir, Topic: "clicks", SegmentBytes: 64 << 10, MaxRecord: 4 << 10, Sync: -1}
}

func open(t *testing.T, cfg spool.Config) *spool.Spool {
	t.Helper()
	if testing.Verbose() {
		cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	s, err := spool.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return s
}

func closeSpool(t *testing.T, s *spool.Spool) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("Close() = %v", err)
	}
}

func plain(r spool.Record) queue.Message {
	return queue.Message{Type: "click", Time: r.At, Body: r.Payload}
}

// ship ships in the background. The function it returns ends that as a program
// does, and waits; so does the test's end.
func ship(t *testing.T, s *spool.Spool, e queue.LogEngine) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Ship(ctx, e, plain) }()
	stop = sync.OnceFunc(func() {
		s.CloseIntake()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Ship() = %v", err)
		}
	})
	t.Cleanup(func() { closeSpool(t, s); stop() })
	return stop
}

// record records what must be kept. While a next segment is made it waits, and the
// drops which that costs are returned.
func record(t *testing.T, s *spool.Spool, payload string) (drops int64) {
	t.Helper()
	eventually(t, "a record is kept", func() bool {
		err := s.Record(time.Now(), []byte(payload))
		if err != nil && !errors.Is(err, queue.ErrFull) {
			t.Fatalf("Record() = %v", err)
		}
		if err != nil {
			drops++
		}
		return err == nil
	})
	return drops
}

// recordMany records n numbered payloads and returns them.
func recordMany(t *testing.T, s *spool.Spool, prefix string, n int) (payloads []string, drops int64) {
	t.Helper()
	for i := range n {
		payloads = append(payloads, fmt.Sprintf("%s-%d", prefix, i))
		drops += record(t, s, payloads[i])
	}
	return payloads, drops
}

func segmentFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.seg"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestConfigErrorsNameTheField(t *testing.T) {
	for field, change := range map[string]func(*spool.Config){
		"Dir":          func(c *spool.Config) { c.Dir = "" },
		"Topic":        func(c *spool.Config) { c.Topic = "Clicks" },
		"Partitions":   func(c *spool.Config) { c.Partitions = -1 },
		"MaxRecord":    func(c *spool.Config) { c.MaxRecord = -1 },
		"SegmentBytes": func(c *spool.Config) { c.SegmentBytes = 8000 },
		"MaxBytes":     func(c *spool.Config) { c.MaxBytes = 100 << 10 },
		"Drain":        func(c *spool.Config) { c.Drain = -1 },
	} {
		cfg := config(t.TempDir())
		change(&cfg)
		if _, err := spool.Open(cfg); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("Open() with a wrong %s = %v, want an error that names it", field, err)
		}
	}
}

func TestOrderAndBytes(t *testing.T) {
	cfg := config(t.TempDir())
	cfg.Partitions = 3
	s, e := open(t, cfg), newEngine()
	stop := ship(t, s, e)

	type sent struct {
		at   time.Time
		body []byte
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var want []sent
	for i := range 400 {
		body := make([]byte, min(i, 1)*rng.IntN(4<<10+1))
		for j := range body {
			body[j] = byte(rng.Uint32())
		}
		at := time.Unix(rng.Int64N(1<<33), rng.Int64N(1e9))
		if i == 1 {
			at = time.Time{}
		}
		for errors.Is(s.Record(at, body), queue.ErrFull) {
			time.Sleep(time.Millisecond) // The next segment is being made.
		}
		want = append(want, sent{at, body})
	}
	stop()

	// Segments were written one after the other: their first messages order them.
	got := 0
	for len(want) > 0 {
		before := len(want)
		for id, messages := range e.copy() {
			if len(messages) == 0 || !bytes.Equal(messages[0].Body, want[0].body) {
				continue
			}
			for _, m := range messages {
				if !bytes.Equal(m.Body, want[0].body) || !m.Time.Equal(want[0].at) || m.Time.IsZero() != want[0].at.IsZero() {
					t.Fatalf("message %d of segment %s is not what was recorded in its place", got, id)
				}
				want, got = want[1:], got+1
			}
			break
		}
		if len(want) == before {
			t.Fatalf("no segment goes on after message %d", got)
		}
	}
	partitions := map[int]bool{}
	for _, p := range e.parts {
		partitions[p] = true
	}
	if len(partitions) != 3 {
		t.Errorf("segments went to %d partitions, want to all 3", len(partitions))
	}
	if files := segmentFiles(t, cfg.Dir); len(files) > 0 {
		t.Errorf("%d segments are left after everything was sent", len(files))
	}
}

func TestConcurrentRecordersWhileShipping(t *testing.T) {
	cfg := config(t.TempDir())
	cfg.Sync = time.Millisecond
	s, e := open(t, cfg), newEngine()
	stop := ship(t, s, e)
	var want []string
	var mu sync.Mutex
	var recorders sync.WaitGroup
	for i := range 8 {
		recorders.Go(func() {
			payloads, _ := recordMany(t, s, fmt.Sprint(i), 2000)
			mu.Lock()
			defer mu.Unlock()
			want = append(want, payloads...)
		})
	}
	recorders.Wait()
	stop()
	e.checkOnce(t, want)
}

func TestRecordIsShippedPromptly(t *testing.T) {
	s, e := open(t, config(t.TempDir())), newEngine()
	ship(t, s, e)
	for i := range 3 {
		record(t, s, fmt.Sprint(i))
		eventually(t, "the message is in the log and noted as sent", func() bool {
			got, _ := e.bodies()
			return len(got) == i+1 && s.Stats().Unsent == 0
		})
	}
}

func TestDropsAreCountedOnce(t *testing.T) {
	cfg := config(t.TempDir())
	s := open(t, cfg)
	if err := s.Record(time.Now(), make([]byte, cfg.MaxRecord+1)); err == nil {
		t.Error("Record() took a payload larger than MaxRecord")
	}
	s.CloseIntake()
	if err := s.Record(time.Now(), nil); !errors.Is(err, queue.ErrClosed) {
		t.Errorf("Record() after CloseIntake = %v, want ErrClosed", err)
	}
	closeSpool(t, s)
	if err := s.Record(time.Now(), nil); !errors.Is(err, queue.ErrClosed) {
		t.Errorf("Record() after Close = %v, want ErrClosed", err)
	}
	if got := open(t, cfg).Stats().Dropped; got != 3 {
		t.Errorf("Dropped = %d after another start, want 3", got)
	}
}

func TestStopSendsWhatIsLeft(t *testing.T) {
	s, e := open(t, config(t.TempDir())), newEngine()
	want, _ := recordMany(t, s, "m", 10)
	s.CloseIntake()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Ship(ended, e, plain); err != nil {
		t.Fatalf("Ship() = %v", err)
	}
	e.checkOnce(t, want)
}

func TestDrainHasALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config(t.TempDir())
		cfg.Drain = 3 * time.Second
		s, e := open(t, cfg), newEngine()
		e.on(func(queue.Batch) error { return errOutage }, nil)
		want, _ := recordMany(t, s, "m", 10)
		s.CloseIntake()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		if err := s.Ship(ended, e, plain); err != nil {
			t.Fatalf("Ship() = %v", err)
		}
		if took := time.Since(began); took < cfg.Drain || took > cfg.Drain+100*time.Millisecond {
			t.Errorf("Ship() went on for %s, want %s", took, cfg.Drain)
		}
		closeSpool(t, s)

		e.on(nil, nil)
		s = open(t, cfg)
		stop := ship(t, s, e)
		time.Sleep(time.Second)
		stop()
		e.checkOnce(t, want)
	})
}

func TestStatsSeeOtherProcesses(t *testing.T) {
	cfg := config(t.TempDir())
	first, second := open(t, cfg), open(t, cfg)
	oldest := time.Unix(1_700_000_000, 5)
	for i := range 3 {
		if err := first.Record(oldest.Add(time.Duration(i)*time.Second), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	st := second.Stats()
	if st.Unsent != 3 || !st.Oldest.Equal(oldest) {
		t.Errorf("Stats() = %d unsent, oldest %v, want 3 and %v", st.Unsent, st.Oldest, oldest)
	}
	if st.Bytes != int64(st.Segments)*cfg.SegmentBytes || st.MaxBytes != 256<<20 {
		t.Errorf("Stats() = %d of %d bytes in %d segments", st.Bytes, st.MaxBytes, st.Segments)
	}
	e := newEngine()
	ship(t, first, e)
	eventually(t, "nothing is unsent", func() bool {
		st := second.Stats()
		return st.Unsent == 0 && st.Oldest.IsZero()
	})
}

func TestShipRefusesASecond(t *testing.T) {
	s, e := open(t, config(t.TempDir())), newEngine()
	stop := ship(t, s, e)
	record(t, s, "x")
	eventually(t, "Ship runs", func() bool { return s.Stats().Unsent == 0 })
	if err := s.Ship(t.Context(), e, plain); err == nil {
		t.Error("a second Ship() was not refused")
	}
	stop()
	closeSpool(t, s)
	if err := s.Ship(t.Context(), e, plain); !errors.Is(err, queue.ErrClosed) {
		t.Errorf("Ship() after Close = %v, want ErrClosed", err)
	}
}
