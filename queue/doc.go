// Package queue is for work that nobody is waiting for.
//
// It has one model so far, the log: a topic is an append-only log in ordered
// partitions, a consumer group works through it, and subscribers hear what is
// appended from now on. Task queues and schedules are to come.
//
// # What to call
//
// Open an engine (packages queue/engine/...), declare a topic on it, append
// batches to its partitions, and run a [Group] whose handler gets the messages:
// [NewGroup], then [Group.Run], which blocks until it has left the group. Run a
// [Subscriber] where each process wants everything, and nothing that is over. A
// producer that must not wait for an engine records into a spool (queue/spool). A
// handler whose effects are SQL rows makes them exactly-once with queue/inbox. A
// message that belongs to SQL rows is written with them by queue/outbox.
// [Retention] trims a topic, [MeasureLag] tells how far a group is behind.
//
// # What is guaranteed
//
// Within the durability that the engine's [Caps] state:
//
//   - A batch whose Append returned nil is delivered to every group at least once,
//     whole and in the order of its partition. Nothing committed is skipped.
//   - Of two members who believe they own a partition only one moves its position.
//     The other gets [ErrFenced].
//   - A position that the log never gave, because it was emptied, replaced or
//     restored, is told apart: the group then reads from the oldest entry kept.
//   - A subscriber is told whenever it may have missed something.
//   - A failing handler halts its partition, and only that, until it succeeds.
//   - A bound is kept as Caps says, and a full topic refuses with [ErrFull].
//   - Wake-ups are hints: every loop polls, has a limit on every call, and survives
//     its engine's restart.
//
// # What is not
//
// A handler that is done but whose position could not be stored gets the same
// messages again, unless it uses an inbox. Nothing is ordered between partitions.
// A record that can never be handled halts its partition: there are no dead
// letters for logs yet.
//
// Engines differ in what they can; [Caps] says how, and [TopicConfig.Check]
// refuses what is asked for in vain.
package queue
