package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"snip"
	"snip/web"
)

// TestConformance sends requests made from the description of the API, and compares
// every answer with it: valid requests, those at the edge of what is described, and
// broken ones. SNIP_CONFORM says how many of each operation; SNIP_CONFORM_SEED repeats
// a run.
func TestConformance(t *testing.T) {
	requests := 300
	if testing.Short() {
		requests = 150
	}
	requests = numberOf(t, "SNIP_CONFORM", requests)
	seed := numberOf(t, "SNIP_CONFORM_SEED", int(time.Now().UnixNano()%1_000_000))
	t.Logf("SNIP_CONFORM_SEED=%d: %d requests of each operation", seed, requests)

	d := readDescription(t)
	for path, methods := range d.root["paths"].(map[string]any) {
		for method, about := range methods.(map[string]any) {
			op := d.operation(t, strings.ToUpper(method), path, about.(map[string]any))
			t.Run(op.id, func(t *testing.T) {
				c := newConformer(t, d, op, rand.New(rand.NewPCG(uint64(seed), hashOf(op.id))))
				for n := range requests {
					if c.send(n); c.failures >= 3 {
						t.Fatalf("SNIP_CONFORM_SEED=%d: stopped at request %d", seed, n)
					}
				}
				t.Logf("answers: %s", c.figures())
			})
		}
	}
}

func numberOf(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

func hashOf(s string) (sum uint64) {
	for _, b := range []byte(s) {
		sum = sum*31 + uint64(b)
	}
	return sum
}

// described is the description of the API.
type described struct {
	root     map[string]any
	compiler *jsonschema.Compiler
}

const describedURL = "https://snip.example/openapi.json"

func readDescription(t *testing.T) *described {
	t.Helper()
	got := do(t, newServer(t, web.Config{}), http.MethodGet, "/api/v1/openapi.json", "")
	root, err := jsonschema.UnmarshalJSON(strings.NewReader(got.body))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(describedURL, root); err != nil {
		t.Fatal(err)
	}
	return &described{root.(map[string]any), c}
}

// schema compiles what a pointer into the description leads to.
func (d *described) schema(t *testing.T, pointer ...string) *jsonschema.Schema {
	t.Helper()
	for i, p := range pointer {
		pointer[i] = strings.ReplaceAll(strings.ReplaceAll(p, "~", "~0"), "/", "~1")
	}
	s, err := d.compiler.Compile(describedURL + "#/" + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(strings.Join(pointer, "/")))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// resolve follows references.
func (d *described) resolve(schema any) map[string]any {
	s := schema.(map[string]any)
	for s["$ref"] != nil {
		name := strings.TrimPrefix(s["$ref"].(string), "#/components/schemas/")
		s = d.root["components"].(map[string]any)["schemas"].(map[string]any)[name].(map[string]any)
	}
	return s
}

// operation is an operation as it is described.
type operation struct {
	id, method, path string
	scope            string
	parameters       []parameter
	body             map[string]any // Schema. Nil: none.
	bodySchema       *jsonschema.Schema
	responses        map[int]response
}

type parameter struct {
	name, in string
	schema   map[string]any
}

type response struct {
	headers []string
	content map[string]*jsonschema.Schema // By media type.
}

func (d *described) operation(t *testing.T, method, path string, about map[string]any) operation {
	t.Helper()
	at := []string{"paths", path, strings.ToLower(method)}
	op := operation{id: about["operationId"].(string), method: method, path: path, responses: map[int]response{}}
	if takes := about["security"].([]any)[0].(map[string]any)["key"].([]any); len(takes) > 0 {
		op.scope = takes[0].(string)
	}
	if list, ok := about["parameters"].([]any); ok {
		for _, p := range list {
			p := p.(map[string]any)
			op.parameters = append(op.parameters, parameter{p["name"].(string), p["in"].(string), d.resolve(p["schema"])})
		}
	}
	if body, ok := about["requestBody"].(map[string]any); ok {
		op.body = d.resolve(body["content"].(map[string]any)["application/json"].(map[string]any)["schema"])
		op.bodySchema = d.schema(t, append(slices.Clone(at), "requestBody", "content", "application/json", "schema")...)
	}
	for status, about := range about["responses"].(map[string]any) {
		code, err := strconv.Atoi(status)
		if err != nil {
			t.Fatalf("%s: status %q", op.id, status)
		}
		r := response{content: map[string]*jsonschema.Schema{}}
		about := about.(map[string]any)
		if headers, ok := about["headers"].(map[string]any); ok {
			for name := range headers {
				r.headers = append(r.headers, name)
			}
		}
		if content, ok := about["content"].(map[string]any); ok {
			for media := range content {
				r.content[media] = d.schema(t, append(slices.Clone(at), "responses", status, "content", media, "schema")...)
			}
		}
		op.responses[code] = r
	}
	return op
}

// conformer sends requests of one operation to a site of its own.
type conformer struct {
	t        *testing.T
	d        *described
	op       operation
	random   *rand.Rand
	site     *site
	keys     map[string]string // Secrets by their only scope.
	known    known
	answers  map[string]int
	failures int
}

func newConformer(t *testing.T, d *described, op operation, random *rand.Rand) *conformer {
	t.Helper()
	c := &conformer{t: t, d: d, op: op, random: random, site: openSite(t, web.Config{}), keys: map[string]string{}, answers: map[string]int{}}
	c.known.restock(t, c.site)
	for _, scope := range []snip.Scope{snip.ScopeRead, snip.ScopeWrite} {
		_, secret, err := c.site.store.CreateKey(t.Context(), snip.NewKey{Label: string(scope), Scopes: []snip.Scope{scope}})
		if err != nil {
			t.Fatal(err)
		}
		c.keys[string(scope)] = secret
	}
	return c
}

// request is what is sent, and what must come of it.
type request struct {
	kind   string
	path   map[string]string
	query  [][2]string
	raw    string // Of the query; in place of it.
	header http.Header
	body   []byte
	want   func(status int) bool
}

func (c *conformer) send(n int) {
	c.t.Helper()
	r := c.request()
	address := c.op.path
	for name, value := range r.path {
		address = strings.Replace(address, "{"+name+"}", escapePath(value), 1)
	}
	if query := r.rawQuery(); query != "" {
		address += "?" + query
	}
	sent, err := http.NewRequestWithContext(c.t.Context(), c.op.method, "http://example.com"+address, bytes.NewReader(r.body))
	if err != nil {
		c.t.Fatalf("%s: %v", address, err)
	}
	sent.Header, sent.RequestURI = r.header, address
	rec := httptest.NewRecorder()
	c.site.web.Handler().ServeHTTP(rec, sent)
	c.answers[fmt.Sprintf("%s %d", r.kind, rec.Code)]++
	if wrong := c.wrong(r, rec); wrong != "" {
		c.failures++
		c.t.Errorf("request %d, %s: %s\n%s %.500s\n%v\n%.1500q\n%d %v\n%.1500s", n, r.kind, wrong,
			c.op.method, address, r.header, r.body, rec.Code, rec.Header(), rec.Body)
	}
	c.known.learn(c.t, c.site, c.op, r, rec)
}

// wrong says how an answer differs from what is described.
func (c *conformer) wrong(r request, rec *httptest.ResponseRecorder) string {
	status := rec.Code
	about, ok := c.op.responses[status]
	switch {
	case !ok:
		return fmt.Sprintf("status %d is not described", status)
	case status >= 500:
		return "the server failed"
	case !r.want(status):
		return fmt.Sprintf("status %d must not come of it", status)
	}
	for _, name := range about.headers {
		if rec.Header().Get(name) == "" {
			return "the header " + name + " is missing"
		}
	}
	if len(about.content) == 0 {
		if rec.Body.Len() > 0 {
			return "there is a body, and none is described"
		}
		return ""
	}
	media, _, err := mime.ParseMediaType(rec.Header().Get("Content-Type"))
	schema, ok := about.content[media]
	if err != nil || !ok {
		return fmt.Sprintf("type %q is not described", rec.Header().Get("Content-Type"))
	}
	if !strings.HasSuffix(media, "json") {
		return ""
	}
	v, err := unmarshal(rec.Body.Bytes())
	if err == nil {
		err = schema.Validate(v)
	}
	if err != nil {
		return fmt.Sprintf("the body is not as described: %v", err)
	}
	if p, ok := v.(map[string]any); ok && status >= 400 && (fmt.Sprint(p["status"]) != strconv.Itoa(status) || p["detail"] == nil) {
		return "the problem speaks of another status, or says nothing"
	}
	return ""
}

func (c *conformer) figures() string {
	var lines []string
	for what, n := range c.answers {
		lines = append(lines, fmt.Sprintf("%s × %d", what, n))
	}
	slices.Sort(lines)
	return strings.Join(lines, ", ")
}

// jsonOf writes JSON as any client may.
func jsonOf(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // It was made of maps, lists and texts.
	}
	return b
}

// unmarshal reads JSON as the schemas want it.
func unmarshal(b []byte) (any, error) { return jsonschema.UnmarshalJSON(bytes.NewReader(b)) }
