package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"snip"
	"snip/queue"
	"snip/queue/spool"
	"snip/store"
	"snip/visitor"
	"snip/web"
	"snip/worker"
)

// parts says which parts of Snip a process runs.
type parts struct{ web, worker bool }

func serveCommand(environ []string, name string, p parts) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		cfg, err := readConfig(environ, p)
		if err != nil {
			return err
		}
		log, err := newLogger(cmd.ErrOrStderr(), cfg.LogFormat, cfg.LogLevel)
		if err != nil {
			return err
		}
		tuneCollector(environ)
		return serve(cmd.Context(), cfg, p, log.With("process", name))
	}
}

// serve runs a process until ctx ends, then stops it in the order in which a click
// travels: visitors, spool, count. It listens first, so that a taken address is an
// error before anything else happens.
func serve(ctx context.Context, cfg config, p parts, log *slog.Logger) (err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)

	ops, err := listenOps(cfg.MetricsAddr, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ops.close()) }()
	var visitors net.Listener
	if p.web {
		if visitors, err = listen("SNIP_ADDR", cfg.Addr); err != nil {
			return err
		}
		defer visitors.Close() // Closed by its server before, unless an error ends this function.
	}
	ops.serve(fail)

	s, err := openStores(ctx, cfg, visitors, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := firstKey(ctx, s.links, log); err != nil {
		return err
	}
	ops.store = s.links
	countMetrics(ops.registry, s.count)

	var stops []func() error // In the order in which they are called.
	if p.web {
		stop, err := startWeb(ctx, cfg, s, visitors, ops.registry, log, fail)
		if err != nil {
			return err
		}
		stops = append(stops, stop...)
	}
	if p.worker {
		stops = append(stops, startWorker(ctx, cfg, s, log, fail))
	}

	// What was read to get ready took more memory than what is left of it.
	debug.FreeOSMemory()
	ops.ready.Store(true)
	log.Info("ready", "version", version(), "data", cfg.DataDir)
	<-ctx.Done()
	ops.ready.Store(false)
	log.Info("stopping", "limit", cfg.Drain)
	err = context.Cause(ctx)
	if errors.Is(err, context.Canceled) {
		err = nil // A signal, not a failure.
	}
	for _, stop := range stops {
		err = errors.Join(err, stop())
	}
	if err == nil {
		log.Info("stopped")
	}
	return err
}

// firstKey makes the first admin key, whichever process comes first, and shows it
// the one time that it is known.
func firstKey(ctx context.Context, links *store.Store, log *slog.Logger) error {
	secret, made, err := links.FirstAdminKey(ctx)
	if err != nil {
		return err
	}
	if made {
		log.Info("first admin key, shown only here", "key", secret)
	}
	return nil
}

// startWeb serves visitors and ships their clicks. What it returns stops the two,
// one after the other.
func startWeb(ctx context.Context, cfg config, s *stores, visitors net.Listener,
	registry prometheus.Registerer, log *slog.Logger, fail context.CancelCauseFunc,
) ([]func() error, error) {
	topic := worker.ClicksTopic(int64(cfg.ClicksBytes))
	if _, err := s.log.Declare(ctx, topic); err != nil {
		return nil, fmt.Errorf("declare topic %q: %w", topic.Name, err)
	}
	clicks, err := spool.Open(spool.Config{
		Dir: cfg.spoolDir(), Topic: topic.Name, Partitions: topic.Partitions,
		MaxBytes: int64(cfg.SpoolBytes), SegmentBytes: int64(cfg.SpoolSegmentBytes),
		Sync: cfg.SpoolSync, Drain: cfg.Drain, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	spoolMetrics(registry, clicks)
	site, shipper, err := newSite(ctx, cfg, s, clicks, registry, log)
	if err != nil {
		return nil, errors.Join(err, clicks.Close())
	}
	stopChanges, err := startChanges(ctx, s, site, registry, log, fail)
	if err != nil {
		return nil, errors.Join(err, clicks.Close())
	}
	server := &http.Server{
		Handler:           site.Handler(),
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	served := start(ctx, fail, func(context.Context) error {
		if err := server.Serve(visitors); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve visitors: %w", err)
		}
		return nil
	})
	reported := start(ctx, fail, site.Run)
	shipped := start(ctx, fail, func(ctx context.Context) error {
		return clicks.Ship(ctx, s.log, shipper.Message)
	})
	refreshed := start(ctx, fail, shipper.Run)
	log.Info("listening", "listener", "public", "addr", visitors.Addr().String())

	stopVisitors := func() error {
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.Drain)
		defer cancel()
		if err := server.Shutdown(limit); err != nil {
			_ = server.Close() // Who is still connected after the limit is cut.
		}
		err := errors.Join(served(), reported(), stopChanges()) // What visitors asked for last is reported, too.
		site.Close()
		return err
	}
	stopSpool := func() error {
		clicks.CloseIntake()
		return errors.Join(shipped(), refreshed(), clicks.Close())
	}
	return []func() error{stopVisitors, stopSpool}, nil
}

// newSite makes what visitors meet, and the shipper that carries their clicks on.
func newSite(ctx context.Context, cfg config, s *stores, clicks *spool.Spool,
	registry prometheus.Registerer, log *slog.Logger,
) (*web.Server, *web.Shipper, error) {
	proxies, err := web.ParseProxies(cfg.TrustedProxies)
	if err != nil {
		return nil, nil, &usageError{fmt.Errorf("SNIP_TRUSTED_PROXIES: %w", err)}
	}
	visitors, err := visitor.New(visitor.Config{Database: cfg.CountryDB, Logger: log})
	if err != nil {
		return nil, nil, err
	}
	site, err := web.New(web.Config{
		Service: func(k snip.Key) snip.Service { return s.links.As(k) },
		Routes:  s.links, Limits: s.links, Domains: s.links.Domains, Keys: s.links, Unknown: s.links,
		Notes: clicks, Visitors: visitors, Progress: progress{clicks, s.count}.read,
		BaseURL: cfg.BaseURL, OpenShorten: cfg.openShorten(), Proxies: proxies, RespectPrivacy: cfg.RespectPrivacy, Zone: cfg.TimeZone.Location,
		Metrics: registry, Logger: log,
	})
	if err != nil {
		return nil, nil, err
	}
	shipper, err := web.NewShipper(web.ShipperConfig{Visitors: visitors, Salts: s.links.Salts, Metrics: registry, Logger: log})
	if err != nil {
		return nil, nil, err
	}
	return site, shipper, shipper.Refresh(ctx)
}

// forever is for what is kept as long as there is room for it.
const forever = 200 * 365 * 24 * time.Hour

func startWorker(ctx context.Context, cfg config, s *stores, log *slog.Logger, fail context.CancelCauseFunc) func() error {
	counted := start(ctx, fail, s.count.Run)
	retained := start(ctx, fail, func(ctx context.Context) error {
		return s.count.Retain(ctx, worker.Retention{FineDays: cfg.FineDays, Zone: cfg.TimeZone.Location})
	})
	trimmed := start(ctx, fail, queue.Retention{Engine: s.log, Topic: store.LinksTopic().Name, Logger: log}.Run)
	audited := start(ctx, fail, queue.Retention{Engine: s.log, Topic: store.AuditTopic().Name, MaxAge: forever, Logger: log}.Run)
	return func() error { return errors.Join(retained(), trimmed(), audited(), counted()) }
}

// start runs one part of the process apart from the context that stops it: the
// returned function does, and waits for its end. A part that ends by itself with
// an error stops the process.
func start(ctx context.Context, fail context.CancelCauseFunc, run func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() {
		err := run(ctx)
		if err != nil {
			fail(err)
		}
		done <- err
	}()
	return func() error {
		cancel()
		return <-done
	}
}

func listen(name, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, &hintError{fmt.Errorf("%s: %w", name, err), "set " + name + " to an address that is free"}
	}
	return l, nil
}
