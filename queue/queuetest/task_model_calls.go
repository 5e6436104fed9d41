package queuetest

import (
	"bytes"
	"fmt"
	"time"

	"snip/queue"
)

// modelMaxDead is the bound of dead letters. It stays: when a lower one drops those
// that are too many is the engine's choice.
const modelMaxDead = 3

func (m *TaskModel) queue() string {
	return []string{"mail", "mail", "mail", "bills", "bills", "never"}[m.choose("queue", 6)]
}

func (m *TaskModel) declare() {
	c := queue.QueueConfig{
		Name:     []string{"mail", "bills", "Bad"}[m.choose("queue", 3)],
		Overflow: []queue.Overflow{"", queue.DropOldest, queue.Block}[m.choose("overflow", 3)],
		Remember: []time.Duration{0, -1}[m.choose("remember", 2)],
		KeepDone: []time.Duration{0, long}[m.choose("keep", 2)],
		MaxDead:  modelMaxDead,
	}
	if exactTasks(m.engine) {
		c.MaxTasks = []int64{0, 8, 4}[m.choose("bound", 3)]
	}
	m.declareAs(c)
}

func (m *TaskModel) declareAs(c queue.QueueConfig) {
	m.t.Helper()
	m.ended(fmt.Sprintf("DeclareQueue(%+v)", c), m.engine.DeclareQueue(m.t.Context(), c), m.reference.DeclareQueue(m.t.Context(), c))
}

// id chooses one of those that were used.
func (m *TaskModel) id() taskID { return m.used[m.choose("id", len(m.used))] }

var modelTypes = []string{send, "fetch"}

// task makes a task. An empty ID stands for a random one.
func (m *TaskModel) task(id string) queue.Task {
	m.made++
	t := queue.Task{Message: queue.Message{
		ID: id, Key: fmt.Sprint(m.choose("key", 3)), Type: modelTypes[m.choose("type", 2)],
		Time: noon, Body: fmt.Append(nil, m.made), Headers: map[string]string{"made": fmt.Sprint(m.made)},
	}}
	switch m.choose("due", 8) {
	case 5:
		t.At = time.Now().Add(-long)
	case 6:
		t.Delay = time.Duration(1+m.choose("hours", 3)) * long
	case 7:
		t.At = time.Now().Add(time.Duration(1+m.choose("hours", 3)) * long)
	}
	if m.choose("deadline", 4) == 3 {
		t.Deadline = time.Now().Add(24 * long)
	}
	return t
}

func (m *TaskModel) tasks() []queue.Task {
	var all []queue.Task
	for range m.choose("tasks", 5) {
		id := ""
		if n := m.choose("name", 8); n < 6 {
			id = m.used[n].engine
		}
		all = append(all, m.task(id))
	}
	return all
}

func (m *TaskModel) push() {
	name, all := m.queue(), m.tasks()
	got, err := m.engine.Push(m.t.Context(), name, all)
	m.pushed(fmt.Sprintf("Push(%q, %q)", name, names(all)), name, all, got, err)
}

// pushed does to the reference what was done to the engine.
func (m *TaskModel) pushed(call, name string, all []queue.Task, got []queue.PushResult, err error) {
	m.t.Helper()
	want, wantErr := m.reference.Push(m.t.Context(), name, all)
	m.ended(call, err, wantErr)
	if len(got) != len(want) {
		m.t.Fatalf("%s = %+v, want %+v", call, got, want)
	}
	for i := range got {
		if got[i].Pushed != want[i].Pushed || all[i].ID != "" && got[i].ID != want[i].ID || got[i].ID == "" {
			m.t.Fatalf("%s = %+v, want %+v", call, got, want)
		}
		if all[i].ID == "" {
			m.ids[got[i].ID] = want[i].ID
			m.used = append(m.used, taskID{got[i].ID, want[i].ID})
		}
	}
}

// pushTx is a Push if its transaction is committed, else nothing.
func (m *TaskModel) pushTx() {
	name, all := m.queue(), m.tasks()
	call := fmt.Sprintf("PushTx(%q, %q)", name, names(all))
	tx, err := m.db.BeginTx(m.t.Context(), nil)
	if err != nil {
		m.t.Fatalf("begin: %v", err)
	}
	got, err := m.engine.(queue.TxPusher).PushTx(m.t.Context(), tx, name, all)
	if err == nil && m.choose("commit", 3) == 2 {
		m.t.Logf("%s, rolled back", call)
		if err := tx.Rollback(); err != nil {
			m.t.Fatalf("roll back: %v", err)
		}
		return
	}
	end := tx.Commit
	if err != nil {
		end = tx.Rollback
	}
	if err := end(); err != nil {
		m.t.Fatalf("end a transaction: %v", err)
	}
	m.pushed(call, name, all, got, err)
}

func (m *TaskModel) pull() {
	name := m.queue()
	p := queue.PullRequest{
		Types: [][]string{modelTypes, {send}, {"fetch", "none"}}[m.choose("types", 3)],
		Max:   []int{many, 1, 2, 3}[m.choose("max", 4)],
		Lease: []time.Duration{long, time.Millisecond}[m.choose("lease", 2)],
		Alone: m.choose("alone", 2) == 1, AloneFrom: m.choose("alone from", 3),
	}
	got, err := m.engine.Pull(m.t.Context(), name, p)
	want, wantErr := m.reference.Pull(m.t.Context(), name, p)
	call := fmt.Sprintf("Pull(%q, %+v)", name, p)
	m.ended(call, err, wantErr)
	if leasedBodies(got.Tasks) != leasedBodies(want.Tasks) || got.AloneNext != want.AloneNext {
		m.t.Fatalf("%s = %s, alone next %t, want %s, %t", call, leasedBodies(got.Tasks), got.AloneNext, leasedBodies(want.Tasks), want.AloneNext)
	}
	for i, g := range got.Tasks {
		w := want.Tasks[i]
		if !m.sameTask(g.Task, w.Task) || g.Failed != w.Failed || g.Lost != w.Lost || g.Released != w.Released ||
			g.Expired != w.Expired || !bytes.Equal(g.Progress, w.Progress) || !sameMoment(g.Pushed, w.Pushed) {
			m.t.Fatalf("%s: task %d = %+v, want %+v", call, i, g, w)
		}
		m.leases = append(m.leases, taskLease{queue: name, engine: g.Lease, reference: w.Lease})
	}
	if p.Lease < long {
		m.leasesEnd()
	}
}

// leasedBodies name tasks by what both know of them.
func leasedBodies(all []queue.Leased) string {
	var bodies [][]byte
	for _, l := range all {
		bodies = append(bodies, l.Body)
	}
	return string(bytes.Join(bodies, []byte(" ")))
}

func (m *TaskModel) settle() {
	if len(m.leases) == 0 {
		return
	}
	// Mostly one of the last.
	first := max(0, len(m.leases)-1-m.choose("lease", min(len(m.leases), 12)))
	chosen := []int{first}
	for i := first + 1; i < len(m.leases) && len(chosen) < 4; i++ {
		if m.leases[i].queue == m.leases[first].queue && m.choose("with", 2) == 1 {
			chosen = append(chosen, i)
		}
	}
	// One at most changes an order: of tasks that are due now, or of dead letters.
	verdicts := []queue.Verdict{m.verdict(6)}
	for range chosen[1:] {
		verdicts = append(verdicts, m.verdict(2))
	}
	m.settleAs(chosen, verdicts)
	for _, v := range verdicts {
		if v.Kind == queue.Extend && v.Delay < long {
			m.leasesEnd()
			return
		}
	}
}

// verdict chooses one of the first kinds.
func (m *TaskModel) verdict(kinds int) queue.Verdict {
	m.made++
	text := fmt.Sprint("verdict ", m.made)
	all := []queue.VerdictKind{queue.Done, queue.Extend, queue.Retry, queue.Release, queue.Bury, queue.Bury}
	v := queue.Verdict{Kind: all[m.choose("verdict", kinds)]}
	switch v.Kind {
	case queue.Done:
		v.Result = []byte(text)
	case queue.Extend:
		v.Delay = []time.Duration{long, time.Millisecond}[m.choose("lease", 2)]
		v.Progress = [][]byte{nil, []byte(text)}[m.choose("progress", 2)]
	case queue.Retry:
		v.Delay = []time.Duration{0, long}[m.choose("delay", 2)]
		v.Error = text
	case queue.Bury:
		v.Reason = []queue.Reason{queue.ReasonFailed, queue.ReasonLost}[m.choose("reason", 2)]
		v.Error = text
	}
	return v
}

func (m *TaskModel) settleAs(chosen []int, verdicts []queue.Verdict) {
	m.t.Helper()
	name := m.leases[chosen[0]].queue
	ours, theirs := make([]queue.Verdict, len(chosen)), make([]queue.Verdict, len(chosen))
	call := fmt.Sprintf("Settle(%q", name)
	for i, n := range chosen {
		ours[i], theirs[i] = verdicts[i], verdicts[i]
		ours[i].Lease, theirs[i].Lease = m.leases[n].engine, m.leases[n].reference
		call += fmt.Sprintf(", %s %v after %s", verdicts[i].Kind, ours[i].Lease, verdicts[i].Delay)
	}
	call += ")"
	got, err := m.engine.Settle(m.t.Context(), name, ours)
	want, wantErr := m.reference.Settle(m.t.Context(), name, theirs)
	m.ended(call, err, wantErr)
	if len(got) != len(want) {
		m.t.Fatalf("%s = %v, want %v", call, got, want)
	}
	for i, n := range chosen {
		l := &m.leases[n]
		ends := verdicts[i].Kind != queue.Extend
		if !l.ended || !ends || got[i] != nil { // One that comes again may answer nil.
			m.ended(fmt.Sprintf("%s: verdict %d", call, i), got[i], want[i])
		}
		l.ended = l.ended || ends && want[i] == nil
	}
}

func (m *TaskModel) get() {
	name, id := m.queue(), m.id()
	got, err := m.engine.(queue.Controls).Get(m.t.Context(), name, id.engine)
	want, wantErr := m.reference.(queue.Controls).Get(m.t.Context(), name, id.reference)
	call := fmt.Sprintf("Get(%q, %q)", name, id.engine)
	m.ended(call, err, wantErr)
	if err != nil {
		return
	}
	if !m.sameTask(got.Task, want.Task) || got.State != want.State || got.Error != want.Error ||
		got.Failed != want.Failed || got.Lost != want.Lost || got.Released != want.Released ||
		!bytes.Equal(got.Progress, want.Progress) || !bytes.Equal(got.Result, want.Result) ||
		!sameMoment(got.Pushed, want.Pushed) || !sameMoment(got.Ended, want.Ended) {
		m.t.Fatalf("%s = %+v, want %+v", call, got, want)
	}
}

func (m *TaskModel) cancel() {
	name, id := m.queue(), m.id()
	m.ended(fmt.Sprintf("Cancel(%q, %q)", name, id.engine),
		m.engine.(queue.Controls).Cancel(m.t.Context(), name, id.engine),
		m.reference.(queue.Controls).Cancel(m.t.Context(), name, id.reference))
}

func (m *TaskModel) replace() {
	name, id := m.queue(), m.id()
	ours := m.task(id.engine)
	theirs := ours
	theirs.ID = id.reference
	m.ended(fmt.Sprintf("Replace(%q, %q)", name, id.engine),
		m.engine.(queue.Controls).Replace(m.t.Context(), name, ours),
		m.reference.(queue.Controls).Replace(m.t.Context(), name, theirs))
}

func (m *TaskModel) pause() {
	name := m.queue()
	if m.choose("pause", 3) == 2 {
		m.ended(fmt.Sprintf("Pause(%q)", name),
			m.engine.(queue.Controls).Pause(m.t.Context(), name), m.reference.(queue.Controls).Pause(m.t.Context(), name))
		return
	}
	m.ended(fmt.Sprintf("Resume(%q)", name),
		m.engine.(queue.Controls).Resume(m.t.Context(), name), m.reference.(queue.Controls).Resume(m.t.Context(), name))
}

// graves chooses dead letters, and a limit.
func (m *TaskModel) graves(name string) (ours, theirs []int64, limit int) {
	limit = []int{many, 1, 2}[m.choose("limit", 3)]
	if name == "never" || m.choose("some", 2) == 0 {
		return nil, nil, limit
	}
	got, want := m.listDead(name)
	ours, theirs = []int64{-1}, []int64{-1}
	for i := range got {
		if m.choose("this", 2) == 1 {
			ours, theirs = append(ours, got[i].Number), append(theirs, want[i].Number)
		}
	}
	return ours, theirs, limit
}

func (m *TaskModel) redrive() {
	name := m.queue()
	ours, theirs, limit := m.graves(name)
	got, err := m.engine.(queue.DeadLetters).Redrive(m.t.Context(), name, ours, limit)
	want, wantErr := m.reference.(queue.DeadLetters).Redrive(m.t.Context(), name, theirs, limit)
	m.counted(fmt.Sprintf("Redrive(%q, %v, %d)", name, ours, limit), got, want, err, wantErr)
}

func (m *TaskModel) deleteDead() {
	name := m.queue()
	ours, theirs, limit := m.graves(name)
	got, err := m.engine.(queue.DeadLetters).DeleteDead(m.t.Context(), name, ours, limit)
	want, wantErr := m.reference.(queue.DeadLetters).DeleteDead(m.t.Context(), name, theirs, limit)
	m.counted(fmt.Sprintf("DeleteDead(%q, %v, %d)", name, ours, limit), got, want, err, wantErr)
}

func (m *TaskModel) counted(call string, got, want int, err, wantErr error) {
	m.t.Helper()
	m.ended(call, err, wantErr)
	if got != want {
		m.t.Fatalf("%s = %d, want %d", call, got, want)
	}
}
