package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// GroupConfig describes one member of a consumer group.
type GroupConfig struct {
	Name   string      // Of the group; as CheckName wants it.
	Topic  TopicConfig // Declared when the group runs.
	Engine LogEngine
	Store  GroupStore // Where members meet; often the engine itself.
	Handle Handler

	// Resume, if set, says where to start in a partition, and Handle itself keeps
	// the position, in one transaction with its effects (package inbox).
	// Default: positions are kept in Store.
	Resume func(ctx context.Context, topic TopicID, partition int) (Position, error)

	Member   string        // Unique among the members. Default: random.
	Session  time.Duration // How long a silent member is waited for. At least 100 ms. Default: 5 s.
	MaxBatch int           // Messages per delivery, about: entries come whole. Default: 1000.

	// Poll is how often to look without a wake-up. Default: 1 s, or 5 s where the
	// engine has wake-ups.
	Poll time.Duration

	// Drain: after Run's context ends, go on until each owned partition was read to
	// its end, for at most this long. Default: only finish the batches in flight.
	Drain time.Duration

	// Limit ends one call of Handle. Default: 30 s.
	Limit time.Duration

	Logger *slog.Logger // Default: none.
}

// Group is one member of a consumer group: it shares a topic's partitions with the
// other members and works through those it owns, each in order, all at the same
// time. A failing delivery is tried again, with growing pauses, until it succeeds:
// its partition halts meanwhile and nothing is skipped.
type Group struct {
	cfg GroupConfig
	log *slog.Logger
}

// callLimit ends one call of an engine or a store.
const callLimit = 10 * time.Second

// NewGroup checks the configuration. It does no I/O.
func NewGroup(cfg GroupConfig) (*Group, error) {
	if err := CheckName("Name", cfg.Name); err != nil {
		return nil, fmt.Errorf("group: %w", err)
	}
	if cfg.Engine == nil || cfg.Store == nil || cfg.Handle == nil {
		return nil, fmt.Errorf("group %q: Engine, Store and Handle must be set", cfg.Name)
	}
	topic, err := cfg.Topic.Check(cfg.Engine.Caps())
	if err != nil {
		return nil, fmt.Errorf("group %q: %w", cfg.Name, err)
	}
	cfg.Topic = topic
	if cfg.Member == "" {
		cfg.Member = NewSegmentID().String()
	}
	if cfg.Session == 0 {
		cfg.Session = 5 * time.Second
	}
	if cfg.Session < 100*time.Millisecond {
		return nil, fmt.Errorf("group %q: Session is %s, must be at least 100ms", cfg.Name, cfg.Session)
	}
	if cfg.MaxBatch == 0 {
		cfg.MaxBatch = 1000
	}
	if cfg.MaxBatch < 1 {
		return nil, fmt.Errorf("group %q: MaxBatch is %d, must be at least 1", cfg.Name, cfg.MaxBatch)
	}
	if cfg.Poll == 0 {
		cfg.Poll = defaultPoll(cfg.Engine)
	}
	if cfg.Limit == 0 {
		cfg.Limit = 30 * time.Second
	}
	if cfg.Poll < 0 || cfg.Limit < 0 || cfg.Drain < 0 {
		return nil, fmt.Errorf("group %q: Poll, Limit and Drain must not be negative", cfg.Name)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Group{cfg: cfg, log: cfg.Logger.With("group", cfg.Name, "topic", topic.Name)}, nil
}

// Run joins the group, works until ctx ends and leaves it. It returns once all its
// goroutines have ended; its error is that of leaving, which costs the others no
// more than the wait for Session. Outages of engine and store are waited out.
func (g *Group) Run(ctx context.Context) error {
	w := &work{group: g, runs: map[int]*run{}, ended: make(chan struct{}, 1)}
	return w.loop(ctx)
}

// work is what one Run of a group owns. Only its loop touches it.
type work struct {
	group *Group
	topic TopicID
	runs  map[int]*run
	ended chan struct{} // Told when a run has ended.
	alive time.Time     // When the last beat that was accepted began.
}

// run is the goroutine that works on one partition.
type run struct {
	stop    context.CancelFunc // Finish the batch, then end.
	abandon context.CancelFunc // End now.
	done    chan struct{}
}

func (w *work) loop(ctx context.Context) error {
	g := w.group
	tick := time.NewTimer(0)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return w.finish(ctx)
		case <-tick.C:
		case <-w.ended:
		}
		err := w.beat(ctx)
		if err != nil && ctx.Err() == nil {
			g.log.Warn("heartbeat failed", "error", err)
		}
		if time.Since(w.alive) > g.cfg.Session {
			// The others take us for gone: they may own what we work on.
			w.abandonAll()
		}
		tick.Reset(jitter(g.cfg.Session / 4))
	}
}

// beat tells the others that this member lives, and starts and stops runs so that
// they match its share.
func (w *work) beat(ctx context.Context) error {
	began := time.Now()
	if w.topic == (TopicID{}) {
		id, err := w.group.declare(ctx)
		if err != nil {
			return err
		}
		w.topic = id
	}
	held := map[int]bool{}
	for p, r := range w.runs {
		select {
		case <-r.done:
			delete(w.runs, p)
		default:
			held[p] = true
		}
	}
	var mine []int
	err := w.group.swap(ctx, func(r *roster, now time.Duration) {
		mine = r.beat(w.group.cfg.Member, held, w.group.cfg.Topic.Partitions, now, w.group.cfg.Session)
	})
	if err != nil {
		return err
	}
	w.alive = began
	share := map[int]bool{}
	for _, p := range mine {
		share[p] = true
		if w.runs[p] == nil {
			w.start(ctx, p)
		}
	}
	for p, r := range w.runs {
		if !share[p] {
			r.stop()
		}
	}
	return nil
}

func (w *work) start(ctx context.Context, partition int) {
	// What a run has begun it may finish: it outlives ctx, and finish waits for it.
	life, abandon := context.WithCancel(context.WithoutCancel(ctx))
	going, stop := context.WithCancel(life)
	r := &run{stop: stop, abandon: abandon, done: make(chan struct{})}
	w.runs[partition] = r
	c := &consumer{group: w.group, partition: partition, drain: ctx}
	go func() {
		defer func() {
			stop()
			abandon()
			close(r.done)
			select {
			case w.ended <- struct{}{}:
			default:
			}
		}()
		c.consume(life, going)
	}()
}

func (w *work) abandonAll() {
	for _, r := range w.runs {
		r.abandon()
	}
}

// finish lets the runs come to their end, within limits, then leaves the group.
func (w *work) finish(ctx context.Context) error {
	g := w.group
	ctx = context.WithoutCancel(ctx)
	limit := time.NewTimer(g.cfg.Drain + g.cfg.Limit)
	defer limit.Stop()
	drained := time.NewTimer(g.cfg.Drain)
	defer drained.Stop()
	tick := time.NewTicker(g.cfg.Session / 4)
	defer tick.Stop()
	for _, r := range w.runs {
		for waiting := true; waiting; {
			select {
			case <-r.done:
				waiting = false
			case <-drained.C:
				for _, r := range w.runs {
					r.stop()
				}
			case <-limit.C:
				w.abandonAll()
			case <-tick.C:
				w.hold(ctx)
			}
		}
	}
	if w.topic == (TopicID{}) {
		return nil
	}
	// Not to leave costs the others a wait for the session, no more.
	ctx, cancel := context.WithTimeout(ctx, max(g.cfg.Drain, time.Second))
	defer cancel()
	err := g.swap(ctx, func(r *roster, _ time.Duration) { r.leave(g.cfg.Member) })
	if err != nil {
		return fmt.Errorf("group %q: leave: %w", g.cfg.Name, err)
	}
	return nil
}

// hold keeps the partitions while the last batches are finished. Failing to only
// means that others may start on them.
func (w *work) hold(ctx context.Context) {
	g := w.group
	err := g.swap(ctx, func(r *roster, now time.Duration) {
		for i := range r.Members {
			if r.Members[i].ID == g.cfg.Member {
				r.Members[i].Until = now + g.cfg.Session
			}
		}
	})
	if err != nil {
		g.log.Warn("heartbeat failed", "error", err)
	}
}

// swap changes the roster, again and again until nobody else changed it meanwhile.
func (g *Group) swap(ctx context.Context, change func(r *roster, now time.Duration)) error {
	ctx, cancel := context.WithTimeout(ctx, min(callLimit, g.cfg.Session))
	defer cancel()
	for {
		b, version, now, err := g.cfg.Store.Roster(ctx, g.cfg.Name, g.cfg.Topic.Name)
		if err != nil {
			return fmt.Errorf("read roster: %w", err)
		}
		r, err := parseRoster(b)
		if err != nil {
			return err
		}
		change(&r, now)
		err = g.cfg.Store.Swap(ctx, g.cfg.Name, g.cfg.Topic.Name, version, r.bytes())
		if err == nil {
			return nil
		}
		if !errors.Is(err, ErrConflict) {
			return fmt.Errorf("swap roster: %w", err)
		}
		if err := pause(ctx, jitter(20*time.Millisecond)); err != nil {
			return fmt.Errorf("swap roster: %w", err)
		}
	}
}

func (g *Group) declare(ctx context.Context) (TopicID, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	id, err := g.cfg.Engine.Declare(ctx, g.cfg.Topic)
	if err != nil {
		return id, fmt.Errorf("declare topic %q: %w", g.cfg.Topic.Name, err)
	}
	return id, nil
}
