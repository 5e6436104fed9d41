package web

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"snip"
	"snip/wire"
)

type oneKey struct {
	ID int64 `path:"id"`
}

type changeKey struct {
	ID   int64 `path:"id"`
	Body keyEdit
}

// keyBody is what may be said of a key when it is made.
type keyBody struct {
	Label     string       `json:"label" maxLength:"200" doc:"What it is for." example:"newsletter"`
	Scopes    []snip.Scope `json:"scopes" enum:"read,write,admin" minItems:"1" maxItems:"3" doc:"What it allows. admin is all of it."`
	Contact   string       `json:"contact,omitempty" maxLength:"200" doc:"Whom to ask about it." example:"mail@example.com"`
	TimeZone  string       `json:"time_zone,omitempty" maxLength:"64" doc:"IANA name of where the days of its statistics begin and end; empty for the server's." example:"Europe/Berlin"`
	Domain    *string      `json:"domain" required:"false" maxLength:"255" doc:"The only host whose links it reaches, empty for the instance's own; null for all. Not with scope admin."`
	OwnLinks  bool         `json:"own_links,omitempty" doc:"Whether it reaches only links that it made. Not with scope admin."`
	ExpiresAt *time.Time   `json:"expires_at" required:"false" doc:"null for never." example:"2028-01-01T00:00:00Z"`
}

// keyEdit is what may be said of a key that is there. What is left out stays.
type keyEdit struct {
	Label     *string `json:"label,omitempty" maxLength:"200"`
	Contact   *string `json:"contact,omitempty" maxLength:"200"`
	TimeZone  *string `json:"time_zone,omitempty" maxLength:"64"`
	ExpiresAt moment  `json:"expires_at,omitzero" doc:"null for never."`
}

type keyAnswer struct{ Body wire.Key }

type madeKey struct {
	Location string `header:"Location" doc:"Where the API has it." example:"/api/v1/keys/7"`
	Body     wire.NewKey
}

func (s *Server) mountKeys(a *api) {
	const (
		tag  = "Keys"
		all  = "/api/v1/keys"
		path = "/api/v1/keys/{id}"
	)
	register(a, operation{
		id: "list-keys", method: http.MethodGet, path: all, tag: tag, scope: snip.ScopeAdmin, summary: "List keys",
		about: "The newest first, revoked ones among them. No secret is told.",
	}, s.listKeys)
	register(a, operation{
		id: "create-key", method: http.MethodPost, path: all, tag: tag, scope: snip.ScopeAdmin, status: http.StatusCreated,
		summary: "Make a key", about: "The answer holds its secret, which cannot be read again.", refused: []snip.Code{snip.NotFound, snip.Conflict},
	}, s.createKey)
	register(a, operation{
		id: "get-current-key", method: http.MethodGet, path: "/api/v1/keys/current", tag: tag,
		summary: "Get the key that is used",
	}, s.currentKey)
	register(a, operation{
		id: "get-key", method: http.MethodGet, path: path, tag: tag, scope: snip.ScopeAdmin, summary: "Get a key",
		refused: []snip.Code{snip.NotFound},
	}, s.getKey)
	register(a, operation{
		id: "edit-key", method: http.MethodPatch, path: path, tag: tag, scope: snip.ScopeAdmin, summary: "Change a key",
		about: "What is left out stays as it is, and so does what it may do.", refused: []snip.Code{snip.NotFound, snip.Conflict},
	}, s.editKey)
	register(a, operation{
		id: "revoke-key", method: http.MethodDelete, path: path, tag: tag, scope: snip.ScopeAdmin, summary: "Revoke a key",
		about:   "It ends for ever; its links stay. The last admin key that is neither revoked nor expires is kept.",
		refused: []snip.Code{snip.NotFound, snip.Conflict},
	}, s.revokeKey)
}

func (s *Server) listKeys(ctx context.Context, c *caller, _ *struct{}) (*struct{ Body wire.KeyList }, error) {
	keys, err := c.ListKeys(ctx)
	return &struct{ Body wire.KeyList }{wire.KeyListOf(keys)}, err
}

func (s *Server) createKey(ctx context.Context, c *caller, in *struct{ Body keyBody }) (*madeKey, error) {
	b := in.Body
	k, secret, err := c.CreateKey(ctx, snip.NewKey{
		Label: b.Label, Scopes: b.Scopes, Contact: b.Contact, TimeZone: b.TimeZone, Domain: b.Domain, OwnLinks: b.OwnLinks,
		ExpiresAt: orZero(b.ExpiresAt),
	})
	if err != nil {
		return nil, err
	}
	return &madeKey{"/api/v1/keys/" + strconv.FormatInt(k.ID, 10), wire.NewKey{Key: wire.KeyOf(k), Secret: secret}}, nil
}

func (s *Server) currentKey(ctx context.Context, c *caller, _ *struct{}) (*keyAnswer, error) {
	return keyAnswerOf(c.CurrentKey(ctx))
}

func (s *Server) getKey(ctx context.Context, c *caller, in *oneKey) (*keyAnswer, error) {
	return keyAnswerOf(c.Key(ctx, in.ID))
}

func (s *Server) editKey(ctx context.Context, c *caller, in *changeKey) (*keyAnswer, error) {
	return keyAnswerOf(c.EditKey(ctx, in.ID, snip.KeyEdit{
		Label: in.Body.Label, Contact: in.Body.Contact, TimeZone: in.Body.TimeZone, ExpiresAt: in.Body.ExpiresAt.given(),
	}))
}

func (s *Server) revokeKey(ctx context.Context, c *caller, in *oneKey) (*keyAnswer, error) {
	return keyAnswerOf(c.RevokeKey(ctx, in.ID))
}

func keyAnswerOf(k snip.Key, err error) (*keyAnswer, error) {
	if err != nil {
		return nil, err
	}
	return &keyAnswer{wire.KeyOf(k)}, nil
}
