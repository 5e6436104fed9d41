package visitor

import "strings"

// named is a part of user agents and what it stands for.
type named struct{ part, name string }

// apps are browsers inside apps, which send the user agent of the system's browser and
// add their own name, and some that do not look like a browser at all.
var apps = [...]named{
	{"Instagram ", "Instagram"},
	{"FBAN/", "Facebook"}, {"FBAV/", "Facebook"}, {"FB_IAB/", "Facebook"}, {"MetaIAB", "Facebook"},
	{"musical_ly", "TikTok"}, {"BytedanceWebview", "TikTok"}, {"trill_", "TikTok"},
	{"Snapchat/", "Snapchat"}, {"Snapchat ", "Snapchat"},
	{"[Pinterest/", "Pinterest"}, {"[LinkedInApp]", "LinkedIn"}, {"Twitter for ", "X"}, {"TwitterAndroid", "X"},
	{" Line/", "LINE"}, {"KAKAOTALK", "KakaoTalk"}, {"MicroMessenger/", "WeChat"}, {"NAVER(", "Naver"},
	{"GSA/", "Google app"}, {"DuckDuckGo/", "DuckDuckGo"}, {"Ddg/", "DuckDuckGo"}, {"MiuiBrowser/", "Mi Browser"},
	{"UCBrowser/", "UC Browser"}, {"QQBrowser/", "QQ Browser"}, {"Epiphany/", "GNOME Web"}, {"Konqueror/", "Konqueror"},
	{"Lynx/", "Lynx"}, {"ELinks/", "ELinks"}, {"Links (", "Links"}, {"w3m/", "w3m"}, {"Dillo/", "Dillo"}, {"NetSurf/", "NetSurf"},
}

// browsers are in the order in which they win: each also names those that it wants to
// be taken for, which stand further down.
var browsers = [...]named{
	{"HuaweiBrowser", "Huawei Browser"}, {"YaBrowser", "Yandex Browser"}, {"NintendoBrowser", "Nintendo Browser"},
	{"Falkon", "Falkon"}, {"Silk", "Amazon Silk"}, {"SamsungBrowser", "Samsung Browser"}, {"Vivaldi", "Vivaldi"},
	{"EdgiOS", "Edge"}, {"Edg", "Edge"}, {"Opera Mini", "Opera Mini"}, {"OPiOS", "Opera"}, {"OPR/", "Opera"}, {"OPX/", "Opera"}, {"Opera", "Opera"},
	{"MSIE", "IE"}, {"Trident", "IE"}, {"FxiOS", "Firefox"}, {"Firefox", "Firefox"}, {"CriOS", "Chrome"}, {"Chrome", "Chrome"},
	{"Android", "Android Browser"}, {"Safari", "Safari"}, {"AppleWebKit", "Safari"},
}

// systems are in the order in which they win: Android is also a Linux.
var systems = [...]named{
	{"KAIOS/", "KaiOS"}, {"Web0S", "webOS"}, {"webOS", "webOS"},
	{"Windows NT", "Windows"}, {"Macintosh", "macOS"}, {"CrOS", "ChromeOS"}, {"OpenBSD", "OpenBSD"}, {"FreeBSD", "FreeBSD"},
	{"iPhone", "iOS"}, {"iPad", "iOS"}, {"iPod", "iOS"}, {"Android", "Android"},
	{"Linux", "Linux"}, {"Ubuntu", "Linux"}, {"Fedora", "Linux"},
}

// nameIn returns the name of the first of a list that is part of a user agent, or "".
func nameIn(list []named, agent string) string {
	for _, n := range list {
		if strings.Contains(agent, n.part) {
			return n.name
		}
	}
	return ""
}

// deviceIn returns what kind of device a user agent names, given its system, or "".
func deviceIn(agent, system string) string {
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(agent, p) {
				return true
			}
		}
		return false
	}
	switch {
	case has("PlayStation", "Nintendo", "Xbox"):
		return "other"
	case has("iPad", "Tablet;"), has("Silk/") && !has("Mobile"):
		return "tablet"
	case has("iPhone", "KAIOS/"):
		return "phone"
	case has(" TV", "SmartTV", "SMART-TV", "GoogleTV", "Large Screen", "BRAVIA", "Web0S", "CrKey", "Roku", "; AFT", "; ADT-"):
		return "tv"
	case has("Tablet", "Touch", "Kindle"), has("Android") && has("Chrome/") && !has("Mobile"):
		return "tablet" // A browser on Android says Mobile if it is on a phone.
	case has("Mobile", "Windows Phone"), system == "Android", system == "iOS":
		return "phone"
	case system != "" && system != "webOS":
		return "desktop"
	}
	return ""
}
