package queue

import (
	"context"
	"iter"
)

// Delivery is what a group hands to its handler: consecutive entries of one
// partition, in order. There is one at a time per partition.
type Delivery struct {
	Group     string
	Topic     string
	TopicID   TopicID
	Partition int
	Entries   []Entry // At least one.

	// From is the group's stored position when the entries were read, To where it
	// stands once they are done. Their move is what of two owners only one can make.
	From, To Position
}

// Messages returns the messages of all entries in order, those of TypeLost left out.
func (d Delivery) Messages() iter.Seq[Message] {
	return func(yield func(Message) bool) {
		for _, e := range d.Entries {
			for _, m := range e.Messages {
				if m.Type != TypeLost && !yield(m) {
					return
				}
			}
		}
	}
}

// Handler works on a delivery. Nil means done: the position may move. Any error
// brings the same messages again after a while. ErrFenced means that another
// owner was faster, and is not a failure. ctx ends when the member lost the
// partition or has to stop.
type Handler func(ctx context.Context, d Delivery) error
