package queuetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"snip/queue"
)

// OpenTaskStore opens an engine on the store of a name, such as a path or a URL, by
// which several processes can find it.
type OpenTaskStore func(ctx context.Context, store string) (queue.TaskEngine, error)

const (
	// By these a process learns what it is to do.
	taskStoreVariable = "QUEUETEST_TASK_STORE"
	taskRoleVariable  = "QUEUETEST_TASK_ROLE"
	taskNotesVariable = "QUEUETEST_TASK_NOTES"
)

// TaskProcesses starts processes that push to one queue and work on it, kills one after
// the other at random and starts another in its place, for three seconds, or for a
// minute where SNIP_TORTURE is set. Then nothing that was pushed may be lost, nothing
// that was acknowledged may have run again, and the counters of every task must tell
// what happened to it. The engine must outlive its process. The processes are copies of
// the test binary, so its TestMain must call [TaskProcess] first:
//
//	func TestMain(m *testing.M) {
//		queuetest.TaskProcess(openStore)
//		os.Exit(m.Run())
//	}
//
//	func TestTaskProcesses(t *testing.T) {
//		queuetest.TaskProcesses(t, filepath.Join(t.TempDir(), "tasks.db"), openStore)
//	}
func TaskProcesses(t *testing.T, store string, open OpenTaskStore) {
	t.Helper()
	if os.Getenv(taskStoreVariable) != "" {
		t.Fatal("TestMain does not call TaskProcess first")
	}
	e, err := open(t.Context(), store)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	s := &taskSuite{T: t, engine: e}
	t.Cleanup(func() { s.close(e) })
	s.declare(hardship)

	c := &crowd{T: t, store: store, notes: t.TempDir()}
	length := 3 * time.Second
	if os.Getenv("SNIP_TORTURE") != "" {
		length = time.Minute
	}
	c.live(length)
	s.workOff(filepath.Join(c.notes, "last"))

	h := readNotes(t, c.notes)
	var dead []queue.DeadLetter
	if deadLetters(e) {
		dead = s.allDead()
	}
	h.check(t, dead, c.killed*pullsAtOnce)
	t.Logf("%d processes were killed; %s", c.killed, h)
}

// hardship is the queue of the processes. It is full now and then.
var hardship = queue.QueueConfig{Name: mail, MaxTasks: 200}

// crowd is the processes.
type crowd struct {
	*testing.T
	store, notes string
	started      int
	killed       int
}

// member is one process.
type member struct {
	role       string
	cmd        *exec.Cmd
	life       io.Closer // Its standard input: it ends with it.
	complaints bytes.Buffer
}

// live lets processes live and die for a while.
func (c *crowd) live(length time.Duration) {
	c.Helper()
	var all []*member
	for _, role := range []string{"producer", "producer", "hands", "hands", "worker", "worker"} {
		all = append(all, c.start(role))
	}
	defer func() {
		for _, m := range all {
			c.kill(m)
		}
	}()
	end := time.After(length)
	for {
		select {
		case <-end:
			return
		case <-c.Context().Done():
			return
		case <-time.After(time.Duration(20+rand.IntN(200)) * time.Millisecond):
		}
		victim := &all[rand.IntN(len(all))]
		c.kill(*victim)
		*victim = c.start((*victim).role)
	}
}

func (c *crowd) start(role string) *member {
	c.Helper()
	self, err := os.Executable()
	if err != nil {
		c.Fatal(err)
	}
	c.started++
	m := &member{role: role, cmd: exec.Command(self)}
	m.cmd.Env = append(os.Environ(), taskStoreVariable+"="+c.store, taskRoleVariable+"="+role,
		taskNotesVariable+"="+filepath.Join(c.notes, strconv.Itoa(c.started)))
	m.cmd.Stderr = &m.complaints
	if m.life, err = m.cmd.StdinPipe(); err == nil {
		err = m.cmd.Start()
	}
	if err != nil {
		c.Fatalf("start a %s: %v", role, err)
	}
	return m
}

// kill ends a process, which must not have ended by itself.
func (c *crowd) kill(m *member) {
	c.Helper()
	_ = m.cmd.Process.Kill() // If it is gone, Wait tells.
	c.killed++
	if err := m.cmd.Wait(); m.cmd.ProcessState.Exited() {
		c.Errorf("a %s ended by itself: %v: %s", m.role, err, &m.complaints)
	}
	_ = m.life.Close()
}

// workOff works until nothing is left.
func (s *taskSuite) workOff(notes string) {
	s.Helper()
	n, err := openNotes(notes)
	if err != nil {
		s.Fatal(err)
	}
	defer n.close()
	hand := hands{engine: noting{s.engine, n}}
	s.eventually("worked off", func() bool {
		if err := hand.work(s.Context()); err != nil {
			s.Fatal(err)
		}
		stats := s.stats()
		return stats.Ready+stats.Delayed+stats.Leased == 0
	})
}

// allDead lists all dead letters, page by page.
func (s *taskSuite) allDead() (all []queue.DeadLetter) {
	s.Helper()
	var after int64
	for {
		page := s.list(after, many)
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		after = page[len(page)-1].Number
	}
}

// TaskProcess is what TestMain calls before anything else. In a process that
// TaskProcesses started it pushes or works until it is killed; in any other it does
// nothing.
func TaskProcess(open OpenTaskStore) {
	store := os.Getenv(taskStoreVariable)
	if store == "" {
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // It ends with the process that started this one.
		os.Exit(0)
	}()
	if err := playRole(context.Background(), store, open); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(1)
}

func playRole(ctx context.Context, store string, open OpenTaskStore) error {
	e, err := open(ctx, store)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	n, err := openNotes(os.Getenv(taskNotesVariable))
	if err != nil {
		return err
	}
	e = noting{e, n}
	switch role := os.Getenv(taskRoleVariable); role {
	case "producer":
		return produce(ctx, e)
	case "hands":
		return hands{engine: e, stalls: true}.workOn(ctx)
	case "worker":
		return work(ctx, e)
	default:
		return fmt.Errorf("no such role: %q", role)
	}
}
