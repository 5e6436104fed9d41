package snip_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"snip"
)

func TestNewLinkCheck(t *testing.T) {
	rules := snip.Rules{Own: own}
	full := func() snip.NewLink {
		return snip.NewLink{
			Domain: "Kürzer.example", Code: strings.Repeat("c", 64), Password: strings.Repeat("p", snip.MaxPassword), IdempotencyKey: "a key",
			Settings: snip.Settings{
				Target: "https://user:pa%40ss@10.0.0.1/private", // Only a redirect: the server never goes there.
				Title:  strings.Repeat("ü", snip.MaxTitle), Note: "Zeile\r\nund\tmehr\n",
				Tags: []string{"<b>markup</b>", "b", "Grüße an alle", "🙂"}, StartsAt: noon.In(time.FixedZone("", 9000)), ExpiresAt: noon.Add(1),
				ClickLimit: snip.MaxClickLimit, Fallback: "tel:+4970712", Status: 308, Query: snip.QueryOverride, ForwardPath: true,
				Campaign: snip.Campaign{Source: "Brief & Post", Content: strings.Repeat("ü", snip.MaxCampaign)},
				Rules:    []snip.Rule{{When: snip.Conditions{Countries: []string{"DE"}}, Target: "https://de.example/"}},
			},
		}
	}
	for _, n := range []snip.NewLink{full(), {Code: "a", Settings: snip.Settings{Target: "tel:+1"}}, {Reuse: true, Settings: snip.Settings{Target: target}}} {
		if err := n.Check(noon, rules); err != nil {
			t.Errorf("%+v.Check() = %v, want nil", n, err)
		}
	}
	tests := []struct {
		name           string
		change         func(*snip.NewLink)
		field, message string
	}{
		{"no target", func(n *snip.NewLink) { n.Target = "" }, "url", "missing"},
		{"target", func(n *snip.NewLink) { n.Target = "bbc.co.uk" }, "url", "no scheme"},
		{"target with a line end", func(n *snip.NewLink) { n.Target = "https://example.com/\r\nSet-Cookie:x" }, "url", "U+000D"},
		{"target of 64 KiB and a byte", func(n *snip.NewLink) { n.Target = "https://example.com/" + strings.Repeat("x", 64<<10-19) }, "url", "65537 bytes"},
		{"domain with a port", func(n *snip.NewLink) { n.Domain = "e.example:80" }, "domain", "port"},
		{"code", func(n *snip.NewLink) { n.Code = "api" }, "code", "reserved"},
		{"code of 65", func(n *snip.NewLink) { n.Code += "c" }, "code", "65 characters"},
		{"long title", func(n *snip.NewLink) { n.Title += "x" }, "title", "501 characters"},
		{"title with a line end", func(n *snip.NewLink) { n.Title = "a\nb" }, "title", "U+000A"},
		{"title not UTF-8", func(n *snip.NewLink) { n.Title = "\xff" }, "title", "UTF-8"},
		{"long note", func(n *snip.NewLink) { n.Note = strings.Repeat("x", snip.MaxNote+1) }, "note", "5001 characters"},
		{"note with a bell", func(n *snip.NewLink) { n.Note = "\a" }, "note", "U+0007"},
		{"tag with a comma", func(n *snip.NewLink) { n.Tags = []string{"a", "b,c"} }, "tags[1]", "as a list"},
		{"empty tag", func(n *snip.NewLink) { n.Tags = []string{""} }, "tags[0]", "empty"},
		{"tag with a space before", func(n *snip.NewLink) { n.Tags = []string{" a"} }, "tags[0]", "space"},
		{"tag with a wide space behind", func(n *snip.NewLink) { n.Tags = []string{"a\u3000"} }, "tags[0]", "space"},
		{"tag with a tab inside", func(n *snip.NewLink) { n.Tags = []string{"a\tb"} }, "tags[0]", "U+0009"},
		{"long tag", func(n *snip.NewLink) { n.Tags = []string{strings.Repeat("ü", 51)} }, "tags[0]", "51 characters"},
		{"tag twice", func(n *snip.NewLink) { n.Tags = []string{"a", "b", "a"} }, "tags[2]", "twice"},
		{"many tags", func(n *snip.NewLink) { n.Tags = numbered(snip.MaxTags + 1) }, "tags", "51 tags"},
		{"expiry now", func(n *snip.NewLink) { n.StartsAt, n.ExpiresAt = time.Time{}, noon }, "expires_at", "it is 2026-11-29T12:00:00Z now"},
		{"expiry in the past", func(n *snip.NewLink) { n.StartsAt, n.ExpiresAt = time.Time{}, noon.Add(-time.Hour) }, "expires_at", "already"},
		{"expiry out of reach", func(n *snip.NewLink) { n.ExpiresAt = noon.AddDate(9000, 0, 0) }, "expires_at", "9999"},
		{"start out of reach", func(n *snip.NewLink) { n.StartsAt = noon.AddDate(9000, 0, 0) }, "starts_at", "9999"},
		{"start at the end", func(n *snip.NewLink) { n.StartsAt = n.ExpiresAt }, "starts_at", "before it starts"},
		{"limit below none", func(n *snip.NewLink) { n.ClickLimit = -1 }, "click_limit", "0 for no limit"},
		{"limit out of reach", func(n *snip.NewLink) { n.ClickLimit++ }, "click_limit", "1000000000"},
		{"fallback", func(n *snip.NewLink) { n.Fallback = "javascript:x" }, "fallback_url", "never"},
		{"fallback to a code here", func(n *snip.NewLink) { n.Fallback = "https://sni.example/abc" }, "fallback_url", "short link"},
		{"status", func(n *snip.NewLink) { n.Status = 303 }, "status", "301, 302, 307 or 308"},
		{"query", func(n *snip.NewLink) { n.Query = "off" }, "query", "keep"},
		{"query to no web", func(n *snip.NewLink) { n.Target = "tel:+1" }, "query", "url"},
		{"path to no web", func(n *snip.NewLink) { n.Query, n.Campaign, n.Target = "", snip.Campaign{}, "tel:+1" }, "forward_path", "url"},
		{"campaign to no web", func(n *snip.NewLink) { n.Query, n.ForwardPath, n.Rules[0].Target = "", false, "tel:+1" }, "campaign", "rules[0].url"},
		{"path to this server", func(n *snip.NewLink) { n.Target = "https://u@sni.example/" }, "forward_path", "short link"},
		{"path of an arm to this server", func(n *snip.NewLink) {
			n.Rules = []snip.Rule{{Split: []snip.Arm{{Target: target, Weight: 1}, {Target: "http://sni.example/-/"}}}}
		}, "forward_path", "rules[0].split[1].url"},
		{"campaign with a line end", func(n *snip.NewLink) { n.Campaign.Name = "a\nb" }, "campaign.name", "U+000A"},
		{"long campaign", func(n *snip.NewLink) { n.Campaign.Content += "x" }, "campaign.content", "101 characters"},
		{"rule", func(n *snip.NewLink) { n.Rules[0].Target = "https://sni.example/abc" }, "rules[0].url", "short link"},
		{"rule in the past", func(n *snip.NewLink) { n.Rules[0].When.Until = noon }, "rules[0].when.until", "never fit"},
		{"long password", func(n *snip.NewLink) { n.Password += "p" }, "password", "257 bytes"},
		{"password that cannot be typed", func(n *snip.NewLink) { n.Password = "a\nb" }, "password", "typed"},
		{"password of what is reused", func(n *snip.NewLink) { n.Reuse = true }, "reuse", "password"},
		{"long idempotency key", func(n *snip.NewLink) { n.IdempotencyKey = strings.Repeat("x", 256) }, "Idempotency-Key", "256 bytes"},
		{"idempotency key not in ASCII", func(n *snip.NewLink) { n.IdempotencyKey = "ü" }, "Idempotency-Key", "0xc3"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			n := full()
			test.change(&n)
			wantInvalid(t, n.Check(noon, rules), test.field, test.message)
		})
	}
}

func TestLinkEditCheck(t *testing.T) {
	past, far, text := noon.Add(-time.Hour), noon.AddDate(9000, 0, 0), func(s string) *string { return &s }
	none, tags, aliases := []string{}, []string{"b", "a"}, []string{"x", "X"}
	for _, e := range []snip.LinkEdit{
		{}, {Title: text("")}, {ExpiresAt: &past}, {ExpiresAt: &time.Time{}}, {Password: text("")}, {Tags: &none}, {Tags: &tags},
		{Aliases: &none}, {Aliases: &aliases}, {Fallback: text("")}, {Rules: &[]snip.Rule{}}, {Campaign: &snip.Campaign{}},
		{Target: text("https://example.com"), Code: text("abc"), Title: text("T"), KeepCode: true},
		{Rules: &[]snip.Rule{{When: snip.Conditions{Until: past}, Target: target}}}, // It may have been there before.
	} {
		if err := e.Check(snip.Rules{}); err != nil {
			t.Errorf("%+v.Check() = %v, want nil", e, err)
		}
	}
	twice, limit, status, query, yes := []string{"a", "a"}, int64(-1), 200, snip.QueryPolicy("x"), true
	many := numbered(snip.MaxAliases + 1)
	tests := []struct {
		edit           snip.LinkEdit
		field, message string
	}{
		{snip.LinkEdit{Target: text("javascript:x")}, "url", "never"},
		{snip.LinkEdit{Target: text("https://sni.example/abcd")}, "url", "short link"},
		{snip.LinkEdit{Target: text("")}, "url", "missing"},
		{snip.LinkEdit{Code: text("")}, "code", "missing"},
		{snip.LinkEdit{KeepCode: true}, "keep_code", "code"},
		{snip.LinkEdit{Title: text("\x00")}, "title", "U+0000"},
		{snip.LinkEdit{Note: text("\x00")}, "note", "U+0000"},
		{snip.LinkEdit{Tags: &twice}, "tags[1]", "twice"},
		{snip.LinkEdit{Aliases: &twice}, "aliases[1]", "twice"},
		{snip.LinkEdit{Aliases: &[]string{"a", "api"}}, "aliases[1]", "reserved"},
		{snip.LinkEdit{Aliases: &many}, "aliases", "21 aliases"},
		{snip.LinkEdit{Password: text(strings.Repeat("x", 257))}, "password", "257 bytes"},
		{snip.LinkEdit{StartsAt: &far}, "starts_at", "9999"},
		{snip.LinkEdit{ExpiresAt: &far}, "expires_at", "9999"},
		{snip.LinkEdit{StartsAt: &noon, ExpiresAt: &past}, "starts_at", "before it starts"},
		{snip.LinkEdit{ClickLimit: &limit}, "click_limit", "no limit"},
		{snip.LinkEdit{Fallback: text("x")}, "fallback_url", "scheme"},
		{snip.LinkEdit{Status: &status}, "status", "301"},
		{snip.LinkEdit{Query: &query}, "query", "override"},
		{snip.LinkEdit{Target: text("tel:+1"), ForwardPath: &yes}, "forward_path", "http:"},
		{snip.LinkEdit{Rules: &[]snip.Rule{{}}}, "rules[0].url", "nowhere"},
		{snip.LinkEdit{Campaign: &snip.Campaign{Term: "\n"}}, "campaign.term", "U+000A"},
	}
	for _, test := range tests {
		wantInvalid(t, test.edit.Check(snip.Rules{Own: own}), test.field, test.message)
	}
}

// TestEditReachesEverySetting keeps Apply from forgetting one.
func TestEditReachesEverySetting(t *testing.T) {
	want := snip.Settings{
		Target: "https://a.example", Title: "t", Note: "n", Tags: []string{"a", "b"}, StartsAt: noon, ExpiresAt: noon.Add(1), ClickLimit: 1,
		Fallback: "https://f.example", Status: 301, Query: snip.QueryKeep, ForwardPath: true,
		Rules: []snip.Rule{{Target: "https://r.example"}}, Campaign: snip.Campaign{Source: "s"},
	}
	tags := []string{"b", "a"}
	e := snip.LinkEdit{
		Target: &want.Target, Title: &want.Title, Note: &want.Note, Tags: &tags, StartsAt: &want.StartsAt, ExpiresAt: &want.ExpiresAt,
		ClickLimit: &want.ClickLimit, Fallback: &want.Fallback, Status: &want.Status, Query: &want.Query, ForwardPath: &want.ForwardPath,
		Rules: &want.Rules, Campaign: &want.Campaign,
	}
	if got := e.Apply(snip.Settings{}); !reflect.DeepEqual(got, want) {
		t.Errorf("Apply = %+v, want %+v", got, want)
	}
	if !slices.Equal(tags, []string{"b", "a"}) {
		t.Error("Apply changed the edit")
	}
	if got := (snip.LinkEdit{}).Apply(want); !reflect.DeepEqual(got, want) {
		t.Errorf("Apply of no edit = %+v, want %+v", got, want)
	}
	v := reflect.ValueOf(want)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("the test leaves out %s", v.Type().Field(i).Name)
		}
	}
}

func TestEditedLinkIsCheckedTogether(t *testing.T) {
	tests := []struct {
		name     string
		settings snip.Settings
		field    string
	}{
		{"times", snip.Settings{Target: target, StartsAt: noon, ExpiresAt: noon}, "starts_at"},
		{"query", snip.Settings{Target: "mailto:a@b.c", Query: snip.QueryKeep}, "query"},
		{"path", snip.Settings{Target: target, ForwardPath: true, Rules: []snip.Rule{{Target: "tel:+1"}}}, "forward_path"},
		{"campaign", snip.Settings{Target: "mailto:a@b.c", Campaign: snip.Campaign{Term: "t"}}, "campaign"},
		{"own", snip.Settings{Target: "https://SNI.example", ForwardPath: true}, "forward_path"},
	}
	for _, test := range tests {
		wantInvalid(t, test.settings.CheckTogether(snip.Rules{Own: own}), test.field, "")
		wantInvalid(t, test.settings.Check(snip.Rules{Own: own}), test.field, "")
	}
	// Each by itself is not looked at again.
	if err := (snip.Settings{Target: "https://sni.example/abc", Title: "\n"}).CheckTogether(snip.Rules{Own: own}); err != nil {
		t.Errorf("CheckTogether = %v, want nil", err)
	}
}

func TestCleanTags(t *testing.T) {
	given := []string{"b", "ä", "B", "a", "b"}
	if got, want := snip.CleanTags(given), []string{"B", "a", "b", "ä"}; !slices.Equal(got, want) {
		t.Errorf("CleanTags = %q, want %q", got, want)
	}
	if given[0] != "b" {
		t.Error("CleanTags changed what it was given")
	}
}

// numbered returns different codes.
func numbered(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("n%d", i)
	}
	return list
}
