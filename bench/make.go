package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"snip"
)

// makeByPost measures how many links are made by POST, one after the other, beside plain
// INSERTs of the same rows into the same tables, each committed.
func makeByPost(ctx context.Context, b *bench) (rows []row, err error) {
	for _, on := range []struct {
		name     string
		onServer bool
	}{{"files", false}, {"PostgreSQL", true}} {
		insert, err := b.plainInserts(ctx, on.onServer)
		if err != nil {
			return rows, err
		}
		plain := &contestant{name: "INSERT of the same rows, one by one, " + on.name, measure: insert}
		post, err := b.posting(ctx, on.onServer)
		if err != nil {
			return rows, err
		}
		one := &contestant{name: "POST /api/v1/links, one by one, " + on.name, measure: post.one}
		many := &contestant{name: fmt.Sprintf("POST /shorten on %d connections, %s", connections, on.name), measure: post.instance.shortenMany}
		if err := inTurns(ctx, b.rounds, b.length, plain, one, many); err != nil {
			return rows, err
		}
		rows = append(rows, one.beside(plain, "/s", ratioAtLeast(0.3)), many.beside(plain, "/s", bar{}))
		if err := b.cleanUp(); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// longTarget is where links lead that are made here, and a number after it.
const longTarget = "https://example.com/a/page/of/some/length?number="

// plainInserts inserts rows as a program would that has nothing but the tables.
func (b *bench) plainInserts(ctx context.Context, onServer bool) (func(context.Context, time.Duration) (float64, error), error) {
	at, err := b.newPlace(ctx, onServer)
	if err != nil {
		return nil, err
	}
	if err := manyLinks(ctx, at, 1); err != nil { // So that the tables are there.
		return nil, err
	}
	driver, name := "sqlite", "file:"+filepath.Join(at.dir, "snip.db")+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)"
	if onServer {
		driver, name = "pgx", at.url
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		return nil, err
	}
	b.atEnd(db.Close)
	db.SetMaxOpenConns(1)
	insert, err := db.PrepareContext(ctx, `INSERT INTO links (domain, code, url, title, created_at, updated_at) VALUES ('', $1, $2, '', $3, $3)`)
	if err != nil {
		return nil, err
	}
	b.atEnd(insert.Close)
	made := 0
	return func(ctx context.Context, length time.Duration) (float64, error) {
		n, began := 0, time.Now()
		for ; time.Since(began) < length; n++ {
			made++
			if _, err := insert.ExecContext(ctx, snip.RandomCode(), fmt.Sprint(longTarget, made), time.Now().UnixMicro()); err != nil {
				return 0, err
			}
		}
		return float64(n) / time.Since(began).Seconds(), nil
	}, nil
}

// posting makes links by the API, with a key.
type posting struct {
	instance *instance
	client   *http.Client
	key      string
	made     int
}

func (b *bench) posting(ctx context.Context, onServer bool) (*posting, error) {
	at, err := b.newPlace(ctx, onServer)
	if err != nil {
		return nil, err
	}
	s, err := b.startSnip(ctx, at)
	if err != nil {
		return nil, err
	}
	key, err := s.newKey(ctx)
	return &posting{instance: s, client: &http.Client{}, key: key}, err
}

func (p *posting) one(ctx context.Context, length time.Duration) (float64, error) {
	n, began := 0, time.Now()
	for ; time.Since(began) < length; n++ {
		if err := p.post(ctx); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

func (p *posting) post(ctx context.Context) error {
	p.made++
	body := strings.NewReader(fmt.Sprintf(`{"url": "%s%d"}`, longTarget, p.made))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.instance.address+"/api/v1/links", body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+p.key)
	resp, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		return fmt.Errorf("POST /api/v1/links: %s", resp.Status)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
