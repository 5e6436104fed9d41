package main

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// fastest is more tasks than any library does in a second.
const fastest = 200_000

// snapshot measures how fast tasks are pushed and worked on a server before, while and
// after somebody else keeps a transaction open, for which the server must keep every
// row that was deleted meanwhile.
func snapshot(ctx context.Context, b *bench) (rows []row, err error) {
	for _, library := range []taskLibrary{snipOnServer(), riverOnServer()} {
		more, err := b.heldSnapshot(ctx, library)
		rows = append(rows, more...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func (b *bench) heldSnapshot(ctx context.Context, library taskLibrary) (rows []row, err error) {
	defer func() { err = errors.Join(err, b.cleanUp()) }()
	q, at, err := b.openTasks(ctx, library, true, atBest)
	if err != nil {
		return nil, err
	}
	f := feed(ctx, q, int(3.5*b.hold.Seconds()*fastest)+fed)
	defer f.stop()
	if _, err := f.rate(ctx, b.hold/10); err != nil { // It comes to its speed.
		return nil, err
	}
	before, err := f.rate(ctx, b.hold)
	if err != nil {
		return nil, err
	}
	during, err := withSnapshot(ctx, at.url, func() (float64, error) { return f.rate(ctx, b.hold) })
	if err != nil {
		return nil, err
	}
	after, err := f.rate(ctx, b.hold)
	if err != nil {
		return nil, err
	}
	beside := func(when string, rate float64) row {
		return row{
			what: library.name + ": pushed and worked " + when, unit: "/s", measured: []float64{rate},
			reference: "before", against: []float64{before},
		}
	}
	return []row{beside("while a snapshot is held", during), beside("after it was", after)}, f.end(ctx)
}

// withSnapshot does something while a transaction is open that has read.
func withSnapshot(ctx context.Context, url string, do func() (float64, error)) (rate float64, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		return 0, err
	}
	var tables int
	if err := tx.QueryRow(ctx, "SELECT count(*) FROM pg_class").Scan(&tables); err != nil {
		return 0, err
	}
	rate, err = do()
	return rate, errors.Join(err, tx.Rollback(ctx))
}
