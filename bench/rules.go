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
// one with five rules pays itself: redirects each second, and processor time, which
// others on the machine disturb less.
func rules(ctx context.Context, b *bench) ([]row, error) {
	alone, err := b.redirecting(ctx, false)
	if err != nil {
		return nil, err
	}
	beside, err := b.besideRules(ctx)
	if err != nil {
		return nil, err
	}
	others := fmt.Sprintf("beside %s with rules and %s with passwords", thousands(fmt.Sprint(otherLinks)), thousands(fmt.Sprint(otherLinks)))
	before := followed{"the same where there are only plain links", alone, "/bench"}
	plain := followed{"a plain link, " + others, beside, "/bench"}
	five := followed{"a link with five rules, of which the last fits", beside, "/five"}
	pairs := []ruled{{plain, before, 0.97}, {five, plain, 0.9}}
	if b.before != "" {
		s, err := b.redirectingEarlier(ctx)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, ruled{plain, followed{"an earlier program", s, "/bench"}, 0.97})
	}
	perSecond, err := b.follow(ctx, pairs, func(f followed) *contestant {
		return &contestant{name: f.name, measure: f.on.load(onePath(f.path))}
	})
	if err != nil {
		return nil, err
	}
	cost, err := b.follow(ctx, pairs, func(f followed) *contestant {
		return &contestant{name: f.name, measure: func(ctx context.Context, _ time.Duration) (float64, error) {
			return f.on.costOfRedirect(ctx, f.path)
		}}
	})
	var rows []row
	for _, p := range pairs {
		rows = append(rows, perSecond[p.link].beside(perSecond[p.reference], "/s", ratioAtLeast(p.least)))
	}
	for _, p := range pairs {
		r := cost[p.link].beside(cost[p.reference], "µs", ratioAtMost(1/p.least))
		r.what = "processor time: " + r.what
		rows = append(rows, r)
	}
	return rows, err
}

// followed is a link of an instance.
type followed struct {
	name string
	on   *instance
	path string
}

// ruled is a link and what it is held against: it is to be followed at least so often.
type ruled struct {
	link, reference followed
	least           float64
}

// follow measures each link of pairs in turns.
func (b *bench) follow(ctx context.Context, pairs []ruled, contest func(followed) *contestant) (map[followed]*contestant, error) {
	by := map[followed]*contestant{}
	var all []*contestant
	for _, p := range pairs {
		for _, f := range []followed{p.reference, p.link} {
			if by[f] == nil {
				by[f] = contest(f)
				all = append(all, by[f])
			}
		}
	}
	return by, inTurns(ctx, b.rounds, b.length, all...)
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
