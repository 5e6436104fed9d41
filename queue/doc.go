// Package queue is for work that nobody is waiting for.
//
// It has two models so far. A task queue holds units of work, each of which one worker
// gets and which is gone once it is done. A log holds messages in ordered partitions,
// through which consumer groups work, and to which subscribers listen. Schedules are to
// come.
//
// # What to call
//
// Open an engine (packages queue/engine/..., or [snip/queue/engine.Open] for a choice by
// URL).
//
// For tasks make a producer with [NewProducer] and push payloads; make a worker with
// [NewWorker], register handlers with [Handle] and run it: [Worker.Run] blocks until it
// has come to its end, [Worker.RunUntilEmpty] is for tests. [QueueConfig] bounds a queue
// and says what happens at the bound, [HandlerConfig] when to try again and when to give
// up. Dead letters are listed and put back through [DeadLetters] and [RedriveAll], single
// tasks looked at and steered through [Controls]. A task that belongs to SQL rows is
// pushed in their transaction by [Producer.PushTx].
//
// For logs declare a topic, append batches to its partitions, and run a [Group] whose
// handler gets the messages: [NewGroup], then [Group.Run], which blocks until it has left
// the group. Run a [Subscriber] where each process wants everything, and nothing that is
// over. A producer that must not wait for an engine records into a spool (queue/spool). A
// handler whose effects are SQL rows makes them exactly-once with queue/inbox. A
// message that belongs to SQL rows is written with them by queue/outbox. [Retention]
// trims a topic, [MeasureLag] tells how far a group is behind.
//
// # What is guaranteed of tasks
//
// Within the durability that the engine's [Caps] state:
//
//   - A task whose push returned nil is worked on at least once, or is a dead letter.
//   - One worker has it at a time. A verdict that comes after the lease was lost changes
//     nothing; a handler whose lease is lost has its context ended.
//   - Three counters, not one: failed (the handler said so), lost (the lease ended without
//     a verdict, for the process was killed or stalled), released (handed back unharmed,
//     as a worker does that stops). Attempts bound the first, MaxLost the second.
//   - A task that kills its process ends among the dead letters, and takes no innocent
//     with it: what could be lost but once more runs alone in its worker.
//   - A delayed task is never early. One whose lease ended is pulled again within a
//     second. One that is past its deadline is set aside, not run.
//   - Pushing an ID twice is harmless while its task is there, and for
//     [QueueConfig.Remember] after it was done.
//   - A worker pulls only the types it has handlers for.
//   - A bound is kept as Caps says. What is dropped is counted; nothing is dropped in
//     silence.
//   - A dead letter keeps its body, headers, counters, last error and times.
//
// # What is guaranteed of logs
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
//
// In both, wake-ups are hints: every loop polls, has a limit on every call, and survives
// its engine's restart.
//
// # What is not
//
// Work that is done but could not be acknowledged is done again: a process was killed in
// between, or the engine was away for longer than the lease. Handlers bear that, or use
// [snip/queue/inbox.Once] or an inbox. Tasks are pulled in the order in which they are
// due, but many are worked on at the same time. Nothing is ordered between partitions. A
// log's record that can never be handled halts its partition: there are no dead letters
// for logs yet.
//
// Engines differ in what they can; [Caps] says how, and [TopicConfig.Check] and
// [QueueConfig.Check] refuse what is asked for in vain.
package queue
