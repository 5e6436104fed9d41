package visitor

import (
	"cmp"
	"strings"

	"github.com/medama-io/go-useragent/agents"

	"snip"
)

// agent is what a user agent tells.
type agent struct {
	class               snip.Class
	browser, os, device string
}

// readAgent classifies a user agent. Programs are told by their names, previews
// before bots. A person is whoever sends what browsers send: the form "Mozilla/5.0
// (…)" with a browser, a system or an app in it, or the name of a browser that has
// another form. All else, an empty user agent among it, is unknown.
func (r *Reader) readAgent(s string) agent {
	if class, ok := r.crawlers.class(innocent(s)); ok {
		return agent{class: class, browser: unknown, os: unknown, device: unknown}
	}
	parsed := r.parser.Parse(s)
	named := app(s)
	a := agent{class: snip.Unknown, browser: named, os: osName(s, parsed.OS()), device: deviceName(s, parsed.Device())}
	browserForm := strings.HasPrefix(s, "Mozilla/") || strings.HasPrefix(s, "Opera/")
	if named == "" {
		a.browser = parsed.Browser().String()
	} else if !browserForm {
		a.os, a.device = "", "" // The parser guesses.
	}
	if browserForm && a != (agent{class: snip.Unknown}) || named != "" {
		a.class = snip.Human
	}
	a.browser = cmp.Or(a.browser, unknown)
	a.os = cmp.Or(a.os, unknown)
	a.device = cmp.Or(a.device, unknown)
	return a
}

// app returns the name of a browser that the parser does not know: those inside
// apps, which send the user agent of the system's browser and add their own name,
// and some that do not look like a browser at all.
func app(s string) string {
	for _, known := range [...]struct{ part, name string }{
		{"Instagram ", "Instagram"},
		{"FBAN/", "Facebook"}, {"FBAV/", "Facebook"}, {"FB_IAB/", "Facebook"}, {"MetaIAB", "Facebook"},
		{"musical_ly", "TikTok"}, {"BytedanceWebview", "TikTok"}, {"trill_", "TikTok"},
		{"Snapchat/", "Snapchat"}, {"Snapchat ", "Snapchat"},
		{"[Pinterest/", "Pinterest"}, {"[LinkedInApp]", "LinkedIn"}, {"Twitter for ", "X"}, {"TwitterAndroid", "X"},
		{" Line/", "LINE"}, {"KAKAOTALK", "KakaoTalk"}, {"MicroMessenger/", "WeChat"}, {"NAVER(", "Naver"},
		{"GSA/", "Google app"}, {"DuckDuckGo/", "DuckDuckGo"}, {"Ddg/", "DuckDuckGo"}, {"MiuiBrowser/", "Mi Browser"},
		{"UCBrowser/", "UC Browser"}, {"QQBrowser/", "QQ Browser"}, {"Epiphany/", "GNOME Web"}, {"Konqueror/", "Konqueror"},
		{"Lynx/", "Lynx"}, {"ELinks/", "ELinks"}, {"Links (", "Links"}, {"w3m/", "w3m"}, {"Dillo/", "Dillo"}, {"NetSurf/", "NetSurf"},
	} {
		if strings.Contains(s, known.part) {
			return known.name
		}
	}
	return ""
}

func osName(s string, os agents.OS) string {
	switch {
	case strings.Contains(s, "KAIOS/"):
		return "KaiOS"
	case strings.Contains(s, "Web0S"), strings.Contains(s, "webOS"):
		return "webOS"
	case os == agents.OSMacOS:
		return "macOS"
	}
	return os.String()
}

func deviceName(s string, d agents.Device) string {
	has := func(part string) bool { return strings.Contains(s, part) }
	switch {
	case has("PlayStation"), has("Nintendo"), has("Xbox"):
		return "other"
	case has("iPad"), has("Tablet;"), has("Silk/") && !has("Mobile"):
		return "tablet"
	case has("iPhone"), has("KAIOS/"):
		return "phone"
	case has("SmartTV"), has("SMART-TV"), d == agents.DeviceTV:
		return "tv"
	case d == agents.DeviceTablet, has("Android") && has("Chrome/") && !has("Mobile"):
		return "tablet" // A browser on Android says Mobile if it is on a phone.
	case d == agents.DeviceMobile:
		return "phone"
	case d == agents.DeviceDesktop:
		return "desktop"
	}
	return ""
}
