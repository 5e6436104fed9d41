package store_test

import (
	"context"
	"database/sql"
	"encoding/binary"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snip"
	"snip/rollup"
	"snip/store"
)

// olderDimensions is how many there were before clicks told alias and arm.
const olderDimensions = 10

// makeOlder writes what was counted as a program before did.
func makeOlder(t *testing.T, s *store.Store) {
	t.Helper()
	err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		rollups, err := read(ctx, tx, `SELECT slot, link_id, seconds, clicks, human_clicks, facts FROM rollups WHERE generation = 0`)
		if err != nil {
			return err
		}
		for _, r := range rollups {
			facts, err := olderFacts(r.blob, snip.Counts{Clicks: r.numbers[3], HumanClicks: r.numbers[4]})
			if err != nil {
				return err
			}
			_, err = tx.ExecContext(ctx, `UPDATE rollups SET facts = $1 WHERE generation = 0 AND slot = $2 AND link_id = $3 AND seconds = $4`,
				facts, r.numbers[0], r.numbers[1], r.numbers[2])
			if err != nil {
				return err
			}
		}
		days, err := read(ctx, tx, `SELECT day, link_id, 0, 0, 0, texts FROM days WHERE generation = 0`)
		if err != nil {
			return err
		}
		for _, r := range days {
			texts, err := olderValues(r.blob)
			if err != nil {
				return err
			}
			_, err = tx.ExecContext(ctx, `UPDATE days SET texts = $1 WHERE generation = 0 AND day = $2 AND link_id = $3`, texts, r.numbers[0], r.numbers[1])
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

type olderRow struct {
	numbers [5]int64
	blob    []byte
}

func read(ctx context.Context, tx *sql.Tx, query string) (all []olderRow, err error) {
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r olderRow
		n := &r.numbers
		if err := rows.Scan(&n[0], &n[1], &n[2], &n[3], &n[4], &r.blob); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

func olderFacts(facts []byte, total snip.Counts) ([]byte, error) {
	var told [snip.NumDimensions][]byte
	var places [snip.NumDimensions]uint64
	err := rollup.EachFact(facts, total, func(d snip.Dimension, p rollup.Place, c snip.Counts) {
		places[d]++
		for _, x := range []uint64{uint64(p), uint64(c.Clicks), uint64(c.HumanClicks)} {
			told[d] = binary.AppendUvarint(told[d], x)
		}
	})
	older := []byte{1, olderDimensions}
	for d := range olderDimensions {
		older = append(binary.AppendUvarint(older, places[d]<<1), told[d]...)
	}
	return older, err
}

func olderValues(texts []byte) ([]byte, error) {
	values, err := rollup.DecodeValues(texts)
	if err != nil {
		return nil, err
	}
	older := []byte{1, olderDimensions}
	for d := range snip.Dimension(olderDimensions) {
		older = binary.AppendUvarint(older, uint64(values.Len(d)))
		for p := range values.Len(d) {
			text, _ := values.Text(d, rollup.Place(p+1))
			older = append(binary.AppendUvarint(older, uint64(len(text))), text...)
		}
	}
	return older, nil
}

// TestOlderRollups: what was counted before clicks told alias and arm has neither, and
// everything adds up with what comes on top: as it is, compacted, once a link is gone,
// and rebuilt.
func TestOlderRollups(t *testing.T) {
	s := open(t, store.Config{})
	a, b := create(t, s, snip.NewLink{Code: "a"}), create(t, s, snip.NewLink{Code: "b"})
	gone := create(t, s, snip.NewLink{Code: "gone"})
	older := fewReferrers(someClicks(2000, a, b, gone))
	count(t, s, older...)
	before := ask(t, s, snip.StatsQuery{})
	makeOlder(t, s)

	// alias checks how many clicks of a question have no alias known.
	alias := func(when string, q snip.StatsQuery, other int64) {
		t.Helper()
		st := ask(t, s, q)
		for _, d := range []snip.Dimension{snip.ByAlias, snip.ByArm} {
			if got := st.Dimensions[d].Other.Clicks; got != other {
				t.Errorf("%s: %d clicks of no known %s, want %d", when, got, d, other)
			}
		}
	}
	st := ask(t, s, snip.StatsQuery{})
	alias("as it is", snip.StatsQuery{}, 2000)
	for _, d := range []snip.Dimension{snip.ByAlias, snip.ByArm} {
		st.Dimensions[d] = before.Dimensions[d]
	}
	if diff := cmp.Diff(before, st, sameZone); diff != "" {
		t.Errorf("but for alias and arm: %s", diff)
	}

	count(t, s, older...)
	alias("with as many on top", snip.StatsQuery{}, 2000)
	compact(t, s, time.UTC, noon)
	alias("compacted", snip.StatsQuery{}, 2000)
	ofGone, _ := sumsOf(older, gone)
	alias("of one link, compacted", snip.StatsQuery{Codes: []string{"gone"}}, ofGone.Clicks)
	if err := s.DeleteLink(t.Context(), snip.Ref{Code: "gone"}, 0); err != nil {
		t.Fatal(err)
	}
	alias("once a link is gone", snip.StatsQuery{}, 2000-ofGone.Clicks)
	sum, _ := sumsOf(older, a, b)
	if got := ask(t, s, snip.StatsQuery{}).Clicks; got != 2*sum.Clicks {
		t.Errorf("%d clicks are left, want %d", got, 2*sum.Clicks)
	}
	alias("of the others", snip.StatsQuery{Codes: []string{"a", "b"}}, 2000-ofGone.Clicks)

	// The topic has all of it: what is rebuilt tells alias and arm of the days that were
	// not compacted.
	building := begin(t, s)
	countIn(t, s, building, older...)
	countIn(t, s, building, older...)
	shown, since, err := s.ShowGeneration(t.Context(), building, always)
	if !shown || err != nil {
		t.Fatalf("ShowGeneration = %t, %v", shown, err)
	}
	var kept int64
	for _, c := range older {
		if c.Link != gone.ID && c.At.Before(since) {
			kept++
		}
	}
	if kept == 0 || kept == sum.Clicks {
		t.Fatalf("%d clicks of %d are older than what was rebuilt, want some", kept, sum.Clicks)
	}
	alias("rebuilt", snip.StatsQuery{}, kept)
	if got := ask(t, s, snip.StatsQuery{}).Clicks; got != 2*sum.Clicks {
		t.Errorf("%d clicks once it is rebuilt, want %d", got, 2*sum.Clicks)
	}
}
