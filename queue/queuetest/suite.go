// Package queuetest holds an engine to what package queue promises of it.
//
// An engine's test gives it a way to open engines and gets one subtest per case:
//
//	func TestConformance(t *testing.T) {
//		queuetest.Run(t, func(t *testing.T) queuetest.Open {
//			path := filepath.Join(t.TempDir(), "log.db")
//			return func() (queue.LogEngine, error) {
//				return sqlite.Open(t.Context(), sqlite.Config{Path: path})
//			}
//		})
//	}
//
// The suite asks the engine's [queue.Caps] and looks for the optional interfaces
// [queue.GroupStore], [queue.Waiter] and [queue.Backlogger]: it runs what is
// claimed, and checks that what is not is refused. [Cases] lists the rules.
//
// Two more tests take a few lines each: [LogModel] compares an engine with another one
// call by call, at random, and [LogProcesses] uses a store from many processes.
package queuetest

import (
	"io"
	"testing"
	"time"

	"snip/queue"
)

// Open opens an engine on one store: the first call on an empty one, a later call
// on what the engines before left or, where Caps.Shared is claimed, are still
// using. The suite closes what it opened, if it is an io.Closer.
type Open func() (queue.LogEngine, error)

// Case is one rule and what checks it.
type Case struct {
	Name string // A sentence in CamelCase.
	Rule string // The same in English, printed when it is broken.

	needs func(queue.LogEngine) bool // Nil: every engine has it.
	run   func(s *suite)
}

// Run checks every case in a subtest of its own, on a store of its own.
func Run(t *testing.T, newStore func(t *testing.T) Open) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, newStore) })
	}
}

// Run checks one case. Use it where each case needs surroundings of its own, such
// as a synctest bubble.
func (c Case) Run(t *testing.T, newStore func(t *testing.T) Open) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the rule: %s", c.Rule)
		}
	})
	s := &suite{T: t, openOne: newStore(t)}
	s.engine = s.open()
	if c.needs == nil || c.needs(s.engine) {
		c.run(s)
	}
}

// Cases lists the rules, in an order that tells their story.
func Cases() []Case {
	var all []Case
	for _, chapter := range [][]Case{
		declareCases, messageCases, readCases, sequenceCases, orderCases,
		trimCases, boundCases, statsCases, groupCases, waitCases, storeCases,
	} {
		all = append(all, chapter...)
	}
	return all
}

// patience is how long anything may take that happens at all.
const patience = 20 * time.Second

// suite is what a case works with.
type suite struct {
	*testing.T
	engine  queue.LogEngine
	openOne Open
}

// open opens one more engine on the store.
func (s *suite) open() queue.LogEngine {
	s.Helper()
	e, err := s.openOne()
	if err != nil {
		s.Fatalf("open: %v", err)
	}
	s.Cleanup(func() { s.close(e) })
	return e
}

// close closes an engine. Closing it again does nothing.
func (s *suite) close(e queue.LogEngine) {
	s.Helper()
	if c, ok := e.(io.Closer); ok {
		if err := c.Close(); err != nil {
			s.Errorf("Close() = %v", err)
		}
	}
}

func (s *suite) declare(name string, partitions int) queue.TopicID {
	s.Helper()
	return s.declareConfig(queue.TopicConfig{Name: name, Partitions: partitions})
}

func (s *suite) declareConfig(c queue.TopicConfig) queue.TopicID {
	s.Helper()
	id, err := s.engine.Declare(s.Context(), c)
	if err != nil {
		s.Fatalf("Declare(%+v) = %v", c, err)
	}
	return id
}

// bodies makes messages of nothing but a body.
func bodies(all ...string) []queue.Message {
	var messages []queue.Message
	for _, b := range all {
		messages = append(messages, queue.Message{Body: []byte(b)})
	}
	return messages
}

// append adds a batch for each text, whose letters are its messages' bodies.
func (s *suite) append(topic string, partition int, texts ...string) {
	s.Helper()
	for _, text := range texts {
		s.appendBatch(topic, partition, queue.Batch{Messages: letters(text)})
	}
}

func (s *suite) appendBatch(topic string, partition int, b queue.Batch) {
	s.Helper()
	if err := s.engine.Append(s.Context(), topic, partition, b); err != nil {
		s.Fatalf("Append(%q, %d) = %v", topic, partition, err)
	}
}

func letters(text string) []queue.Message {
	var messages []queue.Message
	for _, r := range text {
		messages = append(messages, queue.Message{Body: []byte(string(r))})
	}
	return messages
}

// all is a max that no case reaches.
const all = 1 << 20

func (s *suite) read(topic string, partition int, from queue.Position, max int) []queue.Entry {
	s.Helper()
	entries, err := s.engine.Read(s.Context(), topic, partition, from, max)
	if err != nil {
		s.Fatalf("Read(%q, %d, %q, %d) = %v", topic, partition, from, max, err)
	}
	return entries
}

// entries reads a whole partition.
func (s *suite) entries(topic string, partition int) []queue.Entry {
	s.Helper()
	return s.read(topic, partition, queue.Position{}, all)
}

// text writes entries as append takes them, with a space between two.
func text(entries []queue.Entry) string {
	var b []byte
	for i, e := range entries {
		if i > 0 {
			b = append(b, ' ')
		}
		for _, m := range e.Messages {
			b = append(b, m.Body...)
		}
	}
	return string(b)
}

// wantText compares what a whole partition holds.
func (s *suite) wantText(topic string, partition int, want string) {
	s.Helper()
	if got := text(s.entries(topic, partition)); got != want {
		s.Errorf("partition %d of topic %q holds %q, want %q", partition, topic, got, want)
	}
}

func (s *suite) stats(topic string) queue.TopicStats {
	s.Helper()
	stats, err := s.engine.Stats(s.Context(), topic)
	if err != nil {
		s.Fatalf("Stats(%q) = %v", topic, err)
	}
	return stats
}

func (s *suite) trim(topic string, partition int, before queue.Position) {
	s.Helper()
	if err := s.engine.Trim(s.Context(), topic, partition, before); err != nil {
		s.Fatalf("Trim(%q, %d, %q) = %v", topic, partition, before, err)
	}
}
