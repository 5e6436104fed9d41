package web_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"snip"
	"snip/web"
)

const describedAt = "../docs/openapi.json"

// TestDescription: what the server says of its API is what stands in the repository, so
// that a change of it is seen in review. SNIP_WRITE=1 writes it.
func TestDescription(t *testing.T) {
	w := newServer(t, web.Config{})
	got := do(t, w, http.MethodGet, "/api/v1/openapi.json", "")
	got.want(t, http.StatusOK)
	got.wantHeader(t, "Content-Type", "application/json")
	got.wantHeader(t, "Cache-Control", "no-cache")
	if os.Getenv("SNIP_WRITE") == "1" {
		if err := os.WriteFile(describedAt, []byte(got.body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(describedAt)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.body, "\n")); diff != "" {
		t.Errorf("the API is not as described (SNIP_WRITE=1 writes it anew): %s", diff)
	}
	do(t, w, http.MethodGet, "/api/v1/openapi.json", "", "If-None-Match", got.header.Get("ETag")).want(t, http.StatusNotModified)
	yaml := do(t, w, http.MethodGet, "/api/v1/openapi.yaml", "")
	yaml.want(t, http.StatusOK, "operationId: create-link", "openapi: 3.1.0")
	yaml.wantHeader(t, "Content-Type", "application/yaml")
	if leak := strings.Contains(got.body, "ErrorModel") || strings.Contains(got.body, "$schema"); leak {
		t.Error("the description speaks of what nothing answers")
	}
}

// TestBoundsAreDescribed: the numbers in the description are those of the domain.
func TestBoundsAreDescribed(t *testing.T) {
	var d struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct {
					MaxLength, MaxItems int
					Maximum             float64
					Items               struct{ MaxLength int }
				}
			}
		}
	}
	do(t, newServer(t, web.Config{}), http.MethodGet, "/api/v1/openapi.json", "").decode(t, &d)
	for _, schema := range []string{"LinkToMake", "LinkToEdit"} {
		p := d.Components.Schemas[schema].Properties
		for name, want := range map[string][2]int{
			"url": {p["url"].MaxLength, snip.MaxTarget}, "fallback_url": {p["fallback_url"].MaxLength, snip.MaxTarget},
			"title": {p["title"].MaxLength, snip.MaxTitle}, "note": {p["note"].MaxLength, snip.MaxNote},
			"tags": {p["tags"].MaxItems, snip.MaxTags}, "a tag": {p["tags"].Items.MaxLength, snip.MaxTag},
			"click_limit": {int(p["click_limit"].Maximum), snip.MaxClickLimit}, "password": {p["password"].MaxLength, snip.MaxPassword},
			"rules": {p["rules"].MaxItems, snip.MaxRules},
		} {
			if want[0] != want[1] {
				t.Errorf("%s: %s is bounded by %d, want %d", schema, name, want[0], want[1])
			}
		}
	}
	for name, want := range map[string][2]int{
		"aliases": {d.Components.Schemas["LinkToEdit"].Properties["aliases"].MaxItems, snip.MaxAliases},
		"label":   {d.Components.Schemas["KeyToMake"].Properties["label"].MaxLength, snip.MaxLabel},
		"links":   {d.Components.Schemas["Bulk"].Properties["links"].MaxItems, snip.MaxBulk},
		"text":    {d.Components.Schemas["DomainToAdd"].Properties["not_found_text"].MaxLength, snip.MaxNote},
		"split":   {d.Components.Schemas["Rule"].Properties["split"].MaxItems, snip.MaxArms},
		"weight":  {int(d.Components.Schemas["Arm"].Properties["weight"].Maximum), snip.MaxWeight},
	} {
		if want[0] != want[1] {
			t.Errorf("%s is bounded by %d, want %d", name, want[0], want[1])
		}
	}
}

// TestDocsPage: the page asks nobody but this server, and runs nothing that stands in it.
func TestDocsPage(t *testing.T) {
	w := newServer(t, web.Config{})
	got := do(t, w, http.MethodGet, "/api/v1/docs", "")
	got.want(t, http.StatusOK, "/-/assets/swagger/swagger-ui-bundle.js", "/-/assets/docs.js")
	got.wantHeader(t, "Content-Type", "text/html; charset=utf-8")
	if strings.Contains(got.body, "http://") || strings.Contains(got.body, "https://") {
		t.Error("the page names another site")
	}
	policy := got.header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self';", "connect-src 'self'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("policy %q lacks %s", policy, part)
		}
	}
	for path, contentType := range map[string]string{
		"docs.js": "javascript", "docs.css": "text/css", "swagger/swagger-ui-bundle.js": "javascript", "swagger/swagger-ui.css": "text/css",
	} {
		asset := do(t, w, http.MethodGet, "/-/assets/"+path, "")
		asset.want(t, http.StatusOK)
		asset.wantHeader(t, "Cache-Control", "no-cache")
		if got := asset.header.Get("Content-Type"); !strings.Contains(got, contentType) || asset.header.Get("ETag") == "" {
			t.Errorf("%s: type %q, ETag %q", path, got, asset.header.Get("ETag"))
		}
	}
}

// TestDocsInABrowser: the page shows every operation, asks with a key that is typed in,
// and forgets it.
func TestDocsInABrowser(t *testing.T) {
	s := openSite(t, web.Config{})
	s.create(snip.NewLink{Code: "spring"}) // The example, which is filled in.
	address, _ := serve(t, s.web)
	b := openBrowser(t)
	b.open(address + "/api/v1/docs")
	b.run(chromedp.WaitVisible(chromedp.CSS("#operations-Links-create-link")))
	b.look("docs")
	if n := read(b, chromedp.Evaluate[int](`document.querySelectorAll(".opblock").length`)); n != 23 {
		t.Errorf("%d operations are shown, want 23", n)
	}

	b.run(
		chromedp.EmulateViewport(1280, 800),
		chromedp.Click(chromedp.CSS(".authorize")),
		chromedp.WaitVisible(chromedp.CSS(".auth-container input")),
		chromedp.SendKeys(chromedp.CSS(".auth-container input"), s.key),
		chromedp.Click(chromedp.CSS(".auth-btn-wrapper .authorize")),
		chromedp.Click(chromedp.CSS(".auth-btn-wrapper .btn-done")),
		chromedp.Click(chromedp.CSS("#operations-Links-get-link .opblock-summary-control")),
		chromedp.WaitVisible(chromedp.CSS("#operations-Links-get-link .try-out__btn")),
		chromedp.Click(chromedp.CSS("#operations-Links-get-link .try-out__btn")),
		chromedp.WaitVisible(chromedp.CSS("#operations-Links-get-link .execute")),
	)
	b.run(
		chromedp.Click(chromedp.CSS("#operations-Links-get-link .execute")),
		chromedp.WaitVisible(chromedp.CSS("#operations-Links-get-link .live-responses-table")),
	)
	shown := read(b, chromedp.Text(chromedp.CSS("#operations-Links-get-link .live-responses-table")))
	if !strings.Contains(shown, "200") || !strings.Contains(shown, `"code": "spring"`) {
		t.Errorf("Try it out answers %.500s", shown)
	}
	b.look("docs-tried")
	kept := read(b, chromedp.Evaluate[string](`JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.cookie`))
	if strings.Contains(kept, s.key) {
		t.Error("the browser keeps the key")
	}
	b.open(address + "/api/v1/docs")
	b.run(chromedp.WaitVisible(chromedp.CSS(".authorize.unlocked")))
}
