// Package spool is the local disk buffer between a producer that must not wait and
// a log engine that may be slow or down.
//
// Record puts a message into a segment, a mapped file, in well under a microsecond;
// Ship brings the segments to an engine. Between the two stands the operating
// system's page cache: a killed process loses nothing that Record accepted, and
// a power cut what was not synced yet (Config.Sync).
//
// # What is guaranteed
//
// Each segment is a producer of its own: it has a random ID, a topic and a
// partition for life, its messages are numbered from 0 without gaps, and of one
// segment one append is in flight at a time. Messages are delivered at least once,
// and exactly once by an engine or a consumer that remembers the next number of
// each segment (queue.Caps.Sequences, package inbox). Whatever could not be kept
// is counted as dropped, once each: a record that found no space, a segment
// that was dropped whole at the bound, a record that the disk gave back broken, a
// segment set aside. What was not whole when its process died, so that Record
// never returned, is cut and not counted.
//
// Any number of processes may share a directory. Each writes to segments it made
// since its start; those of a dead process are shipped by whoever gets their lock.
//
// # What is not
//
// Order holds within a segment only. The package needs Linux and a local file
// system on which mapped and read bytes are the same. Segments that were set aside
// stay until somebody removes them, and are not part of the bound.
package spool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"snip/queue"
)

// Config describes a spool.
type Config struct {
	Dir        string // Made if missing; may be shared with other processes of this machine.
	Topic      string // As queue.CheckName wants it.
	Partitions int    // Of the topic. Each new segment takes the next one in turn. Default: 1.

	// MaxBytes bounds the segments in Dir, those of other processes included. When
	// a new segment would pass it, the oldest unsent one goes, whole and counted; if
	// none may go, records are dropped. Default: 256 MiB. At least two segments.
	MaxBytes     int64
	SegmentBytes int64 // Size of a segment, header included. Default: 8 MiB. At most 1 GiB.
	MaxRecord    int   // Largest payload in bytes. Default: 64 KiB.

	// Sync is how often records are forced to the disk, so that a power cut loses
	// no more than that. Negative: never. Default: 1 s.
	Sync time.Duration

	// MaxAge is when a segment is set aside instead of shipped. It must be less
	// than what engines and inboxes remember of a segment. Default: 29 days.
	MaxAge time.Duration

	// Drain is how long Ship goes on after its context ended. Default: 10 s.
	Drain time.Duration

	Logger *slog.Logger // Default: none.
}

func (c Config) check() (Config, error) {
	if c.Dir == "" {
		return c, errors.New("Dir must be set")
	}
	if err := queue.CheckName("Topic", c.Topic); err != nil {
		return c, err
	}
	setDefault(&c.Partitions, 1)
	setDefault(&c.MaxBytes, 256<<20)
	setDefault(&c.SegmentBytes, 8<<20)
	setDefault(&c.MaxRecord, 64<<10)
	setDefault(&c.Sync, time.Second)
	setDefault(&c.MaxAge, 29*24*time.Hour)
	setDefault(&c.Drain, 10*time.Second)
	if c.Partitions < 1 {
		return c, fmt.Errorf("Partitions is %d, must be at least 1", c.Partitions)
	}
	if c.MaxRecord < 1 {
		return c, fmt.Errorf("MaxRecord is %d, must be at least 1", c.MaxRecord)
	}
	if least := int64(headSize + align(recordHead+c.MaxRecord)); c.SegmentBytes < least || c.SegmentBytes > maxSegment {
		return c, fmt.Errorf("SegmentBytes is %d, must be %d (one record of MaxRecord) to %d", c.SegmentBytes, least, maxSegment)
	}
	if c.MaxBytes < 2*c.SegmentBytes {
		return c, fmt.Errorf("MaxBytes is %d, must be at least two times SegmentBytes, %d", c.MaxBytes, 2*c.SegmentBytes)
	}
	if c.MaxAge < 0 || c.Drain < 0 {
		return c, errors.New("MaxAge and Drain must not be negative")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Spool is a spool that is open. It is safe for concurrent use.
type Spool struct {
	cfg    Config
	log    *slog.Logger
	ledger *ledger
	intake intake
	shelf  shelf

	partition int           // Of the next segment. Only the keeper uses it.
	freed     chan struct{} // Tells the keeper that there may be room.
	shipping  sync.Mutex    // Held by the one Ship that runs.

	life  context.Context // Ends with Close: of the goroutines, and of a Ship that still runs.
	end   context.CancelFunc
	tasks sync.WaitGroup
	close func() error
}

// lockLimit is how long Open and Close wait for the ledger's lock, which a process
// that was stopped may hold.
const lockLimit = 10 * time.Second

// Open makes the directory ready and the first segment, and starts what the spool
// does behind Record's back. Of segments that are there, Ship takes care.
//
// A full disk is no error, once the directory has a ledger to count in: records
// are dropped until there is space.
func Open(cfg Config) (*Spool, error) {
	cfg, err := cfg.check()
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	if err := os.MkdirAll(asideDir(cfg.Dir), 0o700); err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	limit, cancel := context.WithTimeout(context.Background(), lockLimit)
	defer cancel()
	l, err := openLedger(limit, cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("spool: open the ledger: %w", err)
	}
	s := &Spool{
		cfg:       cfg,
		log:       cfg.Logger.With("spool", cfg.Topic),
		ledger:    l,
		partition: rand.IntN(cfg.Partitions),
		freed:     make(chan struct{}, 1),
	}
	s.intake.rolled = make(chan struct{}, 1)
	s.intake.wake = make(chan struct{}, 1)
	s.shelf.segments = map[queue.SegmentID]*segment{}
	s.life, s.end = context.WithCancel(context.Background())
	s.close = sync.OnceValue(s.shutdown)
	k := &keeper{Spool: s}
	if err := k.prepare(limit); err != nil && !noSpace(err) {
		err = errors.Join(fmt.Errorf("spool: make the first segment: %w", err), s.close())
		k.unmap()
		return nil, err
	}
	s.tasks.Go(func() { k.run(s.life) })
	if cfg.Sync > 0 {
		s.tasks.Go(func() { s.sync(s.life) })
	}
	return s, nil
}

// CloseIntake ends the intake: from now on Record drops and counts. A program that
// stops calls it after its producers ended and before the context of Ship does.
func (s *Spool) CloseIntake() {
	s.intake.close()
	s.intake.signal()
}

// Close ends the intake, and Ship if it still runs, without sending what is left.
// Segments with unsent messages stay for the next process, the others go.
func (s *Spool) Close() error { return s.close() }

func (s *Spool) shutdown() error {
	s.CloseIntake()
	s.end()
	s.tasks.Wait()
	s.shipping.Lock() // Waits for Ship.
	defer s.shipping.Unlock()
	limit, cancel := context.WithTimeout(context.Background(), lockLimit)
	defer cancel()
	var errs []error
	for _, g := range s.shelf.all() {
		if s.shelf.finished(g) {
			errs = append(errs, s.retire(limit, g, false))
		} else if s.cfg.Sync > 0 {
			errs = append(errs, g.file.Sync())
		}
		if s.shelf.has(g.id) {
			errs = append(errs, s.shelf.leave(g))
		}
	}
	errs = append(errs, s.ledger.close())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("spool: close: %w", err)
	}
	return nil
}
