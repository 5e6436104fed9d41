package web_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// request makes one: half of them valid, the others odd or broken.
func (c *conformer) request() request {
	switch n := c.random.IntN(10); {
	case n < 4:
		return c.valid()
	case n < 6:
		return c.edge()
	}
	return c.broken()
}

// valid is a request that is as described and that means something.
func (c *conformer) valid() request {
	r := request{kind: "valid", path: map[string]string{}, header: bearing(c.site.key)}
	r.want = func(status int) bool { return status < 300 || status == 404 || status == 409 }
	ref := one(c, c.known.links)
	domain := ref.Domain
	for _, p := range c.op.parameters {
		wanted := c.random.IntN(3) == 0
		switch {
		case p.in == "path":
			r.path[p.name] = map[string]string{"code": ref.Code, "host": one(c, append(c.known.hosts, "-")), "id": strconv.FormatInt(one(c, c.known.keys), 10)}[p.name]
		case p.name == "domain":
			if domain != "" || wanted {
				r.query = append(r.query, [2]string{"domain", domain})
			}
		case p.name == "If-Match" && wanted:
			r.header.Set(p.name, "*")
		case p.name == "Idempotency-Key" && wanted:
			r.header.Set(p.name, strconv.FormatUint(c.random.Uint64(), 36))
		case p.in == "query" && wanted && p.name != "cursor":
			for range 1 + c.random.IntN(2)*c.random.IntN(2)*lists(p.schema) {
				r.query = append(r.query, [2]string{p.name, c.goodParameter(p)})
			}
		}
	}
	if c.op.id == "list-links" && c.known.next != "" && c.random.IntN(2) == 0 {
		r.query = append(r.query[:0:0], [2]string{"cursor", c.known.next})
		for _, p := range c.known.nextFor {
			if p[0] != "cursor" {
				r.query = append(r.query, p)
			}
		}
	}
	c.tidy(&r)
	if c.op.body != nil {
		r.body = jsonOf(c.good("", c.op.body))
	}
	return r
}

// tidy takes out what is described to have no sense together.
func (c *conformer) tidy(r *request) {
	has := map[string]bool{}
	for _, p := range r.query {
		has[p[0]] = true
	}
	var kept [][2]string
	for _, p := range r.query {
		if p[0] == "tag" && has["code"] || p[0] == "from" && !has["to"] {
			continue
		}
		kept = append(kept, p)
	}
	r.query = kept
}

func lists(s map[string]any) int {
	if s["type"] == "array" {
		return 1
	}
	return 0
}

func (c *conformer) goodParameter(p parameter) string {
	switch p.name {
	case "code":
		return one(c, c.known.links).Code
	case "tag":
		return one(c, []string{"red", "blue", "é"})
	case "from":
		return fmt.Sprintf("2026-10-%02d", 1+c.random.IntN(31))
	case "to":
		return fmt.Sprintf("2026-11-%02d", 1+c.random.IntN(30))
	case "zone":
		return one(c, []string{"UTC", "Europe/Berlin", "Pacific/Apia", "Asia/Kathmandu"})
	case "search":
		return one(c, []string{"exa", "example com", "é", "snip_docs", "a-b", "code:x", `"quoted" OR`, "*", "https://example.com/"})
	case "owner":
		return one(c, []string{"1", "2", "999"})
	}
	return fmt.Sprint(c.good(p.name, p.schema))
}

// good makes a value of a field that means something.
func (c *conformer) good(name string, schema map[string]any) any {
	schema = c.d.resolve(schema)
	switch name {
	case "url", "fallback_url", "root_url", "not_found_url":
		return one(c, []string{"https://example.com/", "https://example.org/a?b=c#d", "http://10.0.0.1:81/", "https://bücher.example/ü"})
	case "code":
		return fmt.Sprintf("c%x", c.random.Uint32())
	case "domain":
		return one(c, append(c.known.hosts, ""))
	case "host":
		return fmt.Sprintf("n%x.example", c.random.Uint32())
	case "password":
		if c.random.IntN(8) > 0 {
			return "" // Every other one takes time to hash.
		}
		return "secret"
	case "starts_at":
		return "2027-01-01T00:00:00+01:00"
	case "expires_at":
		return one(c, []any{"2028-02-29T12:00:00.5Z", nil})
	case "aliases":
		return []any{}
	case "time_zone":
		return one(c, []string{"", "Europe/Berlin", "UTC"})
	case "scopes":
		return one(c, [][]string{{"read"}, {"read", "write"}, {"admin"}})
	case "rules":
		return c.goodRules()
	case "links":
		var refs []any
		for range 1 + c.random.IntN(3) {
			l := one(c, c.known.links)
			refs = append(refs, map[string]any{"domain": l.Domain, "code": l.Code})
		}
		return refs
	case "tags":
		return one(c, [][]string{{"red"}, {"red", "blue", "<b>"}, {"é"}})
	}
	if enum, ok := schema["enum"].([]any); ok {
		return one(c, enum)
	}
	switch typeOf(schema) {
	case "object":
		return c.goodObject(schema)
	case "integer":
		least, most := boundsOf(schema)
		return least + c.random.Int64N(min(most-least, 1000)+1)
	case "boolean":
		return c.random.IntN(2) == 0
	}
	return one(c, []string{"Spring", "grün", "春", "a b c"})
}

func (c *conformer) goodObject(schema map[string]any) map[string]any {
	o := map[string]any{}
	required, _ := schema["required"].([]any)
	properties, _ := schema["properties"].(map[string]any)
	for name, s := range properties {
		if among(required, name) || c.random.IntN(4) == 0 {
			o[name] = c.good(name, s.(map[string]any))
		}
	}
	// What is described to have sense together only, or not together.
	if o["code"] == nil {
		delete(o, "keep_code")
	}
	if scopes, ok := o["scopes"].([]string); ok && scopes[0] == "admin" {
		delete(o, "domain")
		delete(o, "own_links")
	}
	if o["action"] == "tag" || o["action"] == "untag" {
		o["tags"] = []string{"red"}
	} else if o["action"] != nil {
		delete(o, "tags")
	}
	return o
}

func (c *conformer) goodRules() any {
	rules := []any{}
	for i := range c.random.IntN(4) {
		when := map[string]any{"query": map[string]any{fmt.Sprintf("q%d", i): []any{"x"}}}
		for name, values := range map[string][]string{
			"devices": {"phone", "desktop"}, "systems": {"iOS", "android"}, "languages": {"de", "pt-BR"}, "countries": {"DE", "CH"},
		} {
			if c.random.IntN(3) == 0 {
				when[name] = values
			}
		}
		rule := map[string]any{"when": when, "url": "https://example.com/rule"}
		if c.random.IntN(2) == 0 {
			delete(rule, "url")
			rule["split"] = []any{map[string]any{"url": "https://a.example/", "weight": 1}, map[string]any{"url": "https://b.example/", "weight": 0, "name": "b"}}
		}
		rules = append(rules, rule)
	}
	return rules
}

// edge is a request that is as described, though nobody means it.
func (c *conformer) edge() request {
	r := c.valid()
	r.kind, r.query = "edge", nil
	r.want = func(status int) bool { return status < 500 && status != 401 && status != 403 }
	for _, p := range c.op.parameters {
		value := fmt.Sprint(c.odd(p.schema, 0))
		switch {
		case p.in == "path" && p.name != "id" && c.random.IntN(3) == 0:
			r.path[p.name] = value
		case p.in == "path" && p.name == "id":
			r.path[p.name] = one(c, []string{"9223372036854775807", "1000000", "1000001"})
		case p.in == "query" && c.random.IntN(2) == 0:
			r.query = append(r.query, [2]string{p.name, value})
		case p.name == "If-Match":
			r.header.Set(p.name, one(c, []string{`"1"`, `W/"1"`, `"x"`, `""`, "*"}))
		case p.name == "Idempotency-Key":
			r.header.Set(p.name, one(c, []string{"k", "~", strings.Repeat("k", 255)}))
		}
	}
	if c.op.body != nil {
		r.body = jsonOf(c.odd(c.op.body, 0))
	}
	return r
}

// odd makes a value at the edge of what a schema allows.
func (c *conformer) odd(schema map[string]any, depth int) any {
	schema = c.d.resolve(schema)
	if types, ok := schema["type"].([]any); ok && len(types) > 1 && c.random.IntN(3) == 0 {
		return nil
	}
	if enum, ok := schema["enum"].([]any); ok {
		return one(c, enum)
	}
	switch typeOf(schema) {
	case "object":
		return c.oddObject(schema, depth)
	case "array":
		items := []any{}
		least, most := limit(schema, "minItems", 0), limit(schema, "maxItems", 3)
		n := one(c, []int{least, least + 1, most})
		if depth > 1 {
			n = min(n, max(least, 2))
		}
		for range n {
			items = append(items, c.odd(schema["items"].(map[string]any), depth+1))
		}
		return items
	case "integer":
		least, most := boundsOf(schema)
		return one(c, []int64{least, most, min(most, max(least, 0)), min(most, least+1)})
	case "boolean":
		return c.random.IntN(2) == 0
	}
	switch schema["format"] {
	case "date-time":
		return one(c, []string{"2027-01-31T12:00:00Z", "0001-01-01T00:00:01Z", "9999-12-31T23:59:59.999999999Z", "2020-02-29T00:00:00-23:59", "2027-01-31T12:00:00+14:00"})
	case "date":
		return one(c, []string{"1970-01-01", "9999-12-31", "2024-02-29", time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)})
	}
	return c.oddText(schema)
}

func (c *conformer) oddObject(schema map[string]any, depth int) any {
	o := map[string]any{}
	required, _ := schema["required"].([]any)
	properties, _ := schema["properties"].(map[string]any)
	for name, s := range properties {
		if among(required, name) || c.random.IntN(3+depth) == 0 {
			o[name] = c.odd(s.(map[string]any), depth+1)
			if name == "url" && c.random.IntN(2) == 0 || name == "password" {
				o[name] = c.good(name, s.(map[string]any))
			}
		}
	}
	if more, ok := schema["additionalProperties"].(map[string]any); ok {
		for range c.random.IntN(3) {
			o[c.oddText(map[string]any{})] = c.odd(more, depth+1)
		}
	}
	return o
}

func (c *conformer) oddText(schema map[string]any) string {
	pattern, _ := schema["pattern"].(string)
	most := limit(schema, "maxLength", 64)
	var s string
	if pattern != "" {
		s = one(c, []string{"a", "-", "_", strings.Repeat("z", 64), "API", "0"})
	} else {
		s = one(c, []string{
			"", " ", "x", "é", "\U0001F600", "\u202eabc", "a\u200fb", "a,b", "<script>alert(1)</script>", "%00", "../..", `"`, `\`, "'", "\u00a0", "\ufeff",
			"null", "0", "-1", "https://example.com/", "javascript:alert(1)", "*", "a\nb", "\x7f", "\u0085", "ﬀ", "İ", "ß", "\uffff",
			strings.Repeat("a", most), strings.Repeat("é", most), strings.Repeat("\U0001F600", most),
		})
	}
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most])
	}
	if least := limit(schema, "minLength", 0); len([]rune(s)) < least {
		s = strings.Repeat("a", least)
	}
	return s
}

func one[T any](c *conformer, list []T) T { return list[c.random.IntN(len(list))] }

func among(list []any, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

// typeOf returns the type of a schema that is not null.
func typeOf(schema map[string]any) string {
	if types, ok := schema["type"].([]any); ok {
		return types[0].(string)
	}
	t, _ := schema["type"].(string)
	return t
}

func limit(schema map[string]any, name string, otherwise int) int {
	if v, ok := schema[name]; ok {
		n, err := strconv.Atoi(fmt.Sprint(v))
		if err != nil {
			panic(err)
		}
		return n
	}
	return otherwise
}

func boundsOf(schema map[string]any) (least, most int64) {
	least, most = math.MinInt64/2, math.MaxInt64/2
	for name, to := range map[string]*int64{"minimum": &least, "maximum": &most} {
		if v, ok := schema[name]; ok {
			f, err := strconv.ParseFloat(fmt.Sprint(v), 64)
			if err != nil {
				panic(err)
			}
			*to = int64(f)
		}
	}
	return least, most
}
