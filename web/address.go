package web

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// Proxies are the addresses whose word about a visitor's address is taken. The
// zero value trusts nobody.
type Proxies struct{ trusted []netip.Prefix }

// ParseProxies reads addresses and prefixes, such as 10.0.0.0/8 or ::1. The error
// names the one that is neither.
func ParseProxies(list []string) (Proxies, error) {
	var p Proxies
	for _, s := range list {
		s = strings.TrimSpace(s)
		prefix, err := netip.ParsePrefix(s)
		if err != nil {
			addr, err := netip.ParseAddr(s)
			if err != nil {
				return Proxies{}, fmt.Errorf("%q is neither an address nor a prefix such as 10.0.0.0/8", s)
			}
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		if a, n := prefix.Addr(), prefix.Bits(); a.Is4In6() && n >= 96 {
			prefix = netip.PrefixFrom(a.Unmap(), n-96)
		}
		p.trusted = append(p.trusted, prefix.Masked())
	}
	return p, nil
}

func (p Proxies) trust(a netip.Addr) bool {
	for _, prefix := range p.trusted {
		if prefix.Contains(a) {
			return true
		}
	}
	return false
}

// maxHops is how many addresses of the forwarding headers are looked at. A longer
// chain is a forgery at its left end at least.
const maxHops = 32

// Client returns the address of a visitor: that of the connection, or, if that is a
// listed proxy, what the proxies say in X-Forwarded-For or Forwarded (RFC 7239).
// Their lists are read from the right, where each proxy adds who it was asked by;
// the first address that is no listed proxy's is the visitor's, and what stands left
// of it is anybody's claim. Where an entry is no address, the one that vouched for
// it is the last that is known.
//
// A proxy writes one of the two headers and may pass the other on as a visitor made
// it up. Nothing says which is which, so two that differ are both left alone, and
// the connection's address stands. The result is not valid if nothing is known.
func (p Proxies) Client(remoteAddr string, h http.Header) netip.Addr {
	peer := parseAddr(remoteAddr)
	if len(p.trusted) == 0 || !p.trust(peer) {
		return peer
	}
	lists, elements := h["X-Forwarded-For"], h["Forwarded"]
	switch {
	case len(elements) == 0:
		return p.follow(peer, lists, strings.TrimSpace)
	case len(lists) == 0:
		return p.follow(peer, elements, forwardedFor)
	}
	client := p.follow(peer, lists, strings.TrimSpace)
	if client != p.follow(peer, elements, forwardedFor) {
		return peer
	}
	return client
}

// follow goes from a proxy to who is behind it. Read returns the address as it
// stands in an entry.
func (p Proxies) follow(client netip.Addr, lines []string, read func(entry string) string) netip.Addr {
	hops := 0
	for i := len(lines) - 1; i >= 0; i-- {
		for rest, more := lines[i], true; more; hops++ {
			var entry string
			rest, entry, more = lastEntry(rest)
			addr := parseAddr(read(entry))
			if !addr.IsValid() || hops == maxHops {
				return client
			}
			client = addr
			if !p.trust(client) {
				return client
			}
		}
	}
	return client
}

// lastEntry cuts the last entry off a list with commas.
func lastEntry(list string) (rest, entry string, more bool) {
	i := strings.LastIndexByte(list, ',')
	if i < 0 {
		return "", list, false
	}
	return list[:i], list[i+1:], true
}

// forwardedFor returns the address in an element of Forwarded, such as
// for="[2001:db8::17]:4711";proto=https.
func forwardedFor(element string) string {
	for pair := range strings.SplitSeq(element, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if strings.EqualFold(name, "for") {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// parseAddr reads an address with or without a port, brackets and a zone.
func parseAddr(s string) netip.Addr {
	if a, err := netip.ParseAddrPort(s); err == nil {
		return a.Addr().Unmap().WithZone("")
	}
	if len(s) > 1 && s[0] == '[' && s[len(s)-1] == ']' {
		s = s[1 : len(s)-1]
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap().WithZone("")
}
