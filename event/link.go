package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Links is the topic of what happens to links and domains, and LinkType the message
// type of a LinkChange.
const (
	Links    = "links"
	LinkType = "snip.link"
)

// Change is what happened to a link or a domain.
type Change string

const (
	Created Change = "created"
	Edited  Change = "edited"
	Deleted Change = "deleted"
)

// LinkChange says that something happened to a link. It does not say how the link is
// now: whoever wants to know asks for it, and gets what later changes made of it, too.
type LinkChange struct {
	Link   int64 // Its ID.
	Change Change
	Domain string // Where its codes are. Empty for the instance's own.
	// Codes are those at which it may have to be looked up again: its own, its aliases,
	// and those it had before. Never empty.
	Codes []string
}

// linkVersion numbers the encoding of LinkChange. What is added to it and may be
// ignored leaves it as it is.
const linkVersion = 1

// encodedLink is a LinkChange as it is written, in JSON:
//
//	{"version":1,"link":17,"change":"edited","domain":"go.example","codes":["new","old"]}
type encodedLink struct {
	Version int      `json:"version"`
	Link    int64    `json:"link"`
	Change  Change   `json:"change"`
	Domain  string   `json:"domain,omitempty"`
	Codes   []string `json:"codes"`
}

// Encode returns the body of a message of LinkType.
func (c LinkChange) Encode() ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(encodedLink{linkVersion, c.Link, c.Change, c.Domain, c.Codes})
	if err != nil {
		return nil, fmt.Errorf("event: encode a change of a link: %w", err)
	}
	return b, nil
}

// DecodeLinkChange reads what Encode wrote. Its error means that the change may be of
// any link.
func DecodeLinkChange(b []byte) (LinkChange, error) {
	var e encodedLink
	if err := json.Unmarshal(b, &e); err != nil {
		return LinkChange{}, fmt.Errorf("event: not a change of a link: %w", err)
	}
	if e.Version != linkVersion {
		return LinkChange{}, fmt.Errorf("event: change of a link in version %d, this program knows %d", e.Version, linkVersion)
	}
	c := LinkChange{Link: e.Link, Change: e.Change, Domain: e.Domain, Codes: e.Codes}
	return c, c.check()
}

func (c LinkChange) check() error {
	switch {
	case c.Link <= 0:
		return errors.New("event: change of a link without its ID")
	case c.Change == "":
		return errors.New("event: change of a link that does not say what happened")
	case len(c.Codes) == 0, slices.Contains(c.Codes, ""):
		return errors.New("event: change of a link without its codes")
	}
	return nil
}
