// Package inbox makes redelivery harmless for a consumer group whose effects are
// SQL rows: it keeps, in the transaction of these effects, how far the group came.
//
// Two things are kept. A position per partition says where to resume, and fences:
// its move is the first statement of the transaction, and of two who believe they
// own the partition only one moves it. The next number of each segment says what
// to skip, message by message: whatever brings a message back, a lost reply, a
// rebalance, a log that was emptied, replaced or restored, its number is already
// behind.
//
// What is not covered: messages appended without a segment are told apart by
// position alone.
package inbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"snip/queue"
)

// Inbox is the memory of one consumer group. It is safe for concurrent use.
//
// Its tables, inbox_positions and inbox_segments, belong to the store that holds
// the group's effects; Schema has them.
type Inbox struct {
	// Consumer names the group.
	Consumer string
	// Generation tells apart one counting of the same messages from the next, which
	// starts with empty tables of its own.
	Generation int
	// FromMiddle lets a segment of which nothing was received yet begin with any of its
	// numbers. Set it for a consumer that begins after the log was trimmed, and for no
	// other: what is missing from the start of a segment is no gap then.
	FromMiddle bool
	// Now is the wall clock, for the age of segments. Default: time.Now.
	Now func() time.Time
}

// Schema makes the tables, in SQL that SQLite and PostgreSQL both run. A store
// puts it into a migration of its own.
const Schema = `
CREATE TABLE inbox_positions (consumer TEXT NOT NULL, generation BIGINT NOT NULL, topic TEXT NOT NULL, partition BIGINT NOT NULL, position TEXT NOT NULL, moved_at BIGINT NOT NULL, PRIMARY KEY (consumer, generation, topic, partition));
CREATE TABLE inbox_segments (consumer TEXT NOT NULL, generation BIGINT NOT NULL, segment TEXT NOT NULL, next BIGINT NOT NULL, seen_at BIGINT NOT NULL, PRIMARY KEY (consumer, generation, segment));
CREATE INDEX inbox_segments_seen ON inbox_segments (seen_at);
`

// GapError reports a segment of which messages are missing between what was
// received before and what came now. Nothing was received: skipping them would
// lose them without a word.
type GapError struct {
	Segment  queue.SegmentID
	Expected uint64 // Number of the first missing message.
	Got      uint64
}

func (e *GapError) Error() string {
	return fmt.Sprintf("segment %s: messages %d to %d are missing from the log", e.Segment, e.Expected, e.Got-1)
}

// Receive moves the group's position from d.From to d.To and returns the messages
// of d that were never received before, in order, those of queue.TypeLost left out.
// The caller's effects for them belong in the same transaction. After an error the
// caller rolls back: queue.ErrFenced if another owner moved the position, a
// *GapError if the log lacks messages.
func (in *Inbox) Receive(ctx context.Context, tx *sql.Tx, d queue.Delivery) ([]queue.Message, error) {
	if err := in.move(ctx, tx, d); err != nil {
		return nil, err
	}
	n := 0
	for _, e := range d.Entries {
		n += len(e.Messages)
	}
	fresh := make([]queue.Message, 0, n)
	next := map[queue.SegmentID]uint64{}
	for _, e := range d.Entries {
		if e.Segment.IsZero() {
			fresh = appendKept(fresh, e.Messages)
			continue
		}
		want, ok := next[e.Segment]
		if !ok {
			var err error
			if want, ok, err = in.next(ctx, tx, e.Segment); err != nil {
				return nil, err
			}
			if !ok && in.FromMiddle {
				want = e.First
			}
		}
		end := e.First + uint64(len(e.Messages))
		switch {
		case e.First > want:
			return nil, &GapError{Segment: e.Segment, Expected: want, Got: e.First}
		case end > want:
			fresh = appendKept(fresh, e.Messages[want-e.First:])
			want = end
		}
		next[e.Segment] = want
	}
	for segment, n := range next {
		if err := in.remember(ctx, tx, segment, n); err != nil {
			return nil, err
		}
	}
	return fresh, nil
}

func appendKept(dst, messages []queue.Message) []queue.Message {
	for _, m := range messages {
		if m.Type != queue.TypeLost {
			dst = append(dst, m)
		}
	}
	return dst
}

func (in *Inbox) move(ctx context.Context, tx *sql.Tx, d queue.Delivery) error {
	var res sql.Result
	var err error
	topic, now := d.TopicID.String(), in.now().UnixMicro()
	if d.From == (queue.Position{}) {
		res, err = tx.ExecContext(ctx, `
			INSERT INTO inbox_positions (consumer, generation, topic, partition, position, moved_at)
			VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (consumer, generation, topic, partition) DO NOTHING`,
			in.Consumer, in.Generation, topic, d.Partition, d.To.String(), now)
	} else {
		res, err = tx.ExecContext(ctx, `
			UPDATE inbox_positions SET position = $5, moved_at = $6
			WHERE consumer = $1 AND generation = $2 AND topic = $3 AND partition = $4 AND position = $7`,
			in.Consumer, in.Generation, topic, d.Partition, d.To.String(), now, d.From.String())
	}
	if err != nil {
		return fmt.Errorf("inbox: move %s of partition %d: %w", in.Consumer, d.Partition, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return fmt.Errorf("inbox: move %s of partition %d: %w", in.Consumer, d.Partition, err)
	}
	if n != 1 {
		return fmt.Errorf("inbox: move %s of partition %d: %w", in.Consumer, d.Partition, queue.ErrFenced)
	}
	return nil
}

func (in *Inbox) next(ctx context.Context, tx *sql.Tx, segment queue.SegmentID) (n uint64, seen bool, err error) {
	err = tx.QueryRowContext(ctx, `
		SELECT next FROM inbox_segments WHERE consumer = $1 AND generation = $2 AND segment = $3`,
		in.Consumer, in.Generation, segment.String()).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("inbox: segment %s: %w", segment, err)
	}
	return n, true, nil
}

func (in *Inbox) remember(ctx context.Context, tx *sql.Tx, segment queue.SegmentID, next uint64) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO inbox_segments (consumer, generation, segment, next, seen_at)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (consumer, generation, segment) DO UPDATE SET next = excluded.next, seen_at = excluded.seen_at`,
		in.Consumer, in.Generation, segment.String(), next, in.now().UnixMicro())
	if err != nil {
		return fmt.Errorf("inbox: segment %s: %w", segment, err)
	}
	return nil
}

// Reader is a *sql.DB or a *sql.Tx.
type Reader interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Position returns where the group resumes in a partition: zero if it never
// received anything of that topic.
func (in *Inbox) Position(ctx context.Context, db Reader, topic queue.TopicID, partition int) (queue.Position, error) {
	var text string
	err := db.QueryRowContext(ctx, `
		SELECT position FROM inbox_positions
		WHERE consumer = $1 AND generation = $2 AND topic = $3 AND partition = $4`,
		in.Consumer, in.Generation, topic.String(), partition).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return queue.Position{}, nil
	}
	if err != nil {
		return queue.Position{}, fmt.Errorf("inbox: position of %s in partition %d: %w", in.Consumer, partition, err)
	}
	p, err := queue.ParsePosition(text)
	if err != nil {
		return queue.Position{}, fmt.Errorf("inbox: position of %s in partition %d: %w", in.Consumer, partition, err)
	}
	return p, nil
}

// Forget removes what is known of segments that brought nothing since a moment.
// It must lie so far back that neither their file nor the log can bring them back.
func (in *Inbox) Forget(ctx context.Context, tx *sql.Tx, before time.Time) error {
	_, err := tx.ExecContext(ctx, `
		DELETE FROM inbox_segments WHERE consumer = $1 AND generation = $2 AND seen_at < $3`,
		in.Consumer, in.Generation, before.UnixMicro())
	if err != nil {
		return fmt.Errorf("inbox: forget segments of %s: %w", in.Consumer, err)
	}
	return nil
}

func (in *Inbox) now() time.Time {
	if in.Now == nil {
		return time.Now()
	}
	return in.Now()
}
