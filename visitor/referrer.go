package visitor

import (
	_ "embed"
	"encoding/json"
	"net/netip"
	"strings"
)

//go:embed data/referrers.json
var referrerData []byte

// referrer is what the header Referer tells.
type referrer struct{ host, medium string }

func newMedia() (map[string]string, error) {
	var listed map[string][]string
	if err := json.Unmarshal(referrerData, &listed); err != nil {
		return nil, err
	}
	media := map[string]string{}
	for medium, hosts := range listed {
		for _, host := range hosts {
			media[host] = medium
		}
	}
	// What the list does not have.
	for medium, hosts := range map[string][]string{
		"search": {"baidu.com", "startpage.com", "kagi.com", "qwant.com", "com.google.android.googlequicksearchbox"},
		"social": {
			"threads.net", "threads.com", "tiktok.com", "t.me", "telegram.org", "discord.com", "snapchat.com",
			"com.facebook.katana", "com.instagram.android", "com.pinterest", "org.telegram.messenger", "com.slack",
		},
		"email": {"com.microsoft.office.outlook", "com.yahoo.mobile.client.android.mail", "outlook.office.com", "outlook.office365.com", "mail.proton.me"},
	} {
		for _, host := range hosts {
			media[host] = medium
		}
	}
	return media, nil
}

// readReferrer reads the URL of a page, or of an Android app, where the host is the
// app's name. What is no such URL tells nothing.
func (r *Reader) readReferrer(s string) referrer {
	if s == "" {
		return referrer{medium: "direct"}
	}
	host := hostOf(s)
	if host == "" {
		return referrer{host: unknown, medium: unknown}
	}
	return referrer{host: host, medium: r.medium(host)}
}

// medium goes from a host up through the domains it is in. A search engine's other
// hosts are other services, such as documents, so search is not passed on.
func (r *Reader) medium(host string) string {
	medium, ok := r.media[host]
	for parent := host; !ok; {
		_, parent, ok = strings.Cut(parent, ".")
		if !ok {
			return "other"
		}
		if medium, ok = r.media[parent]; ok && medium == "search" && host != "m."+parent {
			return "other"
		}
	}
	return medium
}

// hostOf returns the host of a URL in lower case, without port and www., or "" if
// there is none that the DNS or an address could have.
func hostOf(s string) string {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || !isReferring(scheme) {
		return ""
	}
	if i := strings.IndexAny(rest, `/?#\`); i >= 0 {
		rest = rest[:i]
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = rest[i+1:]
	}
	if strings.HasPrefix(rest, "[") {
		inner, _, closed := strings.Cut(rest[1:], "]")
		addr, err := netip.ParseAddr(inner)
		if err != nil || !closed {
			return ""
		}
		return addr.WithZone("").String()
	}
	host, _, _ := strings.Cut(rest, ":")
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if short, ok := strings.CutPrefix(host, "www."); ok && strings.Contains(short, ".") {
		host = short
	}
	if !isHost(host) {
		return ""
	}
	return host
}

func isReferring(scheme string) bool {
	return strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "android-app")
}

// isHost keeps to names as they stand in the DNS: browsers send others in that
// form, too.
func isHost(s string) bool {
	if s == "" || len(s) > 253 || s[0] == '-' || strings.Contains(s, "..") {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_' {
			return false
		}
	}
	return s[0] != '.'
}
