package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// cold measures redirects of links that are in no cache: codes drawn evenly from many
// links. It prints how many were answered in a second, how long they took, and the
// memory of the program while its cache is at its bound.
func cold(ctx context.Context, length time.Duration, links int, server string) (err error) {
	dir, err := os.MkdirTemp("", "snip-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := build(ctx, dir); err != nil {
		return err
	}
	where, at := "files", ""
	env := []string{"SNIP_CLICKS_BYTES=1GB"}
	if server != "" {
		var drop func() error
		if at, drop, err = newDatabase(ctx, server); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, drop()) }()
		env, where = append(env, "DATABASE_URL="+at), "PostgreSQL"
	}
	began := time.Now()
	if err := manyLinks(ctx, filepath.Join(dir, "data"), at, links); err != nil {
		return err
	}
	fmt.Printf("%d links on %s, made in %s\n", links, where, time.Since(began).Round(time.Second))
	url, stop, err := startSnip(ctx, dir, env...)
	if err != nil {
		return err
	}
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var mu sync.Mutex
	var took []time.Duration
	var wrong error
	var wg sync.WaitGroup
	for n := range connections {
		wg.Go(func() {
			own, err := askMany(ctx, strings.TrimPrefix(url, "http://"), links, rand.New(rand.NewPCG(1, uint64(n))))
			mu.Lock()
			defer mu.Unlock()
			took, wrong = append(took, own...), errors.Join(wrong, err)
		})
	}
	wg.Wait()
	if wrong != nil {
		return wrong
	}
	slices.Sort(took)
	rss, err := residentMemory()
	if err != nil {
		return err
	}
	at99 := took[len(took)*99/100]
	fmt.Printf("%d redirects in %s: %.0f /s; median %s, p99 %s, slowest %s; %d MB in memory\n", len(took), length,
		float64(len(took))/length.Seconds(), took[len(took)/2], at99, took[len(took)-1], rss>>20)
	return nil
}

// manyLinks makes links c0, c1 and so on.
func manyLinks(ctx context.Context, dir, at string, n int) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	s, err := openStore(ctx, dir, at)
	if err != nil {
		return err
	}
	err = s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < `+strconv.Itoa(n)+`)
			INSERT INTO links (domain, code, url, title, created_at, updated_at)
			SELECT '', 'c' || i, 'https://example.com/a/page/of/some/length?number=' || i, '', 0, 0 FROM n`)
		return err
	})
	return errors.Join(err, s.Close())
}

// askMany follows links at random on a connection.
func askMany(ctx context.Context, address string, links int, random *rand.Rand) (took []time.Duration, err error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	for ctx.Err() == nil {
		began := time.Now()
		_, err := fmt.Fprintf(conn, "%s /c%d HTTP/1.1\r\nHost: %s\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0\r\n\r\n",
			http.MethodGet, random.IntN(links), address)
		if err == nil {
			err = answer(r)
		}
		if err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}

// residentMemory is that of the one snip that this process started.
func residentMemory() (bytes int64, err error) {
	all, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		return 0, err
	}
	for _, path := range all {
		status, err := os.ReadFile(path)
		if err != nil {
			continue // It has ended.
		}
		values := map[string]string{}
		for line := range strings.Lines(string(status)) {
			name, value, _ := strings.Cut(line, ":")
			values[name] = strings.TrimSpace(value)
		}
		if values["PPid"] == strconv.Itoa(os.Getpid()) && values["Name"] == "snip" {
			kB, err := strconv.ParseInt(strings.Fields(values["VmRSS"])[0], 10, 64)
			return kB << 10, err
		}
	}
	return 0, errors.New("the program is gone")
}
