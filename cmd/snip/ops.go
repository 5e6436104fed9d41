package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"snip/store"
)

// ops is the listener for those who run Snip: health, readiness, metrics. It is
// up before the stores are open and until they are closed.
type ops struct {
	registry *prometheus.Registry
	ready    atomic.Bool
	store    *store.Store // Set before ready.

	listener net.Listener
	server   *http.Server
	done     chan struct{} // Closed when serving has ended; nil before serve.
	log      *slog.Logger
}

func listenOps(addr string, log *slog.Logger) (*ops, error) {
	l, err := listen("SNIP_METRICS_ADDR", addr)
	if err != nil {
		return nil, err
	}
	o := &ops{registry: prometheus.NewRegistry(), listener: l, log: log}
	o.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "alive") })
	mux.HandleFunc("GET /readyz", o.readyz)
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.registry, promhttp.HandlerOpts{}))
	o.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	return o, nil
}

func (o *ops) serve(fail context.CancelCauseFunc) {
	o.log.Info("listening", "listener", "metrics", "addr", o.listener.Addr().String())
	o.done = make(chan struct{})
	go func() {
		defer close(o.done)
		if err := o.server.Serve(o.listener); !errors.Is(err, http.ErrServerClosed) {
			fail(fmt.Errorf("serve metrics: %w", err))
		}
	}()
}

// close ends the listener, whether serve was called or not.
func (o *ops) close() error {
	if o.done == nil {
		return o.listener.Close()
	}
	err := o.server.Close()
	<-o.done
	return err
}

// readyz is 200 while visitors can be served. A database that is away does not
// change that, for links already seen still redirect; it is only told.
func (o *ops) readyz(w http.ResponseWriter, r *http.Request) {
	if !o.ready.Load() {
		http.Error(w, "not ready", http.StatusServiceUnavailable)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Second)
	defer cancel()
	database := "ok"
	if err := o.store.Ping(ctx); err != nil {
		database = "away"
	}
	w.Header().Set("Content-Type", "application/json")
	// Who asked may be gone.
	_ = json.NewEncoder(w).Encode(map[string]string{"status": "ready", "database": database})
}
