package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"snip/queue"
	"snip/queue/engine/postgres"
	"snip/queue/engine/sqlite"
	"snip/store"
	"snip/worker"
)

// logEngine keeps topics and groups.
type logEngine interface {
	queue.LogEngine
	queue.GroupStore
	Close() error
}

// stores is what web and worker stand on.
type stores struct {
	links *store.Store
	log   logEngine
	count *worker.Count
}

func openStores(ctx context.Context, cfg config, visitors net.Listener, log *slog.Logger) (*stores, error) {
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return nil, &hintError{fmt.Errorf("data directory: %w", err), "set SNIP_DATA_DIR to a directory that can be written"}
	}
	links, err := openLinks(ctx, cfg, visitors, log)
	if err != nil {
		return nil, err
	}
	engine, err := openLog(ctx, cfg, log)
	if err != nil {
		return nil, errors.Join(err, links.Close())
	}
	s := &stores{links: links, log: engine}
	s.count, err = worker.NewCount(worker.CountConfig{
		Store: links, Engine: engine, Roster: engine, Topic: worker.ClicksTopic(int64(cfg.ClicksBytes)),
		Session: cfg.Session, Drain: cfg.Drain, Logger: log,
	})
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// openLinks opens the store of links, in DATABASE_URL or else in the data directory.
func openLinks(ctx context.Context, cfg config, visitors net.Listener, log *slog.Logger) (*store.Store, error) {
	where := store.Config{OutboxRows: cfg.OutboxRows, Rules: rules(cfg, visitors), Logger: log}
	if cfg.Database == "" {
		where.Path = cfg.database()
		return store.Open(ctx, where)
	}
	where.URL, where.Connections = cfg.Database, cfg.Connections
	s, err := store.Open(ctx, where)
	if err != nil {
		return nil, &hintError{err, "check DATABASE_URL, and that its database is up"}
	}
	return s, nil
}

// openLog opens what keeps topics and groups, at the same place.
func openLog(ctx context.Context, cfg config, log *slog.Logger) (logEngine, error) {
	if cfg.Database == "" {
		return sqlite.Open(ctx, sqlite.Config{Path: cfg.logFile(), Logger: log})
	}
	at, err := url.Parse(cfg.Database)
	if err != nil {
		return nil, errors.New("DATABASE_URL is not a URL") // The error would quote it.
	}
	q := at.Query()
	q.Set("pool_max_conns", strconv.Itoa(cfg.Connections))
	at.RawQuery = q.Encode()
	return postgres.Open(ctx, postgres.Config{URL: at.String(), Logger: log})
}

// withStores is for commands that work on the stores themselves, as workers do.
func withStores(environ []string, do func(*cobra.Command, config, *stores) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		cfg, err := readConfig(environ, parts{worker: true})
		if err != nil {
			return err
		}
		log, err := newLogger(cmd.ErrOrStderr(), cfg.LogFormat, cfg.LogLevel)
		if err != nil {
			return err
		}
		s, err := openStores(cmd.Context(), cfg, nil, log)
		if err != nil {
			return err
		}
		return errors.Join(do(cmd, cfg, s), s.close())
	}
}

func (s *stores) close() error { return errors.Join(s.log.Close(), s.links.Close()) }
