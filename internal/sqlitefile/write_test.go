package sqlitefile_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"snip/internal/sqlitefile"
)

const patience = 20 * time.Second

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s in vain", what)
		}
	}
}

// write runs Write beside the test.
func write(ctx context.Context, f *sqlitefile.File, do func(context.Context, *sql.Tx) error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f.Write(ctx, do) }()
	return done
}

// hold keeps the writer in a write until release is called: what comes meanwhile
// waits.
func hold(t *testing.T, f *sqlitefile.File) (release func()) {
	t.Helper()
	begun, end := make(chan struct{}), make(chan struct{})
	done := write(t.Context(), f, func(context.Context, *sql.Tx) error {
		close(begun)
		<-end
		return nil
	})
	<-begun
	return func() {
		close(end)
		if err := <-done; err != nil {
			t.Errorf("the write that was held: %v", err)
		}
	}
}

// TestWritesCommitTogether: what came while the writer was busy shares one
// transaction, and so one sync of the disk.
func TestWritesCommitTogether(t *testing.T) {
	f := open(t, sqlitefile.Config{})
	release := hold(t, f)
	transactions := make(chan *sql.Tx, 50)
	var all []<-chan error
	for n := range 50 {
		all = append(all, write(t.Context(), f, func(ctx context.Context, tx *sql.Tx) error {
			transactions <- tx
			return insert(n)(ctx, tx)
		}))
	}
	waitFor(t, "50 writes", func() bool { return f.Waiting() == 50 })
	release()
	for _, done := range all {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	close(transactions)
	one := <-transactions
	for tx := range transactions {
		if tx != one {
			t.Fatal("the writes had more than one transaction")
		}
	}
	if got := len(numbers(t, f)); got != 50 {
		t.Errorf("%d of 50 writes are in the file", got)
	}
}

func TestWriteThatFailsHurtsNobody(t *testing.T) {
	f := open(t, sqlitefile.Config{})
	release := hold(t, f)
	refused := errors.New("refused")
	good := write(t.Context(), f, insert(1))
	waitFor(t, "the first write", func() bool { return f.Waiting() == 1 })
	bad := write(t.Context(), f, func(ctx context.Context, tx *sql.Tx) error {
		return errors.Join(insert(2)(ctx, tx), refused)
	})
	waitFor(t, "the second write", func() bool { return f.Waiting() == 2 })
	panics := write(t.Context(), f, func(ctx context.Context, tx *sql.Tx) error {
		if err := insert(3)(ctx, tx); err != nil {
			return err
		}
		panic("out of order")
	})
	waitFor(t, "the third write", func() bool { return f.Waiting() == 3 })
	last := write(t.Context(), f, insert(4))
	waitFor(t, "the last write", func() bool { return f.Waiting() == 4 })
	release()
	if err := errors.Join(<-good, <-last); err != nil {
		t.Errorf("a good write among bad ones: %v", err)
	}
	if err := <-bad; !errors.Is(err, refused) {
		t.Errorf("the bad write: %v, want %v", err, refused)
	}
	if err := <-panics; err == nil || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("the write that panicked: %v, want what it said", err)
	}
	wantNumbers(t, f, 1, 4)
}

// TestWriteThatFailsAlone is not in a group, which is a path of its own.
func TestWriteThatFailsAlone(t *testing.T) {
	f := open(t, sqlitefile.Config{})
	refused := errors.New("refused")
	err := f.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return errors.Join(insert(1)(ctx, tx), refused)
	})
	if !errors.Is(err, refused) {
		t.Errorf("Write() = %v, want %v", err, refused)
	}
	err = f.Write(t.Context(), func(context.Context, *sql.Tx) error { panic("out of order") })
	if err == nil || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("Write() that panics = %v, want what it said", err)
	}
	mustWrite(t, f, 2)
	wantNumbers(t, f, 2)
}

func TestWriteWithdrawn(t *testing.T) {
	f := open(t, sqlitefile.Config{})
	release := hold(t, f)
	ctx, cancel := context.WithCancel(t.Context())
	done := write(ctx, f, insert(1))
	waitFor(t, "a queued write", func() bool { return f.Waiting() == 1 })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Write() = %v, want %v", err, context.Canceled)
	}
	release()
	mustWrite(t, f, 2) // The writer has been past the one withdrawn.
	wantNumbers(t, f, 2)
}

// TestWriteOutlivesItsCaller: a transaction that was begun is everybody's.
func TestWriteOutlivesItsCaller(t *testing.T) {
	f := open(t, sqlitefile.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	end, ended := make(chan struct{}), make(chan error, 1)
	done := write(ctx, f, func(ctx context.Context, tx *sql.Tx) error {
		cancel()
		<-end
		err := insert(1)(ctx, tx)
		ended <- err
		return err
	})
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Write() = %v, want %v", err, context.Canceled)
	}
	close(end)
	if err := <-ended; err != nil {
		t.Errorf("the write after its caller has gone: %v", err)
	}
	mustWrite(t, f, 2)
	wantNumbers(t, f, 1, 2)
}

func TestWritesThatWaitAreBounded(t *testing.T) {
	f := open(t, sqlitefile.Config{Queue: 1})
	release := hold(t, f)
	first := write(t.Context(), f, insert(1))
	waitFor(t, "a queued write", func() bool { return f.Waiting() == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	second := write(ctx, f, insert(2))
	third := write(t.Context(), f, insert(3))
	select {
	case err := <-second:
		t.Errorf("a write beyond the bound ended: %v", err)
	case err := <-third:
		t.Errorf("a write beyond the bound ended: %v", err)
	default:
	}
	cancel()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Errorf("Write() = %v, want %v", err, context.Canceled)
	}
	release()
	if err := errors.Join(<-first, <-third); err != nil {
		t.Error(err)
	}
	wantNumbers(t, f, 1, 3)
}

// lock takes the file's lock as another process would.
func lock(t *testing.T, path string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		_, err := conn.ExecContext(context.WithoutCancel(t.Context()), "ROLLBACK")
		if err := errors.Join(err, conn.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestWriteWaitsForAnothersLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	f := open(t, sqlitefile.Config{Path: path})
	release := lock(t, path)
	done := write(t.Context(), f, insert(1))
	select {
	case err := <-done:
		t.Fatalf("Write() = %v while another has the lock", err)
	case <-time.After(time.Second):
	}
	wantNumbers(t, f) // Reading goes on.
	release()
	if err := <-done; err != nil {
		t.Errorf("Write() = %v", err)
	}
	wantNumbers(t, f, 1)
}

func TestWriteIsBusyInTheEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	f := open(t, sqlitefile.Config{Path: path, Busy: 10 * time.Millisecond})
	release := lock(t, path)
	if err := f.Write(t.Context(), insert(1)); !sqlitefile.IsBusy(err) {
		t.Errorf("Write() = %v, want one that IsBusy", err)
	}
	release()
	mustWrite(t, f, 2)
	wantNumbers(t, f, 2)
}

// TestFull limits the file's pages, for SQLite treats that as a full disk.
func TestFull(t *testing.T) {
	f := open(t, sqlitefile.Config{})
	pages := func(n int) {
		t.Helper()
		err := f.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			return tx.QueryRowContext(ctx, "PRAGMA max_page_count = "+map[int]string{0: "1000000", 1: "1"}[n]).Scan(&n)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	grow := func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE large AS SELECT zeroblob(1000000) AS b")
		return err
	}
	mustWrite(t, f, 1)
	pages(1) // Which means: no more than there are.
	if err := f.Write(t.Context(), grow); !sqlitefile.IsFull(err) {
		t.Errorf("Write() = %v, want one that IsFull", err)
	}

	release := hold(t, f)
	var all []<-chan error
	for i, do := range []func(context.Context, *sql.Tx) error{insert(2), grow, insert(3)} {
		all = append(all, write(t.Context(), f, do))
		waitFor(t, "a queued write", func() bool { return f.Waiting() == i+1 })
	}
	release()
	if err := <-all[1]; !sqlitefile.IsFull(err) {
		t.Errorf("Write() = %v, want one that IsFull", err)
	}
	want := []int{1}
	for i, n := range map[int]int{0: 2, 2: 3} {
		// SQLite may end the whole transaction. Whoever is told that a write is done
		// finds it, and whoever is not does not.
		if err := <-all[i]; err == nil {
			want = append(want, n)
		} else if !sqlitefile.IsFull(err) {
			t.Errorf("a sibling's error is %v, want nil or one that IsFull", err)
		}
	}
	slices.Sort(want)
	wantNumbers(t, f, want...)

	pages(0)
	if err := f.Write(t.Context(), grow); err != nil {
		t.Errorf("Write() = %v, when there is room again", err)
	}
	mustWrite(t, f, 4)
	wantNumbers(t, f, append(want, 4)...)
}
