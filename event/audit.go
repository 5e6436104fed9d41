package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// AuditTopic is the topic of who changed what, and AuditType the message type of it.
const (
	AuditTopic = "audit"
	AuditType  = "snip.audit"
)

// Audit says who changed what, when and how. It holds no secret: neither a password
// or its hash nor anything of the secret of a key.
type Audit struct {
	At      time.Time     // To the microsecond.
	Key     int64         // ID of the key on whose behalf. 0: on the host itself, or without a key.
	Action  string        // Kind of the subject and what was done to it, such as "link.edited".
	Subject Subject       // What was changed, named as it is after the change.
	Changes []FieldChange // What is different now. May be empty.
}

// Subject is what was changed. It is named as people name it, too: it may be gone by
// the time that somebody reads of it.
type Subject struct {
	Kind SubjectKind `json:"kind"`
	ID   int64       `json:"id"`

	Domain string `json:"domain,omitempty"` // Of a link. Empty: the instance's own.
	Code   string `json:"code,omitempty"`   // Of a link.
	Host   string `json:"host,omitempty"`   // Of a domain. Empty: the instance's own.
	Label  string `json:"label,omitempty"`  // Of a key.
}

// SubjectKind tells what can be changed apart.
type SubjectKind string

const (
	LinkSubject   SubjectKind = "link"
	DomainSubject SubjectKind = "domain"
	KeySubject    SubjectKind = "key"
)

// FieldChange is one field of a subject, named and valued as in the API. Before is nil
// for what was not there before, After for what is not there any more, and both for
// PasswordField.
type FieldChange struct {
	Field  string          `json:"field"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// PasswordField is the field that is told to have changed, and nothing else of it.
const PasswordField = "password"

// auditVersion numbers the encoding of Audit, as linkVersion does.
const auditVersion = 1

// encodedAudit is an Audit as it is written, in JSON:
//
//	{"version":1,"at":"2026-11-29T12:00:00.123456Z","key":3,"action":"link.edited",
//	 "subject":{"kind":"link","id":17,"code":"abc"},
//	 "changes":[{"field":"title","before":"A","after":"B"},{"field":"password"}]}
type encodedAudit struct {
	Version int           `json:"version"`
	At      time.Time     `json:"at"`
	Key     int64         `json:"key"`
	Action  string        `json:"action"`
	Subject Subject       `json:"subject"`
	Changes []FieldChange `json:"changes,omitempty"`
}

// Encode returns the body of a message of AuditType.
func (a Audit) Encode() ([]byte, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(encodedAudit{auditVersion, a.At.UTC().Truncate(time.Microsecond), a.Key, a.Action, a.Subject, a.Changes})
	if err != nil {
		return nil, fmt.Errorf("event: encode %s for the audit: %w", a.Action, err)
	}
	return b, nil
}

// DecodeAudit reads what Encode wrote.
func DecodeAudit(b []byte) (Audit, error) {
	var e encodedAudit
	if err := json.Unmarshal(b, &e); err != nil {
		return Audit{}, fmt.Errorf("event: nothing of the audit: %w", err)
	}
	if e.Version != auditVersion {
		return Audit{}, fmt.Errorf("event: audit in version %d, this program knows %d", e.Version, auditVersion)
	}
	a := Audit{At: e.At.UTC(), Key: e.Key, Action: e.Action, Subject: e.Subject, Changes: e.Changes}
	if err := a.check(); err != nil {
		return Audit{}, err
	}
	return a, nil
}

func (a Audit) check() error {
	switch {
	case a.At.IsZero():
		return errors.New("event: audit without a time")
	case a.Key < 0:
		return fmt.Errorf("event: audit of key %d", a.Key)
	case a.Action == "":
		return errors.New("event: audit that does not say what was done")
	case a.Subject.Kind == "" || a.Subject.ID <= 0:
		return fmt.Errorf("event: audit of %s that does not say what it was done to", a.Action)
	}
	for _, c := range a.Changes {
		if c.Field == "" {
			return fmt.Errorf("event: audit of %s with a change of nothing", a.Action)
		}
		if c.Field == PasswordField && (c.Before != nil || c.After != nil) {
			return fmt.Errorf("event: audit of %s that tells a password", a.Action)
		}
	}
	return nil
}
