package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"snip/queue"
)

// What one append carries at most, but for the message that passes the second bound.
const (
	maxBatchMessages = 1000
	maxBatchBytes    = 1 << 20
)

// lane is this forwarder's own segment in one partition, and its next number.
type lane struct {
	segment queue.SegmentID
	next    uint64
}

// numbered returns the first rows of a partition that have numbers: an empty batch if
// none has. Rows are only numbered when there are none, so all are of one segment.
func numbered(ctx context.Context, tx *sql.Tx, topic string, partition int) (b queue.Batch, err error) {
	rows, err := tx.QueryContext(ctx, `
		SELECT segment, number, message FROM outbox
		WHERE topic = $1 AND partition = $2 AND segment > '' ORDER BY number LIMIT $3`,
		topic, partition, maxBatchMessages)
	if err != nil {
		return b, fmt.Errorf("read: %w", err)
	}
	defer rows.Close()
	for size := 0; size < maxBatchBytes && rows.Next(); {
		var segment string
		var number uint64
		var framed []byte
		if err := rows.Scan(&segment, &number, &framed); err != nil {
			return b, fmt.Errorf("read: %w", err)
		}
		m, err := queue.DecodeFrames(framed, 1)
		if err != nil {
			return b, fmt.Errorf("read: %w", err)
		}
		if len(b.Messages) == 0 {
			b.First = number
			if b.Segment, err = queue.ParseSegmentID(segment); err != nil {
				return b, fmt.Errorf("read: %w", err)
			}
		}
		b.Messages = append(b.Messages, m[0])
		size += len(framed)
	}
	return b, errors.Join(rows.Err(), rows.Close())
}

// number gives the oldest rows of a partition without numbers the next ones of a lane,
// and returns how many got one.
func number(ctx context.Context, tx *sql.Tx, topic string, partition int, l lane) (n int64, err error) {
	res, err := tx.ExecContext(ctx, `
		UPDATE outbox SET segment = $3, number = CAST($4 AS BIGINT) + r.n FROM (
			SELECT id, ROW_NUMBER() OVER (ORDER BY id) - 1 AS n FROM (
				SELECT id FROM outbox WHERE topic = $1 AND partition = $2 AND segment = '' ORDER BY id LIMIT $5
			) AS oldest
		) AS r
		WHERE outbox.id = r.id`,
		topic, partition, l.segment.String(), int64(l.next), maxBatchMessages)
	if err != nil {
		return 0, fmt.Errorf("number: %w", err)
	}
	if n, err = res.RowsAffected(); err != nil {
		return 0, fmt.Errorf("number: %w", err)
	}
	return n, nil
}

// forgetNumbers lets the rows of a segment be numbered again.
func forgetNumbers(ctx context.Context, tx *sql.Tx, topic string, partition int, segment queue.SegmentID) error {
	_, err := tx.ExecContext(ctx, `
		UPDATE outbox SET segment = '', number = 0 WHERE topic = $1 AND partition = $2 AND segment = $3`,
		topic, partition, segment.String())
	if err != nil {
		return fmt.Errorf("forget numbers: %w", err)
	}
	return nil
}

// remove deletes the rows of a segment whose number is smaller than next.
func remove(ctx context.Context, tx *sql.Tx, topic string, partition int, segment queue.SegmentID, next uint64) error {
	_, err := tx.ExecContext(ctx, `
		DELETE FROM outbox WHERE topic = $1 AND partition = $2 AND segment = $3 AND number < $4`,
		topic, partition, segment.String(), int64(next))
	if err != nil {
		return fmt.Errorf("delete what was sent: %w", err)
	}
	return nil
}
