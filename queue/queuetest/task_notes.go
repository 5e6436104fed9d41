package queuetest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"snip/queue"
)

// notes is a file in which a process writes down what it does. What was written outlives
// a kill.
type notes struct{ file *os.File }

func openNotes(path string) (*notes, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open notes: %w", err)
	}
	return &notes{f}, nil
}

func (n *notes) close() { _ = n.file.Close() } // Each write was checked.

// write writes whole lines at once.
func (n *notes) write(lines []byte) error {
	if _, err := n.file.Write(lines); err != nil {
		return fmt.Errorf("write notes: %w", err)
	}
	return nil
}

// noting is an engine that notes what it gives before anybody works with it, and what
// it is told before and after.
type noting struct {
	queue.TaskEngine
	notes *notes
}

// What a line says.
const (
	notePushed  = "pushed"  // ID
	noteLeased  = "leased"  // task, token, ID, failed, lost, released
	noteTried   = "tried"   // task, token, kind: the verdict is about to be given,
	noteSettled = "settled" // and was carried out,
	noteStale   = "stale"   // or was too late,
	noteUnknown = "unknown" // or nobody knows.
)

func (e noting) Push(ctx context.Context, name string, tasks []queue.Task) ([]queue.PushResult, error) {
	results, err := e.TaskEngine.Push(ctx, name, tasks)
	if err != nil {
		return nil, err
	}
	var lines []byte
	for _, r := range results {
		if r.Pushed {
			lines = fmt.Appendln(lines, notePushed, r.ID)
		}
	}
	return results, e.notes.write(lines)
}

func (e noting) Pull(ctx context.Context, name string, p queue.PullRequest) (queue.Pulled, error) {
	pulled, err := e.TaskEngine.Pull(ctx, name, p)
	if err != nil {
		return pulled, err
	}
	var lines []byte
	for _, l := range pulled.Tasks {
		lines = fmt.Appendln(lines, noteLeased, l.Lease.Task, l.Lease.Token, l.ID, l.Failed, l.Lost, l.Released)
	}
	return pulled, e.notes.write(lines)
}

func (e noting) Settle(ctx context.Context, name string, verdicts []queue.Verdict) ([]error, error) {
	note := func(word func(i int) string) error {
		var lines []byte
		for i, v := range verdicts {
			if v.Kind != queue.Extend {
				lines = fmt.Appendln(lines, word(i), v.Lease.Task, v.Lease.Token, v.Kind)
			}
		}
		return e.notes.write(lines)
	}
	if err := note(func(int) string { return noteTried }); err != nil {
		return nil, err
	}
	results, err := e.TaskEngine.Settle(ctx, name, verdicts)
	outcome := func(i int) string {
		switch {
		case err != nil:
			return noteUnknown
		case results[i] != nil:
			return noteStale
		}
		return noteSettled
	}
	return results, errors.Join(err, note(outcome))
}

// history is what all notes say.
type history struct {
	pushed map[string]bool
	leases map[string][]*leaseNote // By ID, in the order of leases.

	ends    map[string]int // Of tasks, by kind of verdict.
	lost    int
	unnoted int
}

// leaseNote is what was noted of one lease.
type leaseNote struct {
	failed, lost, released int
	kind                   string // Of its verdict; empty: there was none.
	outcome                string // The last word about it.
	unknown                bool
}

// before is how many leases the task had before. Each of them ended in one way.
func (l *leaseNote) before() int { return l.failed + l.lost + l.released }

// ends are the ways in which the lease may have ended.
func (l *leaseNote) ends() []string {
	const lost = "lost"
	switch {
	case l.kind == "":
		return []string{lost}
	case l.outcome == noteSettled:
		return []string{l.kind}
	case l.outcome == noteStale && !l.unknown:
		return []string{lost}
	}
	return []string{l.kind, lost}
}

// readNotes reads all notes in a folder.
func readNotes(t *testing.T, folder string) *history {
	t.Helper()
	h := &history{pushed: map[string]bool{}, leases: map[string][]*leaseNote{}, ends: map[string]int{}}
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatalf("read notes: %v", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			t.Fatalf("read notes: %v", err)
		}
		if err := h.read(text); err != nil {
			t.Fatalf("notes of process %s: %v", f.Name(), err)
		}
	}
	for _, all := range h.leases {
		slices.SortStableFunc(all, func(a, b *leaseNote) int { return a.before() - b.before() })
	}
	return h
}

// read reads the notes of one process.
func (h *history) read(text []byte) error {
	held := map[queue.Lease]*leaseNote{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var id, kind string
		var at queue.Lease
		word, rest, _ := strings.Cut(lines.Text(), " ")
		var err error
		switch word {
		case notePushed:
			_, err = fmt.Sscan(rest, &id)
			h.pushed[id] = true
		case noteLeased:
			l := &leaseNote{}
			_, err = fmt.Sscan(rest, &at.Task, &at.Token, &id, &l.failed, &l.lost, &l.released)
			held[at] = l
			h.leases[id] = append(h.leases[id], l)
		default:
			_, err = fmt.Sscan(rest, &at.Task, &at.Token, &kind)
			l := held[at]
			if l == nil {
				return fmt.Errorf("%s %s: there is no such lease", word, rest)
			}
			l.kind, l.outcome = kind, word
			l.unknown = l.unknown || word == noteUnknown
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", word, rest, err)
		}
	}
	return lines.Err()
}

// check holds against each other what was noted and what is left. A process that was
// killed has noted all but, at most, what its last pull gave it.
func (h *history) check(t *testing.T, dead []queue.DeadLetter, maxUnnoted int) {
	t.Helper()
	graves := map[string]queue.DeadLetter{}
	for _, d := range dead {
		if _, twice := graves[d.ID]; twice {
			t.Errorf("task %q died twice", d.ID)
		}
		graves[d.ID] = d
	}
	for id := range h.pushed {
		if len(h.leases[id]) == 0 {
			t.Errorf("task %q was pushed, and never came", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(h.leases)) {
		all := h.leases[id]
		h.checkOrder(t, id, all)
		last := all[len(all)-1]
		grave, isDead := graves[id]
		delete(graves, id)
		switch {
		case isDead && slices.Contains(last.ends(), queue.Bury.String()):
			if grave.Failed != last.failed+1 || grave.Lost != last.lost || grave.Released != last.released || grave.Error == "" {
				t.Errorf("task %q is dead, failed %d, lost %d, released %d times, of %q; under its last lease it was %+v",
					id, grave.Failed, grave.Lost, grave.Released, grave.Error, *last)
			}
		case !isDead && slices.Contains(last.ends(), queue.Done.String()):
		default:
			t.Errorf("task %q was last leased as %+v; that it is dead is %t, and it is not there", id, *last, isDead)
		}
		h.ends[last.kind]++
	}
	for id := range graves {
		t.Errorf("task %q is dead, and nobody had it", id)
	}
	if h.unnoted > maxUnnoted {
		t.Errorf("%d leases were not noted, which killed processes cannot have had: at most %d", h.unnoted, maxUnnoted)
	}
	if len(h.pushed) == 0 || h.ends[queue.Done.String()] == 0 {
		t.Errorf("nothing happened: %s", h)
	}
}

// checkOrder follows a task from lease to lease. Those that were not noted were lost.
func (h *history) checkOrder(t *testing.T, id string, all []*leaseNote) {
	t.Helper()
	h.unnoted += all[0].lost
	if all[0].failed+all[0].released > 0 {
		t.Errorf("task %q was first leased as %+v, and nobody gave a verdict before", id, *all[0])
	}
	for i, l := range all[1:] {
		before := all[i]
		gap := l.before() - before.before() - 1
		if gap < 0 {
			t.Errorf("task %q was under two leases at once: %+v and %+v", id, *before, *l)
			continue
		}
		h.unnoted += gap
		possible := false
		for _, end := range before.ends() {
			want := *before
			want.lost += gap
			switch end {
			case queue.Retry.String():
				want.failed++
			case queue.Release.String():
				want.released++
			case "lost":
				want.lost++
				h.lost++
			default:
				continue // It was the end.
			}
			possible = possible || l.failed == want.failed && l.lost == want.lost && l.released == want.released
		}
		if !possible {
			t.Errorf("task %q was leased as %+v, and then as %+v", id, *before, *l)
		}
	}
}

func (h *history) String() string {
	return fmt.Sprintf("%d tasks were pushed; their ends: %v; %d leases were lost, %d of them were not noted",
		len(h.pushed), h.ends, h.lost+h.unnoted, h.unnoted)
}
