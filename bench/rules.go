package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"snip"
	"snip/store"
)

// otherLinks is how many links with rules, and how many with passwords, are beside the
// one that is followed.
const otherLinks = 5_000

// rules measures what those links pay that have no rules, passwords or limits, and what
// one with five rules pays itself.
func rules(ctx context.Context, b *bench) ([]row, error) {
	alone, err := b.redirecting(ctx, false)
	if err != nil {
		return nil, err
	}
	beside, err := b.besideRules(ctx)
	if err != nil {
		return nil, err
	}
	before := &contestant{name: "the same where there are only plain links", measure: alone.load(onePath("/bench"))}
	plain := &contestant{
		name:    fmt.Sprintf("a plain link, beside %s with rules and %s with passwords", thousands(fmt.Sprint(otherLinks)), thousands(fmt.Sprint(otherLinks))),
		measure: beside.load(onePath("/bench")),
	}
	five := &contestant{name: "a link with five rules, of which the last fits", measure: beside.load(onePath("/five"))}
	all := []*contestant{before, plain, five}
	var earlier *contestant
	if b.before != "" {
		s, err := b.redirectingEarlier(ctx)
		if err != nil {
			return nil, err
		}
		earlier = &contestant{name: "an earlier program", measure: s.load(onePath("/bench"))}
		all = append(all, earlier)
	}
	if err := inTurns(ctx, b.rounds, b.length, all...); err != nil {
		return nil, err
	}
	rows := []row{
		plain.beside(before, "/s", ratioAtLeast(0.97)),
		five.beside(plain, "/s", ratioAtLeast(0.9)),
	}
	if earlier != nil {
		rows = append(rows, plain.beside(earlier, "/s", ratioAtLeast(0.97)))
	}
	return rows, nil
}

// besideRules starts Snip with a link "five" and many with rules and passwords, all of
// them in its cache.
func (b *bench) besideRules(ctx context.Context) (*instance, error) {
	at, err := b.newPlace(ctx, false)
	if err != nil {
		return nil, err
	}
	s, err := openStore(ctx, at)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(makeRules(ctx, s), s.Close()); err != nil {
		return nil, err
	}
	i, err := b.startSnip(ctx, at)
	if err != nil {
		return nil, err
	}
	err = load{address: i.address, path: nextPath("/r")}.times(ctx, otherLinks)
	return i, errors.Join(err, load{address: i.address, path: nextPath("/p"), status: "403"}.times(ctx, otherLinks))
}

// makeRules makes links with rules, r0 and so on, and with a password, p0 and so on. All
// have the same password: to hash each would take minutes.
func makeRules(ctx context.Context, s *store.Store) error {
	if _, _, err := s.CreateLink(ctx, snip.NewLink{Code: "five", Settings: fiveRules()}); err != nil {
		return err
	}
	if _, _, err := s.CreateLink(ctx, snip.NewLink{Code: "p", Password: "correct horse", Settings: snip.Settings{Target: target}}); err != nil {
		return err
	}
	last := strconv.Itoa(otherLinks - 1)
	return s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		for _, like := range []struct{ code, prefix string }{{"five", "r"}, {"p", "p"}} {
			_, err := tx.ExecContext(ctx, `
				WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < `+last+`)
				INSERT INTO links (domain, code, url, title, created_at, updated_at, rules, password_hash)
				SELECT domain, '`+like.prefix+`' || i, url, title, created_at, updated_at, rules, password_hash
				FROM links CROSS JOIN n WHERE code = '`+like.code+`'`)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// fiveRules are of all kinds, and only the last fits who asks.
func fiveRules() snip.Settings {
	return snip.Settings{Target: target, Rules: []snip.Rule{
		{When: snip.Conditions{Devices: []string{"phone"}, Systems: []string{"iOS"}}, Target: target + "ios"},
		{When: snip.Conditions{Languages: []string{"de", "fr", "pt-BR"}}, Target: target + "languages"},
		{When: snip.Conditions{Countries: []string{"DE", "FR"}}, Target: target + "countries"},
		{When: snip.Conditions{Query: map[string][]string{"ref": {"letter", "poster"}}}, Target: target + "ref"},
		{When: snip.Conditions{From: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)}, Split: []snip.Arm{
			{Name: "a", Target: target + "a", Weight: 1}, {Name: "b", Target: target + "b", Weight: 1},
		}},
	}}
}

// redirectingEarlier starts another program than the one of this tree, with the same
// links as redirecting.
func (b *bench) redirectingEarlier(ctx context.Context) (*instance, error) {
	at, err := b.newPlace(ctx, false)
	if err != nil {
		return nil, err
	}
	// It makes its links itself: it may not know the store of this tree.
	return b.startProgram(b.before, at)
}
