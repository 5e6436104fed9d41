package test

import (
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestKilledSingleProcessCountsExactly(t *testing.T) {
	dir, rnd, vs := t.TempDir(), random(t), &visits{}
	// Small segments, so that kills also hit the change from one to the next.
	env := []string{"SNIP_SPOOL_SEGMENT_BYTES=512kB", "SNIP_SPOOL_BYTES=64MB"}
	p := start(t, "", dir, env...)
	crowd := gather(t, vs, rnd, makeLinks(t, p, 20), p)
	for range kills(t) {
		crowd.awaitAnswers(50)
		pass(t, anyMoment(rnd))
		p.kill()
		p = start(t, "", dir, env...)
		crowd.sendTo(p)
	}
	crowd.leaveAfter(50)
	caughtUp(t, p)
	p.stop()
	mustBalance(t, dir, vs, 0)
}

func anyMoment(rnd *rand.Rand) time.Duration {
	return time.Duration(rnd.Int64N(int64(1500 * time.Millisecond)))
}

// Killed web processes leave segments. Two that start together share them out.
func TestKilledLeftSegmentsAreAdopted(t *testing.T) {
	dir, rnd, vs := t.TempDir(), random(t), &visits{}
	leaveSegments(t, dir, rnd, vs, 3)
	first, second := launch(t, "web", dir), launch(t, "web", dir)
	worker := launch(t, "worker", dir)
	for _, p := range []*process{first, second, worker} {
		p.awaitReady()
	}
	caughtUp(t, first)
	for _, p := range []*process{first, second, worker} {
		p.stop()
	}
	vs.mustAllBeAnswered(t, 0)
	mustBalance(t, dir, vs, 0)
}

// leaveSegments lets n web processes take requests and kills them all while the
// topic cannot be written, so that their segments stay.
func leaveSegments(t *testing.T, dir string, rnd *rand.Rand, vs *visits, n int) (codes []string) {
	t.Helper()
	webs := make([]*process, n)
	for i := range webs {
		webs[i] = start(t, "web", dir)
	}
	codes = makeLinks(t, webs[0], 5)
	unlock := lockDatabase(t, filepath.Join(dir, "log.db"), false)
	crowd := gather(t, vs, rnd, codes, webs...)
	crowd.leaveAfter(500)
	for _, web := range webs {
		web.kill()
	}
	unlock()
	if left := segments(t, dir); len(left) < n {
		t.Fatalf("%d segments were left by %d processes", len(left), n)
	}
	return codes
}

// segments returns the paths of the segments in a data directory's spool.
func segments(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "spool", "*.seg"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestKilledAndCopiedDirectoriesCountTheirOwn(t *testing.T) {
	slow(t)
	dir, rnd, vs := t.TempDir(), random(t), &visits{}
	web, worker := start(t, "web", dir), start(t, "worker", dir)
	codes := makeLinks(t, web, 5)
	crowd := gather(t, vs, rnd, codes, web)
	crowd.awaitAnswers(500)
	web.kill()
	worker.kill()
	crowd.stop()

	twin := filepath.Join(t.TempDir(), "twin")
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", dir, twin).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v\n%s", err, out)
	}
	twinVisits := vs.copy()
	first, second := start(t, "", dir), start(t, "", twin)
	a, b := gather(t, vs, rnd, codes, first), gather(t, twinVisits, rnd, codes, second)
	a.awaitAnswers(500)
	b.awaitAnswers(500)
	a.stop()
	b.stop()
	for _, p := range []*process{first, second} {
		caughtUp(t, p)
		p.stop()
	}
	mustBalance(t, dir, vs, 0)
	mustBalance(t, twin, twinVisits, 0)
}
