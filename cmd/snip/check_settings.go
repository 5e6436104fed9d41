package main

import (
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/caarlos0/env/v11"
)

// setting is a variable of the environment as it is in effect.
type setting struct {
	Name    string `json:"setting"`
	Value   string `json:"value"`
	Default bool   `json:"default"` // Nothing was said.
}

// settings are all variables, with secrets masked.
func (c *checker) settings() []setting {
	said := env.ToMap(c.environ)
	chosen := map[string]string{ // What depends on other settings.
		"SNIP_METRICS_ADDR": c.cfg.MetricsAddr, "SNIP_CONNECTIONS": strconv.Itoa(c.cfg.Connections),
		"SNIP_OPEN_SHORTEN": strconv.FormatBool(c.cfg.openShorten()),
	}
	var all []setting
	add := func(name, otherwise string) {
		s := setting{Name: name, Value: said[name]}
		if s.Value == "" {
			s.Value, s.Default = otherwise, true
		}
		s.Value = mask(name, s.Value)
		all = append(all, s)
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[config]()) {
		name := f.Tag.Get("env")
		if name == "" {
			continue
		}
		otherwise, ok := chosen[name]
		if !ok {
			otherwise = f.Tag.Get("envDefault")
		}
		add(name, otherwise)
	}
	add("SNIP_SERVER", "")
	add("SNIP_KEY", "")
	return all
}

// masked stands in the place of a secret.
const masked = "xxxxx"

// mask hides what is secret of a variable's value.
func mask(name, value string) string {
	if name == "SNIP_KEY" {
		return maskKey(value)
	}
	isURL := strings.HasSuffix(name, "_URL") || name == "SNIP_SERVER"
	if !isURL || value == "" {
		return value
	}
	u, err := url.Parse(value)
	if err != nil || (u.Scheme == "" || u.Opaque != "") && strings.ContainsAny(value, "@=") {
		return masked // Whatever it is, it may hold a password.
	}
	if u.User != nil {
		name := u.User.Username()
		if _, ok := u.User.Password(); ok {
			u.User = url.UserPassword(name, masked)
		}
	}
	q := u.Query()
	for name := range q {
		if isSecret(name) {
			q.Set(name, masked)
		}
	}
	if u.RawQuery != "" {
		u.RawQuery = q.Encode()
	}
	return u.String()
}

func isSecret(parameter string) bool {
	p := strings.ToLower(parameter)
	return strings.Contains(p, "pass") || strings.Contains(p, "secret") || strings.Contains(p, "token") || p == "key"
}

// secretsOf takes the secrets of the environment out of a text, such as an error that
// quotes what it was given.
func secretsOf(environ []string) *strings.Replacer {
	var pairs []string
	hide := func(secret string) {
		if len(secret) > 2 { // Shorter ones would be found everywhere.
			pairs = append(pairs, secret, masked)
		}
	}
	for name, value := range env.ToMap(environ) {
		if name == "SNIP_KEY" || name == "PGPASSWORD" {
			hide(strings.TrimSpace(value))
		}
		if u, err := url.Parse(value); err == nil && u.User != nil && strings.Contains(value, "://") {
			if password, ok := u.User.Password(); ok {
				hide(password)
				_, raw, _ := strings.Cut(strings.TrimPrefix(value, u.Scheme+"://"), ":")
				raw, _, _ = cutLast(raw, "@")
				hide(raw) // As it stands there, percent-encoded.
			}
			for parameter, values := range u.Query() {
				if isSecret(parameter) {
					hide(values[0])
				}
			}
		}
	}
	if saved, err := readProfiles(environ); err == nil {
		for _, p := range saved.Profiles {
			hide(p.Key)
		}
	}
	return strings.NewReplacer(pairs...)
}
