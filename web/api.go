package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"snip"
	"snip/problem"
)

// apiLimit is how long a question may take. A database that hangs must not hold a
// connection for ever.
const apiLimit = 30 * time.Second

// limited gives a request a limited time.
func limited(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), apiLimit)
		defer cancel()
		h(w, r.WithContext(ctx))
	}
}

// api is where operations are registered: for who sends requests, and for who reads
// the description.
type api struct {
	huma.API
	server *Server
	mux    *http.ServeMux
}

// mountAPI puts all operations of the API, and its description, on a mux.
func (s *Server) mountAPI(mux *http.ServeMux) {
	a := &api{server: s, mux: mux}
	a.API = huma.NewAPI(huma.Config{OpenAPI: description()}, a)
	bound(a.known())
	s.mountLinks(a)
	s.mountManyLinks(a)
	s.mountDomains(a)
	s.mountKeys(a)
	s.mountStats(a)
	a.settle()
	a.answerOtherMethods()
	s.mountDocs(mux, a.OpenAPI())
}

func (a *api) known() huma.Registry { return a.OpenAPI().Components.Schemas }

// operation is one thing that can be asked for.
type operation struct {
	id, method, path string
	tag              string
	summary, about   string
	scope            snip.Scope  // Empty: any key will do.
	status           int         // Of success. Default: 200.
	refused          []snip.Code // With what it may be refused, beside what every operation may.
}

// register adds an operation, with what does it. All that the description says of a
// request is so when do is called.
func register[I, O any](a *api, op operation, do func(context.Context, *caller, *I) (*O, error)) {
	_, body := reflect.TypeFor[I]().FieldByName("Body")
	huma.Register(a, a.describe(op, body), func(ctx context.Context, in *I) (*O, error) {
		c, ok := ctx.Value(callerKey{}).(*caller)
		if !ok {
			return nil, fmt.Errorf("web: %s is called by nobody", op.id)
		}
		out, err := do(ctx, c, in)
		if err != nil {
			return nil, a.server.refusal(c.request, err)
		}
		return out, nil
	})
}

// Handle is called for each operation when it is registered.
func (a *api) Handle(op *huma.Operation, answer func(huma.Context)) {
	a.mux.HandleFunc(op.Method+" "+op.Path, limited(func(w http.ResponseWriter, r *http.Request) {
		r, err := a.admit(w, r, op)
		if err != nil {
			a.server.fail(w, r, err)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		answer(humago.NewContext(op, r, w))
	}))
}

// admit lets a request through that has a key which allows the operation, and that is
// as the description says.
func (a *api) admit(w http.ResponseWriter, r *http.Request, op *huma.Operation) (*http.Request, error) {
	if err := secretInAddress(r); err != nil {
		return r, err
	}
	key, err := a.server.allowed(r, scopeOf(op))
	if err != nil {
		return r, err
	}
	if err := checkParameters(r, op.Parameters); err != nil {
		return r, err
	}
	if op.RequestBody != nil {
		body, err := readJSON(w, r, a.known(), op.RequestBody.Content["application/json"].Schema)
		if err != nil {
			return r, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	c := &caller{Service: a.server.cfg.Service(key), key: key}
	c.request = r.WithContext(context.WithValue(r.Context(), callerKey{}, c))
	return c.request, nil
}

// caller is who asks, and how.
type caller struct {
	snip.Service
	key     snip.Key
	request *http.Request
}

type callerKey struct{}

// given tells an empty parameter of the query from none.
func (c *caller) given(name string) bool { return c.request.URL.Query().Has(name) }

// API and Adapter of huma, as far as this one does it otherwise: whatever it is asked
// for, it speaks JSON.

func (a *api) Adapter() huma.Adapter { return a }

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

func (a *api) Negotiate(string) (string, error) { return "application/json", nil }

func (a *api) Unmarshal(_ string, body []byte, to any) error { return json.Unmarshal(body, to) }

func (a *api) Marshal(w io.Writer, _ string, v any) error {
	b, err := encode(v)
	if err != nil {
		return err
	}
	if _, err := w.Write(b); err != nil {
		a.server.log.Debug("an answer did not reach its client", "error", err)
	}
	return nil
}

// describe writes an operation for huma.
func (a *api) describe(op operation, body bool) huma.Operation {
	takes := []string{}
	if op.scope != "" {
		takes = append(takes, string(op.scope))
	}
	refused := append([]snip.Code{snip.Invalid, snip.Unauthorized, snip.Forbidden, snip.Internal, snip.Unavailable}, op.refused...)
	if body {
		refused = append(refused, snip.TooLarge)
	}
	responses := map[string]*huma.Response{}
	for _, code := range refused {
		responses[fmt.Sprint(problem.Status(code))] = a.refusalOf(code)
	}
	return huma.Operation{
		OperationID: op.id, Method: op.method, Path: op.path, Tags: []string{op.tag}, Summary: op.summary, Description: op.about,
		DefaultStatus: op.status, Responses: responses,
		Security: []map[string][]string{{"key": takes}},

		// All of it was checked, and the body was read, when huma comes to it.
		SkipValidateBody: true, SkipValidateParams: true, MaxBodyBytes: maxBody + 1, BodyReadTimeout: -1,
	}
}

// scopeOf returns the scope that an operation was described with.
func scopeOf(op *huma.Operation) snip.Scope {
	return snip.Scope(strings.Join(op.Security[0]["key"], ""))
}

// answerOtherMethods says for each path which methods it has. The more general of two
// paths speaks for both, because a mux takes only one.
func (a *api) answerOtherMethods() {
	paths := a.OpenAPI().Paths
	for path := range paths {
		general := true
		for other := range paths {
			general = general && (other == path || !covers(other, path))
		}
		if general {
			a.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
				a.server.otherMethod(strings.Join(a.methods(r.URL.EscapedPath()), ", "))(w, r)
			})
		}
	}
}

// methods returns those that there are at an address.
func (a *api) methods(address string) []string {
	var has []string
	for path, item := range a.OpenAPI().Paths {
		if !covers(path, address) {
			continue
		}
		for method, op := range map[string]*huma.Operation{
			http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPatch: item.Patch, http.MethodDelete: item.Delete,
		} {
			if op != nil {
				has = append(has, method)
			}
		}
	}
	all := []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodDelete}
	return slices.DeleteFunc(all, func(m string) bool {
		return !slices.Contains(has, m) && (m != http.MethodHead || !slices.Contains(has, http.MethodGet))
	})
}

// covers reports whether a path with names in braces stands for another one.
func covers(path, other string) bool {
	parts, others := strings.Split(path, "/"), strings.Split(other, "/")
	return len(parts) == len(others) && !slices.ContainsFunc(parts, func(part string) bool {
		i := slices.Index(parts, part)
		return part != others[i] && !strings.HasPrefix(part, "{")
	})
}
