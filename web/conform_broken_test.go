package web_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// broken is a request that is not as described. Whatever it is, nothing may come of it.
func (c *conformer) broken() request {
	ways := []func(*request) bool{c.breakAddress, c.breakParameter, c.breakKey, c.breakHeader}
	if c.op.body != nil {
		ways = append(ways, c.breakText, c.breakText, c.breakValue, c.breakValue, c.breakValue, c.breakFields)
	}
	for {
		r := c.valid()
		r.kind, r.want = "broken", exactly(http.StatusBadRequest)
		// Not every operation has something that can be broken in every way.
		if one(c, ways)(&r) {
			return r
		}
	}
}

func exactly(statuses ...int) func(int) bool {
	return func(status int) bool { return slices.Contains(statuses, status) }
}

// breakAddress has parameters that there are not, or that cannot be read.
func (c *conformer) breakAddress(r *request) bool {
	switch c.random.IntN(4) {
	case 0:
		r.query = append(r.query, [2]string{one(c, []string{"page", "Limit", "", "limit ", "[]", "code[]", "\x00"}), "1"})
	case 1:
		r.raw = one(c, []string{"%zz", "a=%", "a;b", "domain=%2"})
	case 2:
		r.query = append(r.query, [2]string{one(c, []string{"key", "token", "access_token", "search"}), c.site.key})
	default:
		for _, p := range c.op.parameters {
			if p.in == "query" && lists(p.schema) == 0 {
				r.query = append(r.query, [2]string{p.name, c.goodParameter(p)}, [2]string{p.name, c.goodParameter(p)})
				return true
			}
		}
		return false
	}
	return true
}

// breakParameter gives a parameter what its schema does not allow.
func (c *conformer) breakParameter(r *request) bool {
	p := parameter{}
	if len(c.op.parameters) > 0 {
		p = one(c, c.op.parameters)
	}
	var bad []string
	switch typeOf(p.schema) {
	case "integer":
		bad = []string{"x", "1.5", "", "0x10", "99999999999999999999", "-9223372036854775808", "1e3", " 1"}
		if _, most := boundsOf(p.schema); most < 1<<40 {
			bad = append(bad, fmt.Sprint(most+1), "1000000000000")
		}
	case "array":
		bad = []string{""}
	case "string":
		switch {
		case p.schema["enum"] != nil:
			bad = []string{"", "none", "NEWEST", "day,week"}
		case p.schema["format"] == "date":
			bad = []string{"", "today", "2026-13-01", "2026-11-01T00:00:00Z"}
		case p.name == "zone":
			bad = []string{"", "Local", "Mars/Olympus", "../x"}
		case p.in == "query" && p.name != "domain":
			bad = []string{"\x00", "\xff", "a\nb"}
		}
	}
	if len(bad) == 0 || p.in == "header" {
		return false
	}
	value := one(c, bad)
	if p.in == "path" {
		if value == "" {
			return false
		}
		r.path[p.name] = value
		return true
	}
	r.query = slices.DeleteFunc(r.query, func(q [2]string) bool { return q[0] == p.name })
	r.query = append(r.query, [2]string{p.name, value})
	return true
}

// breakKey has no key, a wrong one, or one that does not allow it.
func (c *conformer) breakKey(r *request) bool {
	if c.op.scope != "" && c.random.IntN(2) == 0 {
		for scope, secret := range c.keys {
			if scope != c.op.scope {
				r.header.Set("Authorization", "Bearer "+secret)
				r.want = exactly(http.StatusForbidden)
				return true
			}
		}
	}
	r.header.Set("Authorization", one(c, []string{
		"", "Bearer", "Bearer ", c.site.key, "Basic " + c.site.key, "Bearer " + c.site.key[1:], "Bearer snip_", "Bearer \x00", "Bearer é",
	}))
	r.want = exactly(http.StatusUnauthorized)
	return true
}

// breakHeader names a version that is not one, or not any more.
func (c *conformer) breakHeader(r *request) bool {
	for _, p := range c.op.parameters {
		switch p.name {
		case "If-Match":
			if c.random.IntN(2) == 0 {
				r.header.Set(p.name, one(c, []string{"", "1", `"1`, `"1", "2"`, "W/1"}))
			} else {
				r.header.Set(p.name, one(c, []string{`"0"`, `"x"`, `"999999999"`, `W/"99999999999999999999"`}))
				r.want = exactly(http.StatusPreconditionFailed, http.StatusNotFound, http.StatusConflict)
			}
			return true
		case "Idempotency-Key":
			r.header.Set(p.name, one(c, []string{"", "a\tb", "é", strings.Repeat("k", 256)}))
			return true
		}
	}
	return false
}

// breakText sends what is no JSON, or not as JSON.
func (c *conformer) breakText(r *request) bool {
	switch c.random.IntN(8) {
	case 0:
		r.body = r.body[:c.random.IntN(len(r.body))]
	case 1:
		r.body = append(r.body, one(c, []string{"x", "{}", "]", "\x00", ","})...)
	case 2:
		r.body = []byte(one(c, []string{"", "null", "[]", `"x"`, "1", "true", "{", "{]", "\xef\xbb\xbf{}", "url=https%3A%2F%2Fexample.com"}))
	case 3:
		r.header["Content-Type"] = one(c, [][]string{nil, {""}, {"text/plain"}, {"application/x-www-form-urlencoded"}, {"application/jsonp"}, {"application/json; charset"}})
	case 4:
		r.body = bytes.Replace(r.body, []byte("{"), []byte("{\"\xff\":1,"), 1)
	case 5:
		r.body = bytes.Replace(r.body, []byte("{"), []byte(`{"\ud83d":1,`), 1)
	case 6:
		r.body = bytes.Repeat([]byte("["), 20_000)
	default:
		if c.random.IntN(20) > 0 {
			return false
		}
		r.body = append(r.body, bytes.Repeat([]byte(" "), 1<<20)...)
		r.want = exactly(http.StatusRequestEntityTooLarge)
	}
	return true
}

// breakValue gives a field a value that its schema does not allow.
func (c *conformer) breakValue(r *request) bool {
	body := c.good("", c.op.body).(map[string]any)
	properties := c.op.body["properties"].(map[string]any)
	name := one(c, slices.Sorted(maps.Keys(properties)))
	schema := c.d.resolve(properties[name])
	bad := []any{
		nil, true, 1.5, "", "x", []any{}, []any{nil}, []any{1}, []any{[]any{}}, map[string]any{}, map[string]any{"x": 1},
		int64(-1), int64(1) << 62, strings.Repeat("x", limit(schema, "maxLength", 70_000)+1), many(limit(schema, "maxItems", 0) + 1),
		[]any{map[string]any{"split": []any{map[string]any{"url": "https://a.example", "weight": -1}}}},
		[]any{map[string]any{"url": "https://a.example", "when": map[string]any{"query": map[string]any{"a": nil}}}},
		[]any{map[string]any{"url": 1}}, []any{map[string]any{"url": "https://a.example", "when": map[string]any{"from": "yesterday"}}},
	}
	body[name] = one(c, bad)
	return c.sendUnlessAllowed(r, body)
}

func many(n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = "x"
	}
	return list
}

// breakFields has too few fields, or too many.
func (c *conformer) breakFields(r *request) bool {
	body := c.good("", c.op.body).(map[string]any)
	switch c.random.IntN(3) {
	case 0:
		body[one(c, []string{"id", "URL", "", "clicks", "__proto__", "$schema"})] = one(c, []any{nil, 1, "x"})
	case 1:
		required, _ := c.op.body["required"].([]any)
		if len(required) == 0 {
			return false
		}
		delete(body, one(c, required).(string))
	default:
		if len(body) == 0 {
			return false
		}
		name := one(c, slices.Sorted(maps.Keys(body)))
		twice := append([]byte("{"), jsonOf(name)...)
		twice = append(append(append(twice, ':'), jsonOf(body[name])...), ',')
		r.body = append(twice, jsonOf(body)[1:]...)
		return true
	}
	return c.sendUnlessAllowed(r, body)
}

// sendUnlessAllowed sends a body that the description does not allow.
func (c *conformer) sendUnlessAllowed(r *request, body map[string]any) bool {
	r.body = jsonOf(body)
	v, err := unmarshal(r.body)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.op.bodySchema.Validate(v) != nil
}
