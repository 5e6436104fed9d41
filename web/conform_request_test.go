package web_test

import (
	"fmt"
	"strconv"
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
	if o["password"] != nil {
		delete(o, "reuse")
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
