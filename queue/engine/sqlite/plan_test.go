package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"snip/queue"
	"snip/queue/engine/sqlite"
)

// crowd puts delayed and dead tasks into queue mail, n of each.
func crowd(n int) string {
	return fmt.Sprintf(`
		WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < %[1]d)
		INSERT INTO queue_tasks (number, queue, id, type, named, bytes, due, pushed)
			SELECT n, 1, 'delayed ' || n, 'send', 0, 2, 4000000000000000 + n, 1 FROM n;
		INSERT INTO queue_frames (number, frame) SELECT number, x'0100' FROM queue_tasks;
		INSERT INTO queue_dead (queue, id, type, named, due, pushed, buried, failed, lost, released, reason, error, frame)
			SELECT 1, 'dead ' || number, 'send', 0, due, pushed, 3000000000000000, 1, 0, 0, 'failed', '', x'0100' FROM queue_tasks;
		UPDATE queue_queues SET tasks = %[1]d, dead = %[1]d, max_tasks = 2 * %[1]d, max_dead = %[1]d;`, n)
}

// TestPullsReadTheIndex: what is delayed or dead is not looked at, whether or not
// somebody told SQLite how much of it there is.
func TestPullsReadTheIndex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	e := open(t, sqlite.Config{Path: path})
	mustDeclareQueue(t, e, queue.QueueConfig{})
	for _, and := range []string{"", "ANALYZE"} {
		if and == "" {
			change(t, path, statement(crowd(20_000)))
		} else {
			change(t, path, statement(and))
		}
		mustPush(t, e, tasks(10)...)
		mustSettle(t, e, queue.Verdict{Kind: queue.Done}, mustPull(t, e)...)
		for _, types := range []int{1, 3, 100} {
			steps := plan(t, path, sqlite.ReadyQuery(types), types)
			for _, step := range steps {
				if strings.Contains(step, "SCAN queue_") || strings.Contains(step, "TEMP B-TREE") {
					t.Errorf("%d types, %s: %s", types, and, step)
				}
			}
			text := strings.Join(steps, "\n")
			if got := strings.Count(text, "queue_tasks_due (queue=? AND type=? AND due<?)"); got != types {
				t.Errorf("%d types, %s: read from the index of due times %d times:\n%s", types, and, got, text)
			}
			if !strings.Contains(text, "queue_tasks_leased (queue=? AND until<?)") {
				t.Errorf("%d types, %s: leases are not read from their index:\n%s", types, and, text)
			}
		}
	}
}

func plan(t *testing.T, path, query string, types int) (steps []string) {
	t.Helper()
	args := []any{1, time.Now().UnixMicro(), 1, 10}
	for i := range types {
		args = append(args, fmt.Sprintf("type %d", i))
	}
	change(t, path, func(ctx context.Context, c *sql.Conn) error {
		rows, err := c.QueryContext(ctx, "EXPLAIN QUERY PLAN "+query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id, parent, unused int
			var step string
			if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
				return err
			}
			steps = append(steps, step)
		}
		return rows.Err()
	})
	return steps
}
