package snip

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"golang.org/x/net/idna"
)

// Location returns a target as the header Location carries it: byte for byte,
// except that an internationalised host is in ASCII, because that is the only form
// every browser follows. It fails only for a target that CheckTarget refuses.
func Location(target string) (string, error) {
	scheme, rest, ok := cutScheme(target)
	if !ok || !isWeb(scheme) {
		return target, nil
	}
	authority, ok := cutAuthority(rest)
	if !ok || isASCII(authority) {
		return target, nil
	}
	user, hostport := cutUser(authority)
	if !isASCII(user) {
		return "", wrongTarget("The user name in the address must be in ASCII, or percent-encoded.")
	}
	h, err := readHost(hostport)
	if err != nil {
		return "", wrongTarget("The host of the address cannot be used: %v.", err)
	}
	start := len(target) - len(rest) + len("//") + len(authority) - len(hostport)
	return target[:start] + h.name + target[start+h.typed:], nil
}

// host is a host of the web as a target or the configuration names it.
type host struct {
	name  string // In ASCII, or an IPv6 address in brackets. Case as typed if it was ASCII.
	port  string // Empty if none was given.
	typed int    // Bytes the name took as typed.
}

// ascii returns the name in the one form that names can be compared in.
func (h host) ascii() string { return strings.ToLower(strings.TrimSuffix(h.name, ".")) }

// CleanHost returns the host of a domain in the form in which it is kept: in ASCII and
// lower case, without a dot at its end; an IPv6 address in brackets. It returns an
// *Error for field "host" for what cannot be one.
func CleanHost(typed string) (string, error) {
	wrong := func(format string, args ...any) (string, error) {
		return "", invalid("host", "The host cannot be used: "+format, args...)
	}
	switch {
	case typed == "":
		return "", invalid("host", "The host is missing.")
	case strings.Contains(typed, "://"):
		return wrong("it must stand alone, without http:// or https://.")
	case !utf8.ValidString(typed):
		return wrong("it is not valid UTF-8.")
	}
	if addr, err := netip.ParseAddr(typed); err == nil && addr.Is6() && addr.Zone() == "" {
		return "[" + addr.String() + "]", nil
	}
	h, err := readHost(typed)
	switch {
	case err != nil:
		return wrong("%v.", err)
	case len(typed) > h.typed:
		return wrong("it must stand alone, without a port.")
	case h.name[0] == '[':
		addr, err := netip.ParseAddr(strings.Trim(h.name, "[]"))
		return "[" + addr.String() + "]", err
	}
	name := h.ascii()
	browser, err := whatwg.Parse("https://" + name)
	switch {
	case err != nil:
		return wrong("browsers cannot read it.")
	case browser.Hostname() != name:
		return wrong("browsers read it as %s.", shorten(browser.Hostname()))
	}
	return name, nil
}

// checkDomain checks the host of a domain that a question or a link names. None, and
// the empty one, are right.
func checkDomain(field string, host *string) error {
	if host == nil || *host == "" {
		return nil
	}
	_, err := CleanHost(*host)
	return inField(field, err)
}

// readHost reads host or host:port and turns an internationalised name into ASCII.
// Its errors complete the sentence "the host cannot be used: …".
func readHost(hostport string) (host, error) {
	name, port, err := cutPort(hostport)
	if err != nil {
		return host{}, err
	}
	h := host{name: name, port: port, typed: len(name)}
	if strings.HasPrefix(name, "[") {
		addr, err := netip.ParseAddr(strings.Trim(name, "[]"))
		if err != nil || !addr.Is6() || addr.Zone() != "" {
			return host{}, errors.New("it is not an IPv6 address")
		}
		return h, nil
	}
	// Bounded here as well, for Location and the configuration.
	if len(name) > maxAuthority {
		return host{}, errors.New("it is too long")
	}
	for _, c := range name {
		if unicode.Is(unicode.Bidi_Control, c) {
			return host{}, fmt.Errorf("it holds a character that turns the direction of writing (%U)", c)
		}
	}
	if !isASCII(name) || strings.Contains(strings.ToLower(name), "xn--") {
		ascii, err := hostProfile().ToASCII(name)
		if err != nil {
			return host{}, errors.New("it is not a valid internationalised name")
		}
		if !isASCII(name) {
			h.name = ascii
		}
	}
	return h, checkName(h.name)
}

// hostProfile is how browsers read internationalised names.
func hostProfile() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.BidiRule(), idna.CheckJoiners(true),
		idna.CheckHyphens(false), idna.StrictDomainName(false), idna.Transitional(false))
}

// checkName is narrower than what browsers accept: nothing else has an address in
// the DNS, and what looks like punctuation misleads people.
func checkName(name string) error {
	name = strings.TrimSuffix(name, ".")
	if len(name) > 253 {
		return errors.New("it is longer than 253 characters")
	}
	for label := range strings.SplitSeq(name, ".") {
		switch {
		case label == "":
			return errors.New("it lacks a name between two dots, or before the first")
		case len(label) > 63:
			return errors.New("it has more than 63 characters between two dots")
		}
		for _, c := range []byte(label) {
			if !isWordByte(c) {
				return fmt.Errorf("it holds %q", c)
			}
		}
	}
	return nil
}

func cutPort(hostport string) (name, port string, err error) {
	name = hostport
	if i := strings.LastIndexByte(hostport, ':'); i > strings.LastIndexByte(hostport, ']') {
		name, port = hostport[:i], hostport[i+1:]
	}
	if port == "" {
		return name, "", nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", "", errors.New("its port is not a number up to 65535")
	}
	return name, strconv.FormatUint(n, 10), nil
}

// webPort makes the ports of http and https one: a server that answers on one of
// them sends from the other.
func webPort(port string) string {
	if port == "80" || port == "443" {
		return ""
	}
	return port
}

// cutAuthority returns what stands between the // that rest begins with and the
// path, query or fragment.
func cutAuthority(rest string) (authority string, ok bool) {
	rest, ok = strings.CutPrefix(rest, "//")
	if !ok {
		return "", false
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return rest, true
}

// cutUser splits an authority at its last @.
func cutUser(authority string) (user, hostport string) {
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		return authority[:i], authority[i+1:]
	}
	return "", authority
}

func isASCII(s string) bool {
	for _, c := range []byte(s) {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// isWordByte reports a letter or digit of ASCII, - or _.
func isWordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}
