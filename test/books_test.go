package test

import (
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // The driver, under the name "pgx".

	"snip/event"
	"snip/queue"
	"snip/queue/engine/postgres"
	"snip/queue/engine/sqlite"
)

// books is what stands in a data directory whose processes have ended.
type books struct {
	links  map[string]account // By code.
	events []counted          // All that topic "clicks" holds.
	lost   int                // Events of which only the number is known.
}

// account is what was counted for a link.
type account struct {
	id, clicks, human       int64
	totalClicks, totalHuman int64 // The sums over its 15 minutes.
}

// since returns what was counted after an earlier look.
func (a account) since(earlier account) account {
	a.clicks -= earlier.clicks
	a.human -= earlier.human
	a.totalClicks -= earlier.totalClicks
	a.totalHuman -= earlier.totalHuman
	return a
}

// counted is an event of the topic.
type counted struct {
	segment  queue.SegmentID
	position uint64 // In its segment.
	link     int64
	number   int64     // Of the request.
	at       time.Time // By the clock of the web.
}

// readBooks opens the files read-only, as far as SQLite can.
func readBooks(t *testing.T, dir string) books {
	t.Helper()
	b := books{links: readAccounts(t, filepath.Join(dir, "snip.db"))}
	engine, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(dir, "log.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	b.readEvents(t, engine)
	return b
}

// readServerBooks reads those of a PostgreSQL database.
func readServerBooks(t *testing.T, url string) books {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	b := books{links: queryAccounts(t, db)}
	engine, err := postgres.Open(t.Context(), postgres.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	b.readEvents(t, engine)
	return b
}

func readAccounts(t *testing.T, path string) map[string]account {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?_pragma=query_only(on)&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	return queryAccounts(t, db)
}

func queryAccounts(t *testing.T, db *sql.DB) map[string]account {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `
		SELECT l.id, l.code, l.clicks, l.human_clicks, coalesce(sum(t.clicks), 0), coalesce(sum(t.human_clicks), 0)
		FROM links l LEFT JOIN rollups t ON t.link_id = l.id AND t.generation = 0 GROUP BY l.id`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	accounts := map[string]account{}
	for rows.Next() {
		var code string
		var a account
		if err := rows.Scan(&a.id, &code, &a.clicks, &a.human, &a.totalClicks, &a.totalHuman); err != nil {
			t.Fatal(err)
		}
		accounts[code] = a
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	var links, whole, all int64
	err = db.QueryRowContext(t.Context(), `
		SELECT (SELECT coalesce(sum(clicks), 0) FROM links), clicks,
			(SELECT coalesce(sum(clicks), 0) FROM rollups WHERE generation = 0 AND link_id = 0)
		FROM instance i`).Scan(&links, &whole, &all)
	if err != nil || links != whole || links != all {
		t.Errorf("the links have %d clicks, the instance %d, all links together %d; %v", links, whole, all, err)
	}
	return accounts
}

func (b *books) readEvents(t *testing.T, engine queue.LogEngine) {
	t.Helper()
	clicks, err := event.NewClicks()
	if err != nil {
		t.Fatal(err)
	}
	stats, err := engine.Stats(t.Context(), "clicks")
	if err != nil {
		t.Fatal(err)
	}
	for partition := range stats.Partitions {
		for from := (queue.Position{}); ; {
			entries, err := engine.Read(t.Context(), "clicks", partition, from, 10_000)
			if err != nil {
				t.Fatal(err)
			}
			if len(entries) == 0 {
				break
			}
			for _, e := range entries {
				if err := b.addEntry(clicks, e); err != nil {
					t.Fatalf("partition %d: %v", partition, err)
				}
				from = e.Next
			}
		}
	}
}

func (b *books) addEntry(clicks *event.Clicks, e queue.Entry) error {
	for i, m := range e.Messages {
		if m.Type == queue.TypeLost {
			b.lost++
			continue
		}
		click, err := clicks.Decode(m.Body)
		if err != nil {
			return fmt.Errorf("message %d of entry %s: %w", i, e.Position, err)
		}
		number, err := strconv.ParseInt(click.Campaign, 10, 64)
		if err != nil {
			return fmt.Errorf("message %d of entry %s: no request has number %q", i, e.Position, click.Campaign)
		}
		b.events = append(b.events, counted{e.Segment, e.First + uint64(i), click.Link, number, click.At})
	}
	return nil
}
