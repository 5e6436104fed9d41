package sqlite

import (
	"database/sql"

	"snip/queue"
)

// record is what the rows of tasks, dead letters and kept ones have in common.
type record struct {
	due, pushed            int64
	deadline               sql.NullInt64
	failed, lost, released int
	err                    string
	progress               []byte
	frame                  []byte
}

const taskColumns = "due, pushed, deadline, failed, lost, released, error, progress"

// columns are where taskColumns go.
func (r *record) columns() []any {
	return []any{&r.due, &r.pushed, &r.deadline, &r.failed, &r.lost, &r.released, &r.err, &r.progress}
}

func (r *record) task() (queue.Task, error) {
	messages, err := queue.DecodeFrames(r.frame, 1)
	if err != nil {
		return queue.Task{}, err
	}
	return queue.Task{Message: messages[0], At: fromMicros(r.due), Deadline: fromNullMicros(r.deadline)}, nil
}

func (r *record) info(state queue.TaskState) (queue.TaskInfo, error) {
	t, err := r.task()
	return queue.TaskInfo{
		Task: t, State: state, Pushed: fromMicros(r.pushed), Failed: r.failed, Lost: r.lost, Released: r.released,
		Error: r.err, Progress: r.progress,
	}, err
}
