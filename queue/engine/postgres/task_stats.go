package postgres

import (
	"context"
	"fmt"

	"snip/queue"
)

// QueueStats describes a queue. It counts what is in it, which takes a fifth of a second
// for a million tasks.
func (e *Engine) QueueStats(ctx context.Context, name string) (s queue.QueueStats, err error) {
	var oldestReady, oldestDead *int64
	err = e.row(ctx, `
		SELECT task.ready, task.delayed, task.leased, letter.dead, done.kept, q.max_tasks, q.paused,
			task.oldest, letter.oldest, q.dropped, q.dropped_dead + letter.over
		FROM (SELECT q.*, queue.now() AS moment FROM queue.find($1::text) q OFFSET 0) q
		CROSS JOIN LATERAL (
			SELECT count(*) FILTER (WHERE t.visible_at <= q.moment) AS ready,
				count(*) FILTER (WHERE t.visible_at > q.moment AND t.token = 0) AS delayed,
				count(*) FILTER (WHERE t.visible_at > q.moment AND t.token <> 0) AS leased,
				min(t.visible_at) FILTER (WHERE t.visible_at <= q.moment) AS oldest
			FROM queue.tasks t WHERE t.queue = q.queue AND t.ended IS NULL
		) task
		CROSS JOIN LATERAL (
			SELECT count(*) AS kept FROM queue.tasks t WHERE t.queue = q.queue AND t.kept_until > q.moment
		) done
		CROSS JOIN LATERAL (
			-- What is past its time counts as dropped, whether it was deleted or not.
			SELECT count(*) FILTER (WHERE d.buried > q.moment - q.keep_dead) AS dead,
				count(*) FILTER (WHERE d.buried <= q.moment - q.keep_dead) AS over,
				min(d.buried) FILTER (WHERE d.buried > q.moment - q.keep_dead) AS oldest
			FROM queue.dead d WHERE d.queue = q.queue
		) letter`, []any{name},
		&s.Ready, &s.Delayed, &s.Leased, &s.Dead, &s.Kept, &s.MaxTasks, &s.Paused,
		&oldestReady, &oldestDead, &s.Dropped, &s.DroppedDead)
	if err != nil {
		return queue.QueueStats{}, fmt.Errorf("stats of queue %q: %w", name, queueError(err))
	}
	s.OldestReady, s.OldestDead = fromMicros(oldestReady), fromMicros(oldestDead)
	return s, nil
}
