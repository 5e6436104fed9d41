package snip

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

const (
	// MaxTarget is the most bytes a target may have.
	MaxTarget = 64 << 10

	// maxAuthority bounds user name, password, host and port together, because the
	// time that it takes to read them grows with the square of their length.
	maxAuthority = 2048
)

// Rules say which targets an instance accepts. The zero value is useful: it
// accepts http, https, mailto, tel and sms, and knows no host as its own.
type Rules struct {
	// Own are the hosts this instance answers on, its custom domains among them, as host
	// or host:port. Without a port, 80 and 443 are meant. A target that would lead back to a code on one of
	// them is refused.
	Own []string
	// Schemes are accepted as well, such as "viber". Those that run code or read
	// files where they are opened (javascript, data, file, vbscript) cannot be.
	Schemes []string
}

// CheckTarget checks a target by the rules of an instance that answers on the
// hosts own and accepts no further schemes. See Rules.CheckTarget.
func CheckTarget(target string, own []string) error {
	return Rules{Own: own}.CheckTarget(target)
}

// Check says what is wrong with the rules themselves.
func (r Rules) Check() error {
	for _, s := range r.Schemes {
		if name, rest, ok := cutScheme(s + ":"); !ok || rest != "" || name != strings.ToLower(s) {
			return fmt.Errorf("schemes: %q is not the name of a scheme", s)
		}
		if dangerous(strings.ToLower(s)) {
			return fmt.Errorf("schemes: %s: targets can never be accepted", s)
		}
	}
	for _, own := range r.Own {
		if h, err := readHost(own); err != nil || h.name == "" {
			return fmt.Errorf("own: %q is neither host nor host:port", own)
		}
	}
	return nil
}

// CheckTarget returns an *Error for field "url" if target cannot be the target of
// a link. Its message says why and, where there is one, the mend.
//
// A target that passes is answered byte for byte, so nothing is allowed in it that
// has to be encoded, or that two readers of web addresses read differently: the
// one that checked it and the browser that follows it must agree on where it leads.
func (r Rules) CheckTarget(target string) error {
	if err := checkText(target); err != nil {
		return err
	}
	scheme, rest, ok := cutScheme(target)
	switch {
	case !ok || looksLikeHost(scheme, rest):
		return wrongTarget("The address has no scheme.%s", suggestion(target))
	case dangerous(scheme):
		return wrongTarget("Addresses that begin with %s: are never accepted.", scheme)
	case isWeb(scheme):
		return r.checkWeb(target, scheme, rest)
	case !slices.Contains([]string{"mailto", "tel", "sms"}, scheme) &&
		!slices.ContainsFunc(r.Schemes, func(s string) bool { return strings.EqualFold(s, scheme) }):
		return wrongTarget("Addresses that begin with %s: are not accepted here. Use http:, https:, mailto:, tel: or sms:.", shorten(scheme))
	case rest == "":
		return wrongTarget("The address ends after %s:.", scheme)
	}
	return checkOther(target, rest)
}

// checkField checks a target that the API has in another field than url.
func (r Rules) checkField(field, target string) error { return inField(field, r.CheckTarget(target)) }

// checkText refuses what no address may hold, of whatever scheme.
func checkText(target string) error {
	if target == "" {
		return wrongTarget("The address is missing.")
	}
	if len(target) > MaxTarget {
		return wrongTarget("The address has %d bytes; at most %d are accepted.", len(target), MaxTarget)
	}
	for i, c := range target {
		switch {
		case c == utf8.RuneError && !strings.HasPrefix(target[i:], string(utf8.RuneError)):
			return wrongTarget("The address is not valid UTF-8 from byte %d on.", i)
		case unicode.IsControl(c):
			return wrongTarget("The address holds a control character (%U) at byte %d. Remove it, or write it percent-encoded.", c, i)
		case unicode.IsSpace(c):
			return wrongTarget("The address holds a space (%U) at byte %d. Remove it, or write it as %s.", c, i, escape(c))
		}
	}
	return nil
}

// checkWeb checks what http and https have beside: a host.
func (r Rules) checkWeb(target, scheme, rest string) error {
	authority, ok := cutAuthority(rest)
	if !ok {
		return wrongTarget("After %s: the address needs // and a host.", scheme)
	}
	user, hostport := cutUser(authority)
	switch {
	case len(authority) > maxAuthority:
		return wrongTarget("The host of the address, with user name and password, has %d bytes; at most %d are accepted.", len(authority), maxAuthority)
	case hostport == "":
		return wrongTarget("After %s:// the address needs a host.", scheme)
	case strings.Contains(authority, `\`):
		return wrongTarget(`The address holds a \ before its path, which browsers read as the end of the host. Use / there, or remove it.`)
	case strings.Contains(user, "@"):
		return wrongTarget("The address holds more than one @ before its path, so that its host is easily mistaken. Write those of the user name as %%40.")
	}
	h, err := readHost(hostport)
	if err != nil {
		return wrongTarget("The host of the address cannot be used: %v.", err)
	}
	// What follows the authority is left out: net/url refuses a lone % there that
	// every browser follows.
	strict, err := url.Parse(scheme + "://" + authority)
	if err != nil {
		return wrongTarget("The address cannot be read: %v.", reason(err))
	}
	browser, err := whatwg.Parse(target)
	if err != nil {
		return wrongTarget("Browsers cannot read the address.")
	}
	if a, b := h.ascii(), strings.TrimSuffix(browser.Hostname(), "."); browser.Scheme() != scheme ||
		strict.Host != hostport || (a != b && !sameAddress(a, b)) || webPort(h.port) != webPort(browser.Port()) {
		return wrongTarget("Browsers read another host in the address (%s) than it shows (%s).", shorten(browser.Host()), shorten(hostport))
	}
	if r.owns(h) && leadsToCode(browser.Pathname()) {
		return wrongTarget("The address is a short link of this server already, and following it could go on for ever. Use the address it leads to.")
	}
	return nil
}

// checkOther checks a target that is not of the web. It need not have a host; one
// it has must be plain.
func checkOther(target, rest string) error {
	if authority, ok := cutAuthority(rest); ok {
		if len(authority) > maxAuthority {
			return wrongTarget("The host of the address has %d bytes; at most %d are accepted.", len(authority), maxAuthority)
		}
		if strings.ContainsAny(authority, `\%`) || !isASCII(authority) {
			return wrongTarget(`The host of the address holds a character other than plain letters, digits, "-", "." and "_".`)
		}
		strict, err := url.Parse("x://" + authority)
		if err != nil {
			return wrongTarget("The address cannot be read: %v.", reason(err))
		}
		browser, err := whatwg.Parse(target)
		if err != nil || browser.Hostname() != strict.Hostname() {
			return wrongTarget("The host of the address can be read in more than one way.")
		}
	}
	return nil
}

func (r Rules) owns(h host) bool {
	name, port := h.ascii(), webPort(h.port)
	return slices.ContainsFunc(r.Own, func(own string) bool {
		// An instance may have many domains, and most are plain: they need no reading.
		if isASCII(own) && !strings.HasPrefix(own, "[") {
			n, p, err := cutPort(own)
			return err == nil && webPort(p) == port && strings.EqualFold(strings.TrimSuffix(n, "."), name)
		}
		o, err := readHost(own)
		return err == nil && webPort(o.port) == port && (o.ascii() == name || sameAddress(o.ascii(), name))
	})
}

// ownsTarget reports whether a target that was accepted leads to this instance.
func (r Rules) ownsTarget(target string) bool {
	_, rest, _ := cutScheme(target)
	authority, _ := cutAuthority(rest)
	_, hostport := cutUser(authority)
	h, err := readHost(hostport)
	return err == nil && isWebTarget(target) && r.owns(h)
}

// leadsToCode reports whether a request for a path may be answered as one for a
// code: the path is decoded, cleaned and cut as the redirect does it.
func leadsToCode(p string) bool {
	if decoded, err := url.PathUnescape(p); err == nil {
		p = decoded
	}
	code := strings.TrimSuffix(strings.TrimPrefix(path.Clean("/"+p), "/"), "+")
	return CheckCode(code) == nil
}

// cutScheme cuts a target after its scheme, which it returns in lower case.
func cutScheme(target string) (scheme, rest string, ok bool) {
	name, rest, found := strings.Cut(target, ":")
	if !found || name == "" {
		return "", target, false
	}
	for i, c := range []byte(name) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", rune(c))) {
			return "", target, false
		}
	}
	return strings.ToLower(name), rest, true
}

func isWeb(scheme string) bool { return scheme == "http" || scheme == "https" }

func isWebTarget(target string) bool {
	scheme, _, _ := cutScheme(target)
	return isWeb(scheme)
}

// dangerous reports schemes whose addresses act with the rights of whoever opens
// them.
func dangerous(scheme string) bool {
	return slices.Contains([]string{"javascript", "data", "file", "vbscript"}, scheme)
}

// looksLikeHost tells "localhost:8080" and "bbc.co.uk:80/news" from a scheme.
func looksLikeHost(scheme, rest string) bool {
	if rest == "" || rest[0] < '0' || '9' < rest[0] {
		return false
	}
	return scheme == "localhost" || strings.Contains(scheme, ".")
}

// suggestion completes the message for a target without a scheme.
func suggestion(target string) string {
	switch {
	case strings.HasPrefix(target, "//") && len(target) > 2:
		target = "https:" + target
	case strings.HasPrefix(target, "/"), strings.HasPrefix(target, ":"):
		return " Write it in full, as in https://example.com/page."
	default:
		target = "https://" + target
	}
	if CheckTarget(target, nil) != nil {
		return " Write it in full, as in https://example.com/page."
	}
	return " Did you mean " + shorten(target) + "?"
}

// sameAddress reports whether two hosts are two spellings of one IPv6 address.
// IPv4 has only one spelling that everybody reads alike.
func sameAddress(a, b string) bool {
	x, errX := netip.ParseAddr(strings.Trim(a, "[]"))
	y, errY := netip.ParseAddr(strings.Trim(b, "[]"))
	return errX == nil && errY == nil && x.Is6() && y.Is6() && x == y
}

// escape percent-encodes a character.
func escape(c rune) string {
	var b strings.Builder
	for _, x := range []byte(string(c)) {
		fmt.Fprintf(&b, "%%%02X", x)
	}
	return b.String()
}

// reason strips from an error of net/url the address, which may be 64 KiB long.
func reason(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// shorten cuts what a message quotes.
func shorten(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	cut := most
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

func wrongTarget(format string, args ...any) error {
	return invalid("url", format, args...)
}
