package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"snip"
)

// allowed returns the key of a request, or an error if it does not allow what takes a
// scope; the empty one takes any key.
func (s *Server) allowed(r *http.Request, scope snip.Scope) (snip.Key, error) {
	secret, ok := bearer(r)
	if !ok {
		return snip.Key{}, &snip.Error{
			Code: snip.Unauthorized, Message: `This needs a key, sent as "Authorization: Bearer snip_…".`,
		}
	}
	key, err := s.cfg.Keys.CheckKey(r.Context(), secret)
	if err != nil {
		return snip.Key{}, err
	}
	if scope != "" && !key.May(scope) {
		return snip.Key{}, &snip.Error{Code: snip.Forbidden, Message: "This takes a key with the scope " + string(scope) + "."}
	}
	return key, nil
}

// bearer returns the secret that a request brings.
func bearer(r *http.Request) (secret string, ok bool) {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	secret = strings.TrimSpace(secret)
	return secret, strings.EqualFold(scheme, "Bearer") && secret != ""
}

// secretInAddress refuses an address that holds a key: addresses end up in logs and in
// what browsers remember. What it says does not repeat it.
func secretInAddress(r *http.Request) error {
	holds := r.URL.User != nil
	for part := range strings.SplitSeq(r.URL.Path, "/") {
		holds = holds || isSecret(part)
	}
	// What cannot be read of the query is refused elsewhere, and not accepted here.
	query, _ := url.ParseQuery(r.URL.RawQuery)
	for name, values := range query {
		named := slices.Contains([]string{"key", "token", "access_token", "api_key", "apikey", "secret"}, strings.ToLower(name))
		holds = holds || named || isSecret(name) || slices.ContainsFunc(values, isSecret)
	}
	if !holds {
		return nil
	}
	return wrongField("", `A key must not stand in an address, where logs keep it. Send it as "Authorization: Bearer snip_…". `+
		`If it was a real one, revoke it.`)
}

// isSecret reports what looks like the secret of a key. Codes may begin with snip_ as
// well, but are not made up as long as that.
func isSecret(s string) bool {
	const prefix, least = "snip_", 26
	return strings.HasPrefix(s, prefix) && len(s) >= len(prefix)+least
}
