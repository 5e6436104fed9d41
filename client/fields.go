package client

import (
	"cmp"
	"time"
	"unicode/utf8"

	"snip"
)

// fields is the body of a request. The first field that cannot be sent is remembered.
type fields struct {
	m   map[string]any
	err error
}

func (f *fields) set(name string, value any) {
	if f.m == nil {
		f.m = map[string]any{}
	}
	f.m[name] = value
}

// check refuses what is no UTF-8: the encoder would send other characters in its place
// without a word.
func (f *fields) check(name string, texts ...string) {
	for _, s := range texts {
		if f.err == nil && !utf8.ValidString(s) {
			f.err = &snip.Error{Code: snip.Invalid, Field: name, Message: "Is not valid UTF-8."}
		}
	}
}

func (f *fields) text(name, value string) {
	f.check(name, value)
	f.set(name, value)
}

// optional leaves out what is nil.
func (f *fields) optional(name string, value *string) {
	if value != nil {
		f.text(name, *value)
	}
}

func (f *fields) texts(name string, list []string) {
	f.check(name, list...)
	f.set(name, append([]string{}, list...))
}

// instant sends the zero time, which stands for none, as null.
func (f *fields) instant(name string, t *time.Time) {
	switch {
	case t == nil:
	case t.IsZero():
		f.set(name, nil)
	default:
		f.set(name, *t)
	}
}

func (f *fields) values() (map[string]any, error) {
	if f.m == nil {
		f.m = map[string]any{}
	}
	return f.m, f.err
}

// newFields is a link that is asked for. What is not said is left out.
func newFields(n snip.NewLink) (map[string]any, error) {
	e := snip.LinkEdit{
		Code: said(n.Code), Password: said(n.Password), Target: &n.Target, Title: said(n.Title), Note: said(n.Note),
		StartsAt: saidAt(n.StartsAt), ExpiresAt: saidAt(n.ExpiresAt), ClickLimit: said(n.ClickLimit), Fallback: said(n.Fallback),
		Status: said(n.Status), Query: said(n.Query), ForwardPath: said(n.ForwardPath), Campaign: said(n.Campaign),
	}
	if len(n.Tags) > 0 {
		e.Tags = &n.Tags
	}
	if len(n.Rules) > 0 {
		e.Rules = &n.Rules
	}
	f := linkFields(e)
	f.optional("domain", said(n.Domain))
	if n.Reuse {
		f.set("reuse", true)
	}
	return f.values()
}

func said[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

func saidAt(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func editFields(e snip.LinkEdit) (map[string]any, error) {
	f := linkFields(e)
	if e.KeepCode {
		f.set("keep_code", true)
	}
	if e.Aliases != nil {
		f.texts("aliases", *e.Aliases)
	}
	if e.Archived != nil {
		f.set("archived", *e.Archived)
	}
	return f.values()
}

// linkFields is what is not nil of what a person says of a link.
func linkFields(e snip.LinkEdit) (f fields) {
	f.optional("code", e.Code)
	f.optional("url", e.Target)
	f.optional("title", e.Title)
	f.optional("note", e.Note)
	f.optional("password", e.Password)
	f.optional("fallback_url", e.Fallback)
	if e.Tags != nil {
		f.texts("tags", *e.Tags)
	}
	f.instant("starts_at", e.StartsAt)
	f.instant("expires_at", e.ExpiresAt)
	if e.ClickLimit != nil {
		f.set("click_limit", *e.ClickLimit)
	}
	if e.Status != nil {
		f.set("status", cmp.Or(*e.Status, 307))
	}
	if e.Query != nil {
		f.text("query", cmp.Or(string(*e.Query), "off"))
	}
	if e.ForwardPath != nil {
		f.set("forward_path", *e.ForwardPath)
	}
	if e.Rules != nil {
		f.check("rules", textsOf(*e.Rules)...)
		f.set("rules", append([]snip.Rule{}, *e.Rules...))
	}
	if c := e.Campaign; c != nil {
		f.check("campaign", c.Source, c.Medium, c.Name, c.Term, c.Content)
		f.set("campaign", *c)
	}
	return f
}

// textsOf returns all texts of rules.
func textsOf(rules []snip.Rule) (all []string) {
	for _, r := range rules {
		all = append(all, r.Name, r.Target)
		for _, a := range r.Split {
			all = append(all, a.Name, a.Target)
		}
		for _, list := range [][]string{r.When.Devices, r.When.Systems, r.When.Languages, r.When.Countries} {
			all = append(all, list...)
		}
		for name, values := range r.When.Query {
			all = append(append(all, name), values...)
		}
	}
	return all
}
