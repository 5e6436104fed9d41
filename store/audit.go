package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"snip/event"
	"snip/queue"
	"snip/queue/outbox"
)

// AuditTopic describes the topic that is told who changed what. Whoever sends to it or
// reads it declares the same one.
func AuditTopic() queue.TopicConfig {
	return queue.TopicConfig{
		Name: event.AuditTopic, Partitions: 1, MaxBytes: 256 << 20,
		Durability: queue.DurablePower, Sequences: true,
	}
}

// AuditOutbox holds what is to be sent to topic "audit". It is woken for each change.
func (s *Store) AuditOutbox() *outbox.Outbox { return s.audits }

func newAuditOutbox(rows int64) (*outbox.Outbox, error) {
	topic := AuditTopic()
	return outbox.New(outbox.Config{Topic: topic.Name, Partitions: topic.Partitions, MaxRows: rows})
}

// audit tells who did something, in the transaction in which it is done. When it was
// done and to what is for the caller to say.
func (v *View) audit(ctx context.Context, tx session, a event.Audit) error {
	a.Key = v.key.ID
	body, err := a.Encode()
	if err != nil {
		return err
	}
	return v.store.audits.Write(ctx, tx.later(), queue.Message{Type: event.AuditType, Time: a.At, Body: body})
}

// maxAuditValue bounds what is told of one value, in bytes: who changed a note can read
// it elsewhere, while all values of a change must fit in one message.
const maxAuditValue = 2 << 10

// unaudited are fields of the API that no person changes, or that the subject names.
// Of a password no more may be told than that it changed.
var unaudited = []string{
	"id", "version", "owner", "short_url", "created_at", "updated_at", "last_used",
	"limit_used", "clicks", "human_clicks", "has_password",
}

// changesOf compares two states of one thing, as package wire writes them, by field.
// Before is nil for what is new, after for what is gone.
func changesOf(before, after any) ([]event.FieldChange, error) {
	was, err := fieldsOf(before)
	if err != nil {
		return nil, err
	}
	is, err := fieldsOf(after)
	if err != nil {
		return nil, err
	}
	names := maps.Clone(was)
	maps.Copy(names, is)
	var changes []event.FieldChange
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !bytes.Equal(was[name], is[name]) {
			changes = append(changes, event.FieldChange{Field: name, Before: cutValue(was[name]), After: cutValue(is[name])})
		}
	}
	return changes, nil
}

// fieldsOf returns the fields that have a value.
func fieldsOf(state any) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if state == nil {
		return fields, nil
	}
	b, err := json.Marshal(state)
	if err != nil {
		return nil, fmt.Errorf("compare for the audit: %w", err)
	}
	if err := json.Unmarshal(b, &fields); err != nil {
		return nil, fmt.Errorf("compare for the audit: %w", err)
	}
	maps.DeleteFunc(fields, func(name string, value json.RawMessage) bool {
		return slices.Contains(unaudited, name) || slices.Contains([]string{"null", `""`, "0", "false", "[]", "{}"}, string(value))
	})
	return fields, nil
}

// cutValue returns a long value as a text that tells its beginning.
func cutValue(value json.RawMessage) json.RawMessage {
	text := string(value)
	var typed string
	if len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &typed) == nil {
		text = typed
	}
	if len(text) <= maxAuditValue {
		return value
	}
	cut, _ := json.Marshal(strings.ToValidUTF8(text[:maxAuditValue], "") + "…") // A string can always be encoded.
	return cut
}
