package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"snip/problem"
)

// about is what a reader of the description is told first.
const about = `Everything that can be done with links, on behalf of a key.

**Keys.** Send one as ` + "`Authorization: Bearer snip_…`" + `. In an address it is refused, for addresses end up in logs. ` +
	`Scope ` + "`read`" + ` sees links, domains and statistics, ` + "`write`" + ` makes and changes links, ` + "`admin`" + ` does all of it and changes domains and keys. ` +
	`What a key may not see is not there for it: 404.

**Bodies** are JSON of at most 1 MB. A field that is not known, or there twice, is refused. So is an unknown parameter.

**Errors** are problem documents (RFC 9457). ` + "`code`" + ` is for programs, ` + "`errors`" + ` names the input that is wrong and says how to mend it.

**Versions.** ` + "`ETag`" + ` is the version of a link or a domain. Sent back as ` + "`If-Match`" + `, a change is made only if nobody else made one meanwhile.

**Times** are RFC 3339 with any offset; answers have them in UTC.`

// description is that of an API without operations.
func description() *huma.OpenAPI {
	return &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "Snip", Version: "v1", Description: about,
			License: &huma.License{Name: "Apache License 2.0", Identifier: "Apache-2.0"},
		},
		Tags: []*huma.Tag{{Name: "Links"}, {Name: "Statistics"}, {Name: "Domains"}, {Name: "Keys"}},
		Components: &huma.Components{
			Schemas:         huma.NewMapRegistry("#/components/schemas/", schemaName),
			SecuritySchemes: map[string]*huma.SecurityScheme{"key": {Type: "http", Scheme: "bearer", Description: "A key such as snip_…"}},
		},
	}
}

// schemaName names a type in the description.
func schemaName(t reflect.Type, hint string) string {
	switch t {
	case reflect.TypeFor[problem.Field]():
		return "WrongInput"
	case reflect.TypeFor[linkBody]():
		return "LinkToMake"
	case reflect.TypeFor[linkEdit]():
		return "LinkToEdit"
	case reflect.TypeFor[bulkBody]():
		return "Bulk"
	case reflect.TypeFor[domainBody]():
		return "DomainToAdd"
	case reflect.TypeFor[domainEdit]():
		return "DomainToEdit"
	case reflect.TypeFor[keyBody]():
		return "KeyToMake"
	case reflect.TypeFor[keyEdit]():
		return "KeyToEdit"
	}
	return huma.DefaultSchemaNamer(t, hint)
}

// mountDocs serves the description, which is whole, to programs and to people. It is
// written when somebody asks: most servers are never asked.
func (s *Server) mountDocs(mux *http.ServeMux, d *huma.OpenAPI) {
	for path, h := range map[string]http.Handler{
		"/api/v1/openapi.json": s.described("application/json", func() ([]byte, error) { return indented(d) }),
		"/api/v1/openapi.yaml": s.described("application/yaml", d.YAML),
		"/api/v1/docs":         s.docsPage(),
	} {
		mux.Handle("GET "+path, h)
		mux.HandleFunc(path, s.otherMethod("GET, HEAD"))
	}
	for _, name := range []string{"docs.js", "docs.css", "swagger/swagger-ui-bundle.js", "swagger/swagger-ui.css"} {
		mux.Handle("GET /-/assets/"+name, s.asset(name))
	}
}

func indented(d *huma.OpenAPI) ([]byte, error) {
	written, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := json.Indent(&text, written, "", "  "); err != nil {
		return nil, err
	}
	text.WriteByte('\n')
	return text.Bytes(), nil
}

// described serves the description, whose version is in its ETag.
func (s *Server) described(contentType string, write func() ([]byte, error)) http.Handler {
	once := sync.OnceValues(write)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := once()
		if err != nil {
			s.fail(w, r, fmt.Errorf("web: describe the API: %w", err))
			return
		}
		h := w.Header()
		h.Set("Content-Type", contentType)
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", tagOfContent(sha256.Sum256(text)))
		h.Set("X-Content-Type-Options", "nosniff")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
	})
}

// docsPage serves the page that shows the description. What shows it writes styles of its
// own into the page, and pictures.
func (s *Server) docsPage() http.Handler {
	h := s.described("text/html; charset=utf-8", func() ([]byte, error) { return files.ReadFile("assets/docs.html") })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "+
			"img-src 'self' data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'")
		w.Header().Set("Referrer-Policy", "no-referrer")
		h.ServeHTTP(w, r)
	})
}
