package event

import (
	"encoding/json"
	"errors"
	"fmt"
)

// DomainType is the message type of a DomainChange on topic Links.
const DomainType = "snip.domain"

// DomainChange says that something happened to a domain. It does not say how the
// domain is now, as LinkChange does not of a link.
type DomainChange struct {
	Host   string // Empty for the instance's own.
	Change Change
}

// domainVersion numbers the encoding of DomainChange, as linkVersion does.
const domainVersion = 1

// encodedDomain is a DomainChange as it is written, in JSON:
//
//	{"version":1,"host":"go.example","change":"edited"}
type encodedDomain struct {
	Version int     `json:"version"`
	Host    *string `json:"host"` // Never nil: the empty one is a host too.
	Change  Change  `json:"change"`
}

// Encode returns the body of a message of DomainType.
func (c DomainChange) Encode() ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(encodedDomain{domainVersion, &c.Host, c.Change})
	if err != nil {
		return nil, fmt.Errorf("event: encode a change of a domain: %w", err)
	}
	return b, nil
}

// DecodeDomainChange reads what Encode wrote. Its error means that the change may be
// of any domain.
func DecodeDomainChange(b []byte) (DomainChange, error) {
	var e encodedDomain
	if err := json.Unmarshal(b, &e); err != nil {
		return DomainChange{}, fmt.Errorf("event: not a change of a domain: %w", err)
	}
	if e.Version != domainVersion {
		return DomainChange{}, fmt.Errorf("event: change of a domain in version %d, this program knows %d", e.Version, domainVersion)
	}
	if e.Host == nil {
		return DomainChange{}, errors.New("event: change of a domain without its host")
	}
	c := DomainChange{Host: *e.Host, Change: e.Change}
	return c, c.check()
}

func (c DomainChange) check() error {
	if c.Change == "" {
		return errors.New("event: change of a domain that does not say what happened")
	}
	return nil
}
