package web_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

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
			r.header.Set(p.name, one(c, []string{"~", fmt.Sprintf("%0255d", c.random.Uint64()), fmt.Sprint(c.random.Uint64())}))
		}
	}
	if c.op.body != nil {
		r.body = jsonOf(c.oddBody())
	}
	return r
}

// oddBody has one odd field among good ones, or is odd all over.
func (c *conformer) oddBody() any {
	properties := c.op.body["properties"].(map[string]any)
	if c.random.IntN(4) == 0 {
		return c.odd(c.op.body, 0)
	}
	body := c.good("", c.op.body).(map[string]any)
	name := one(c, slices.Sorted(maps.Keys(properties)))
	body[name] = c.odd(properties[name].(map[string]any), 1)
	return body
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
		return one(c, []string{"1970-01-01", "9999-12-31", "2024-02-29", "2026-11-29"})
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
