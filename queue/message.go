package queue

import "time"

// Message is the envelope every model of this package shares.
//
// An engine stores all of it byte for byte. Body and headers may be any bytes,
// UTF-8 or not.
type Message struct {
	ID      string            // Chosen by the producer; empty is allowed.
	Key     string            // Messages of one key share a partition; empty spreads.
	Type    string            // Names what Body holds; see TypeLost for the reserved prefix.
	Time    time.Time         // When it happened, to the nanosecond; the zero time is kept as such.
	Headers map[string]string // Nil and empty are the same.
	Body    []byte            // Nil and empty are the same.
}

// TypeLost marks a message whose content was lost before it reached the log,
// such as a torn record of a spool segment. It has no body and only holds its
// segment's number, so that numbers stay without gaps. Handlers do not see it in
// Delivery.Messages. Types that start with "queue." are reserved for such uses.
const TypeLost = "queue.lost"
