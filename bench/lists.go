package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"snip/store"
)

// lists measures how long a page of a list takes, through the API, among many links.
func lists(ctx context.Context, b *bench) (rows []row, err error) {
	for _, onServer := range []bool{false, true} {
		more, err := b.listsOn(ctx, onServer)
		rows = append(rows, more...)
		if err := errors.Join(err, b.cleanUp()); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func (b *bench) listsOn(ctx context.Context, onServer bool) ([]row, error) {
	on := "files"
	if onServer {
		on = "PostgreSQL"
	}
	at, err := b.newPlace(ctx, onServer)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := titledLinks(ctx, at, b.links); err != nil {
		return nil, err
	}
	if onServer {
		if err := vacuum(ctx, at.url); err != nil {
			return nil, err
		}
	}
	fmt.Printf("%d links made in %s\n", b.links, time.Since(began).Round(time.Second))
	s, err := b.startSnip(ctx, at, "web")
	if err != nil {
		return nil, err
	}
	l := &lister{instance: s}
	if l.key, err = s.newKey(ctx); err != nil {
		return nil, err
	}
	var rows []row
	for _, q := range questionsForLists(b.links) {
		r := row{what: q.what + ", " + thousands(fmt.Sprint(b.links)) + " links on " + on, unit: "ms", bar: medianAtMost(100)}
		for i := range b.samples {
			took, got, err := l.ask(ctx, q.query(i))
			if err != nil {
				return rows, fmt.Errorf("%s: %w", r.what, err)
			}
			if (got == 0) != q.none {
				return rows, fmt.Errorf("%s: %d links", r.what, got)
			}
			r.measured = append(r.measured, took.Seconds()*1e3)
		}
		rows = append(rows, r)
		fmt.Print(r.text()) // The whole takes long.
	}
	return rows, nil
}

// question asks for a page in different places, or for different words.
type question struct {
	what  string
	query func(i int) url.Values
	none  bool // No link is found.
}

func questionsForLists(n int) []question {
	with := func(pairs ...string) url.Values {
		v := url.Values{"limit": {"50"}}
		for i := 0; i < len(pairs); i += 2 {
			v.Set(pairs[i], pairs[i+1])
		}
		return v
	}
	number := func(i int) string { return strconv.Itoa((i*7_919_317 + 11) % n) }
	return []question{
		{what: "the newest links", query: func(int) url.Values { return with() }},
		{what: "by code", query: func(int) url.Values { return with("sort", "code") }},
		{what: "last changed", query: func(int) url.Values { return with("sort", "updated") }},
		{what: "with a tag of one in a thousand", query: func(int) url.Values { return with("tag", "rare") }},
		{what: "with a tag of one in two", query: func(int) url.Values { return with("tag", "usual") }},
		{what: "search for one link by its number", query: func(i int) url.Values { return with("search", "number "+number(i)) }},
		{what: "search for a word of one in a hundred thousand", query: func(i int) url.Values { return with("search", "group5000"+strconv.Itoa(i%10)) }},
		{what: "search for a word of one in a thousand", query: func(i int) url.Values { return with("search", "set"+strconv.Itoa(1+i%9)+"00") }},
		{what: "search for a word of one in two", query: func(int) url.Values { return with("search", "even") }},
		{what: "search for a word of all", query: func(int) url.Values { return with("search", "exam") }},
		{what: "search for two usual words that are never together", query: func(int) url.Values { return with("search", "even odd") }, none: true},
		{what: "search for a word that only the oldest half has", query: func(int) url.Values { return with("search", "early") }},
		{what: "search for a word that none has", query: func(i int) url.Values { return with("search", "nowhere"+strconv.Itoa(i)) }, none: true},
	}
}

// titledLinks makes links as insertLinks does, with words to search for and tags.
func titledLinks(ctx context.Context, at place, n int) error {
	s, err := openStore(ctx, at)
	if err != nil {
		return err
	}
	for first := 0; first < n && err == nil; first += linksAtOnce {
		err = insertTitled(ctx, s, at.url != "", first, min(linksAtOnce, n-first), n)
	}
	return errors.Join(err, s.Close())
}

func insertTitled(ctx context.Context, s *store.Store, onServer bool, first, count, all int) error {
	early := `CASE WHEN i < ` + strconv.Itoa(all/2) + ` THEN ', early' ELSE '' END`
	// As the store keeps them: all words of code, title and target, a space before each.
	words := `' c' || i || CASE WHEN i % 2 = 0 THEN ' even' ELSE ' odd' END || ' page set' || (i % 1000) || ' group' || (i % 100000) ||
		replace(` + early + `, ',', '') || ' https example com a of some length number ' || i`
	numbers := fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i + 1 < %d)`, first, first+count)
	return s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		for _, statement := range []string{
			numbers + `
				INSERT INTO links (domain, code, url, title, created_at, updated_at)
				SELECT '', 'c' || i, 'https://example.com/a/page/of/some/length?number=' || i,
					CASE WHEN i % 2 = 0 THEN 'Even' ELSE 'Odd' END || ' page, set' || (i % 1000) || ', group' || (i % 100000) || ` + early + `,
					i, i FROM n`,
			numbers + ` INSERT INTO link_words (link_id, words) SELECT i + 1, ` + words + ` FROM n`,
			`INSERT INTO tags (id, name) SELECT column1, column2 FROM (VALUES (1, 'usual'), (2, 'rare')) AS v WHERE true ON CONFLICT DO NOTHING`,
			numbers + ` INSERT INTO link_tags (tag_id, link_id) SELECT 1, i + 1 FROM n WHERE i % 2 = 0`,
			numbers + ` INSERT INTO link_tags (tag_id, link_id) SELECT 2, i + 1 FROM n WHERE i % 1000 = 0`,
		} {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		if onServer {
			return nil // The index of words is one like others there.
		}
		// Each word with the number of its link's group before it.
		_, err := tx.ExecContext(ctx, `
			INSERT INTO link_search (rowid, words)
			SELECT link_id, replace(words, ' ', ' ' || CAST(1000000 + (link_id >> 15) AS TEXT)) FROM link_words WHERE link_id > $1 AND link_id <= $2`,
			first, first+count)
		return err
	})
}

// lister asks the API for lists.
type lister struct {
	instance *instance
	key      string
}

// ask returns how long a page took, and how many links are on it.
func (l *lister) ask(ctx context.Context, query url.Values) (time.Duration, int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.instance.address+"/api/v1/links?"+query.Encode(), http.NoBody)
	if err != nil {
		return 0, 0, err
	}
	req.Header.Set("Authorization", "Bearer "+l.key)
	began := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	var page struct {
		Links []struct {
			Code string `json:"code"`
		} `json:"links"`
	}
	if resp.StatusCode != http.StatusOK {
		return 0, 0, errors.New("GET /api/v1/links: " + resp.Status)
	}
	err = json.NewDecoder(resp.Body).Decode(&page)
	return time.Since(began), len(page.Links), err
}
