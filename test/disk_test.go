package test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// smallDisk mounts a file system of a few megabytes and returns its directory.
func smallDisk(t *testing.T, megabytes int) string {
	t.Helper()
	if os.Getuid() != 0 {
		lacks(t, "to mount a small file system one must be root")
	}
	// Servers that run as somebody else must get there too, so not below t.TempDir.
	dir, err := os.MkdirTemp("/tmp", "snip-disk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("snip-test", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", megabytes)); err != nil {
		lacks(t, "a small file system cannot be mounted: "+err.Error())
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

// fill takes all the space that is left, and returns what gives it back.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 64<<10)
	for {
		_, err := f.Write(block)
		if errors.Is(err, syscall.ENOSPC) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		t.Helper()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestKilledOnFullDiskDropsAreExact(t *testing.T) {
	root := smallDisk(t, 32)
	dir, rnd, vs := filepath.Join(root, "data"), random(t), &visits{}
	env := []string{"SNIP_SPOOL_SEGMENT_BYTES=128kB", "SNIP_SPOOL_BYTES=4MB"}
	p := start(t, "", dir, env...)
	codes := makeLinks(t, p, 5)
	key := adminKey(t, dir)
	gather(t, vs, rnd, codes, p).leaveAfter(500)
	caughtUp(t, p)

	free := fill(t, root)
	crowd := gather(t, vs, rnd, codes, p)
	eventually(t, "clicks are dropped", func() bool { return p.dropped() > 100 })
	crowd.stop()
	dropped := p.dropped()
	if s := readStats(t, p, key, codes[0]); s.Dropped != dropped {
		t.Errorf("statistics show %d dropped, metrics %d", s.Dropped, dropped)
	}

	p.kill()
	free()
	p = start(t, "", dir, env...)
	if got := p.dropped(); got < dropped {
		t.Errorf("after kill -9 %d clicks are reported as dropped, before it %d", got, dropped)
	}
	caughtUp(t, p)

	// Full again, and this time the process lives to see it end.
	free = fill(t, root)
	before := p.dropped()
	crowd = gather(t, vs, rnd, codes, p)
	eventually(t, "clicks are dropped again", func() bool { return p.dropped() > before+100 })
	free()
	eventually(t, "nothing is dropped any more", func() bool {
		now := p.dropped()
		crowd.awaitAnswers(200)
		return p.dropped() == now
	})
	crowd.stop()
	vs.mustAllBeAnswered(t, slowest)
	caughtUp(t, p)
	dropped = p.dropped()
	if s := readStats(t, p, key, codes[0]); s.Dropped != dropped {
		t.Errorf("statistics show %d dropped, metrics %d", s.Dropped, dropped)
	}
	p.stop()
	mustBalance(t, dir, vs, dropped)
}

// With the disk still full it starts, redirects and counts what it drops.
func TestKilledAndStartedOnFullDisk(t *testing.T) {
	slow(t)
	root := smallDisk(t, 32)
	dir, rnd, vs := filepath.Join(root, "data"), random(t), &visits{}
	env := []string{"SNIP_SPOOL_SEGMENT_BYTES=128kB", "SNIP_SPOOL_BYTES=4MB"}
	p := start(t, "", dir, env...)
	codes := makeLinks(t, p, 5)
	caughtUp(t, p)
	free := fill(t, root)
	p.kill()
	p = start(t, "", dir, env...)
	crowd := gather(t, vs, rnd, codes, p)
	eventually(t, "clicks are dropped", func() bool { return p.dropped() > 100 })
	free()
	crowd.leaveAfter(200)
	vs.mustAllBeAnswered(t, slowest)
	caughtUp(t, p)
	dropped := p.dropped()
	p.stop()
	mustBalance(t, dir, vs, dropped)
}
