package web_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"snip"
	"snip/web"
)

const markup = `"'><script>alert(1)</script>&amp;`

// TestPages: every page there is, each with the headers that keep it to itself.
func TestPages(t *testing.T) {
	s := openSite(t, web.Config{OpenShorten: true, BaseURL: "https://sni.example"})
	s.create(snip.NewLink{Code: "abc", Settings: snip.Settings{Target: "https://example.com/?q=" + markup, Title: "T" + markup}})
	s.create(snip.NewLink{Code: "plain"})
	s.create(snip.NewLink{Code: "old", Settings: snip.Settings{ExpiresAt: s.clock.Now().Add(time.Minute)}})
	s.create(snip.NewLink{Code: "locked", Password: secret})
	l := s.create(snip.NewLink{Code: "once", Settings: snip.Settings{ClickLimit: 1}})
	s.come("/once", aPerson).wantRedirect(t, l.Target)
	s.domain(snip.NewDomain{Host: "go.example", NotFoundText: markup})
	s.clock.add(time.Hour)
	closed := openSite(t, web.Config{})
	down := openSite(t, web.Config{Service: as(down{}), Routes: routes(away), OpenShorten: true})
	for name, test := range map[string]struct {
		site   *site
		path   string
		form   url.Values
		status int
		title  string
		texts  []string
	}{
		"home":                 {s, "/", nil, 200, "Snip, a link shortener", []string{"Shorten a link", "Long link", "Code"}},
		"home, closed":         {closed, "/", nil, 200, "Snip, a link shortener", []string{"This is Snip", "needs a key"}},
		"made":                 {s, "/shorten", url.Values{"url": {"https://example.com/?" + markup}, "code": {"made"}}, 201, "https://sni.example/made", []string{"https://sni.example/made", "https://example.com/?" + markup}},
		"wrong target":         {s, "/shorten", url.Values{"url": {"bbc.co.uk/" + markup}}, 400, "Error: Snip, a link shortener", []string{"Did you mean https://bbc.co.uk/" + markup}},
		"wrong code":           {s, "/shorten", url.Values{"url": {"https://example.com"}, "code": {markup}}, 400, "Error: Snip, a link shortener", []string{"letters, digits"}},
		"code taken":           {s, "/shorten", url.Values{"url": {"https://example.com"}, "code": {"abc"}}, 409, "Error: Snip, a link shortener", []string{"is taken"}},
		"shorten, closed":      {closed, "/shorten", url.Values{"url": {"https://example.com"}}, 401, "A key is needed – Snip", []string{"This needs a key"}},
		"shorten, unavailable": {down, "/shorten", url.Values{"url": {"https://example.com"}}, 503, "Error: Snip, a link shortener", []string{"cannot be reached"}},
		"preview":              {s, "/abc+", nil, 200, "Preview of https://sni.example/abc", []string{"T" + markup, "https://example.com/?q=" + markup, "Go there"}},
		"preview, no title":    {s, "/plain+", nil, 200, "Preview of https://sni.example/plain", []string{"Where this link leads"}},
		"preview, hidden":      {s, "/locked+", nil, 200, "Preview of https://sni.example/locked", []string{"A link without preview", "Follow it"}},
		"password":             {s, "/locked", nil, 403, "A password is needed", []string{"Password"}},
		"used up":              {s, "/once", nil, 410, "Used up – Snip", []string{"as often as it may be"}},
		"custom domain":        {s, "http://go.example/", nil, 200, "go.example – Snip", []string{"Short links live here."}},
		"custom, not found":    {s, "http://go.example/none", nil, 404, "Nothing here – Snip", []string{markup}},
		"not found":            {s, "/none", nil, 404, "Nothing here – Snip", []string{"No link has this code."}},
		"no such page":         {s, "/a.b/c", nil, 404, "Nothing here – Snip", []string{"There is nothing at this address."}},
		"gone":                 {s, "/old", nil, 410, "Expired – Snip", []string{"This link has expired."}},
		"unavailable":          {down, "/abc", nil, 503, "One moment – Snip", []string{"Try again in a moment."}},
	} {
		t.Run(name, func(t *testing.T) {
			var got answer
			if test.form == nil {
				got = test.site.do(http.MethodGet, test.path, "", "Accept", asPage)
			} else {
				got = test.site.form(test.form)
			}
			got.want(t, test.status, "<!doctype html>", "</html>")
			got.wantHeader(t, "Content-Type", "text/html; charset=utf-8")
			policy := "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"
			if name != "password" { // Its form leads on to another site.
				policy += "; form-action 'self'"
			}
			got.wantHeader(t, "Content-Security-Policy", policy)
			got.wantHeader(t, "X-Content-Type-Options", "nosniff")
			got.wantHeader(t, "Referrer-Policy", "no-referrer")
			if !strings.Contains(got.header.Get("Cache-Control"), "no-store") {
				t.Errorf("Cache-Control: %q, want no-store", got.header.Get("Cache-Control"))
			}
			p := parse(t, got.body)
			if title := text(find(p, "title", "")); title != test.title {
				t.Errorf("title %q, want %q", title, test.title)
			}
			for _, want := range test.texts {
				if !strings.Contains(text(find(p, "body", "")), want) {
					t.Errorf("the page lacks %q: %s", want, text(find(p, "body", "")))
				}
			}
			// What was typed is text, wherever it stands; what runs comes from files.
			for script := range scripts(p) {
				if attribute(script, "src") == "" || script.FirstChild != nil {
					t.Errorf("a script stands in the page: %s", text(script))
				}
			}
			if strings.Contains(got.body, "<style") || strings.Contains(got.body, " style=") || strings.Contains(got.body, " onclick=") {
				t.Error("the page holds what its policy forbids")
			}
		})
	}
}

// TestFormKeepsWhatWasTyped: and says what is wrong next to the field.
func TestFormKeepsWhatWasTyped(t *testing.T) {
	s := openSite(t, web.Config{OpenShorten: true})
	for field, form := range map[string]url.Values{
		"url":  {"url": {"bbc.co.uk/" + markup}, "code": {"abc"}},
		"code": {"url": {"https://example.com/" + markup}, "code": {"a.b" + markup}},
	} {
		p := parse(t, s.form(form).body)
		for _, name := range []string{"url", "code"} {
			input := find(p, "input", name)
			if got := attribute(input, "value"); got != form.Get(name) {
				t.Errorf("%s holds %q, want %q", name, got, form.Get(name))
			}
			invalid, by := attribute(input, "aria-invalid"), attribute(input, "aria-describedby")
			if (name == field) != has(input, "autofocus") {
				t.Errorf("%s is wrong, and whether %s has the focus is, too", field, name)
			}
			if name != field {
				if invalid != "" || by != "" {
					t.Errorf("%s is marked as wrong: it is %s", name, field)
				}
				continue
			}
			if message := find(p, "p", by); invalid != "true" || by == "" || text(message) == "" || message.Parent != input.Parent {
				t.Errorf("%s: aria-invalid %q, message %q", name, invalid, by)
			}
		}
	}
}

func TestAssets(t *testing.T) {
	s := openSite(t, web.Config{})
	for path, kind := range map[string]string{
		"/-/assets/style.css": "text/css; charset=utf-8", "/-/assets/copy.js": "text/javascript; charset=utf-8", "/favicon.ico": "image/svg+xml",
	} {
		got := s.visit(path)
		got.want(t, http.StatusOK)
		got.wantHeader(t, "Content-Type", kind)
		got.wantHeader(t, "Cache-Control", "no-cache")
		got.wantHeader(t, "X-Content-Type-Options", "nosniff")
		s.do(http.MethodGet, path, "", "If-None-Match", got.header.Get("ETag")).want(t, http.StatusNotModified)
	}
}

// form sends the form of the home page as a browser does.
func (s *site) form(values url.Values) answer {
	s.t.Helper()
	return s.do(http.MethodPost, "/shorten", values.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", asPage, "Sec-Fetch-Site", "same-origin")
}

func parse(t *testing.T, page string) *html.Node {
	t.Helper()
	n, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// find returns the first element of a kind, and of an ID if that is not empty; nil
// for none.
func find(n *html.Node, element, id string) *html.Node {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.Data == element && (id == "" || attribute(d, "id") == id) {
			return d
		}
	}
	return nil
}

func scripts(n *html.Node) func(func(*html.Node) bool) {
	return func(yield func(*html.Node) bool) {
		for d := range n.Descendants() {
			if d.Type == html.ElementNode && d.Data == "script" && !yield(d) {
				return
			}
		}
	}
}

func attribute(n *html.Node, name string) string {
	if n == nil {
		return ""
	}
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	return n != nil && slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func text(n *html.Node) string {
	if n == nil {
		return ""
	}
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// href returns where the link of a class on a page leads.
func href(t *testing.T, page, class string) string {
	t.Helper()
	for d := range parse(t, page).Descendants() {
		if d.Data == "a" && attribute(d, "class") == class {
			return attribute(d, "href")
		}
	}
	t.Fatalf("no link of class %s", class)
	return ""
}
