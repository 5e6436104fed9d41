package web_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"snip"
	"snip/web"
)

// routes answers where links lead.
type routes func(ctx context.Context, domain, code string) (snip.Route, error)

func (f routes) Route(ctx context.Context, domain, code string) (snip.Route, error) {
	return f(ctx, domain, code)
}

// errAway is the error of a store that cannot be reached.
var errAway = &snip.Error{Code: snip.Unavailable, Message: "The database cannot be reached."}

func unknown(code string) error {
	return &snip.Error{Code: snip.NotFound, Field: "code", Message: "No link has the code " + code + "."}
}

// openServer returns the handler of a server without a store: it makes every link
// that it is asked for, and keeps none.
func openServer(t *testing.T, cfg web.Config) http.Handler {
	t.Helper()
	cfg.Service = as(maker{})
	return newServer(t, cfg).Handler()
}

type maker struct{ nowhere }

func (maker) CreateLink(_ context.Context, n snip.NewLink) (snip.Link, bool, error) {
	return snip.Link{ID: 1, Code: "made", Settings: snip.Settings{Target: n.Target}}, true, nil
}

// down is a service whose store cannot be reached. What is not here a test does not ask.
type down struct{ snip.Service }

func (down) CreateLink(context.Context, snip.NewLink) (snip.Link, bool, error) {
	return snip.Link{}, false, errAway
}

func (down) Link(context.Context, snip.Ref) (snip.Link, error) { return snip.Link{}, errAway }

// nowhere knows no link, no key, and keeps no note.
type nowhere struct{ snip.Service }

func (nowhere) Link(_ context.Context, r snip.Ref) (snip.Link, error) {
	return snip.Link{}, unknown(r.Code)
}

func (nowhere) Route(_ context.Context, _, code string) (snip.Route, error) {
	return snip.Route{}, unknown(code)
}

func (nowhere) TakeClick(context.Context, int64, int64) (bool, error) { return false, nil }
func (nowhere) ClickLeft(context.Context, int64, int64) (bool, error) { return false, nil }

func (nowhere) CheckKey(context.Context, string) (snip.Key, error) {
	return snip.Key{}, &snip.Error{Code: snip.Unauthorized, Message: "This key is not known here."}
}

func (nowhere) Record(time.Time, []byte) error { return nil }
