package visitor_test

import (
	_ "embed"
	"strings"
	"testing"

	"snip"
	"snip/visitor"
)

//go:embed testdata/crawlers.txt
var crawlers string

//go:embed testdata/browsers.txt
var browsers string

func open(tb testing.TB, cfg visitor.Config) *visitor.Reader {
	tb.Helper()
	r, err := visitor.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func class(r *visitor.Reader, userAgent string) snip.Class {
	return r.Profile(visitor.Facts{UserAgent: userAgent}).Class
}

// TestCrawlersAreNotHuman tries every example that came with the list of crawlers.
func TestCrawlersAreNotHuman(t *testing.T) {
	r := open(t, visitor.Config{})
	tried := 0
	for line := range strings.Lines(crawlers) {
		kind, agent, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		tried++
		switch got := class(r, agent); {
		case kind == "preview" && got != snip.Preview, got != snip.Preview && got != snip.Bot:
			t.Errorf("%s %q is %s", kind, agent, got)
		}
	}
	if tried < 2000 {
		t.Errorf("only %d examples were tried", tried)
	}
}

func TestBrowsersAreHuman(t *testing.T) {
	r := open(t, visitor.Config{})
	tried := 0
	for line := range strings.Lines(browsers) {
		device, agent, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		tried++
		p := r.Profile(visitor.Facts{UserAgent: agent})
		if p.Class != snip.Human || p.Device != device || p.Browser == "" || p.OS == "" {
			t.Errorf("%q is %+v, want a person's %s", agent, p, device)
		}
	}
	if tried < 80 {
		t.Errorf("only %d browsers were tried", tried)
	}
}

func TestClass(t *testing.T) {
	const chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36"
	r := open(t, visitor.Config{})
	for agent, want := range map[string]snip.Class{
		chrome:                      snip.Human,
		"":                          snip.Unknown,
		" ":                         snip.Unknown,
		"x":                         snip.Unknown,
		"Mozilla/5.0":               snip.Unknown,
		"Mozilla/5.0 (\x00\xff)":    snip.Unknown,
		"curl/8.5.0":                snip.Bot,
		"Wget/1.21.4":               snip.Bot,
		"Go-http-client/2.0":        snip.Bot,
		"python-requests/2.32.3":    snip.Bot,
		"okhttp/4.12.0":             snip.Bot,
		"axios/1.7.2":               snip.Bot,
		"node":                      snip.Bot,
		"Java/21.0.3":               snip.Bot,
		"PostmanRuntime/7.39.0":     snip.Bot,
		"Weather/1 CFNetwork/1496":  snip.Bot,
		"NobodysListedBot/1.0":      snip.Bot,
		chrome + " new-crawler/1.0": snip.Bot,
		chrome + " +https://a.test": snip.Bot,
		"Dalvik/2.1.0 (Linux; U; Android 14; Pixel 8 Build/AP1A)":                           snip.Bot,
		"Mozilla/5.0 (Windows NT; Windows NT 10.0; en-US) WindowsPowerShell/5.1.22621.2506": snip.Bot,
		strings.Replace(chrome, "Chrome/", "HeadlessChrome/", 1):                            snip.Bot,
		"Twitterbot/1.0": snip.Preview,
		"facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)": snip.Preview,
		"WhatsApp/2.23.20.0 A": snip.Preview,
		"Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)":                                      snip.Preview,
		"TelegramBot (like TwitterBot)":                                                                   snip.Preview,
		"Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)":                               snip.Preview,
		"LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)":           snip.Preview,
		"Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com": snip.Preview,
		"http.rb/5.1.1 (Mastodon/4.2.1; +https://mastodon.social/)":                                       snip.Preview,
		"Pleroma 2.6.0; https://example.com <a@example.com>":                                              snip.Preview,
		"Iframely/1.3.1 (+https://iframely.com/docs/about)":                                               snip.Preview,
		"Viber":                       snip.Preview,
		"Signal":                      snip.Preview,
		"SomethingNew Link Preview/2": snip.Preview,
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)": snip.Bot,
		// What Apple's messages send: it names them to be let in, and is a preview itself.
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0": snip.Preview,
		"meta-externalagent/1.1 (+https://developers.facebook.com/docs/sharing/webmasters/crawler)":                                                                           snip.Bot,
	} {
		if got := class(r, agent); got != want {
			t.Errorf("%q is %s, want %s", agent, got, want)
		}
	}
}

func TestProgramsHaveNoBrowser(t *testing.T) {
	p := open(t, visitor.Config{}).Profile(visitor.Facts{
		UserAgent: "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/41.0.2272.96 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
	})
	if p.Class != snip.Bot || p.Browser != "unknown" || p.OS != "unknown" || p.Device != "unknown" {
		t.Errorf("profile %+v", p)
	}
}

func TestPurposeIsPrefetch(t *testing.T) {
	const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
	r := open(t, visitor.Config{})
	for purpose, want := range map[string]snip.Class{
		"":                               snip.Human,
		"prefetch":                       snip.Prefetch,
		"Prefetch":                       snip.Prefetch,
		"prefetch;prerender":             snip.Prefetch,
		"prefetch;anonymous-client-ip":   snip.Prefetch,
		"prerender":                      snip.Prefetch,
		"preview":                        snip.Prefetch,
		"navigate":                       snip.Human,
		strings.Repeat("x", 9000):        snip.Human,
		"\x00\xff":                       snip.Human,
		strings.Repeat("é", 80) + "pref": snip.Human,
	} {
		p := r.Profile(visitor.Facts{UserAgent: firefox, Purpose: purpose})
		if p.Class != want {
			t.Errorf("purpose %q: %s, want %s", purpose, p.Class, want)
		}
		if p.Browser != "Firefox" {
			t.Errorf("purpose %q: browser %q", purpose, p.Browser)
		}
	}
}
