package web

import (
	"encoding/binary"
	"errors"
	"net/http"
	"net/netip"
	"unicode/utf8"

	"snip"
)

// Note is what the redirect path notes of a click, as it came. It stays on this
// machine: the shipper makes an event of it that does not tell who the visitor was.
type Note struct {
	Link      int64
	Address   string // Of the visitor, behind the proxies that are trusted; empty if unknown.
	UserAgent string
	Referrer  string
	Language  string
	Query     string
	Purpose   string
	Alias     string // As in snip.Click, as the next.
	Arm       string
}

// Limits in bytes. What is longer is cut.
const (
	maxUserAgent = 512
	maxReferrer  = 1024
	maxLanguage  = 128
	maxQuery     = 1024
	maxPurpose   = 64
	maxAlias     = snip.MaxCode
	maxArm       = 512
)

// Versions of notes. A spool may hold the older ones for as long as it may hold any.
const (
	noteVersion1 = 1 // Without alias and arm.
	noteVersion2 = 2

	fieldsOfVersion1 = 6
)

// appendNote adds the note of a request to dst, for the route it took and the arm that
// decided: a version byte, the link's ID as a signed varint, and the strings in the
// order of Note, each with its length before it as an unsigned varint.
func (s *Server) appendNote(dst []byte, route *snip.Route, arm string, r *http.Request) []byte {
	purpose := first(r.Header["Sec-Purpose"])
	if purpose == "" {
		purpose = first(r.Header["Purpose"])
	}
	dst = append(dst, noteVersion2)
	dst = binary.AppendVarint(dst, route.Link)
	if s.cfg.RespectPrivacy && wantsPrivacy(r.Header) {
		// The user agent and the purpose tell people from programs, and are no one's. The
		// arm is left out: it may tell the country or the language.
		dst = appendAddress(dst, netip.Addr{})
		dst = appendCut(dst, first(r.Header["User-Agent"]), maxUserAgent)
		dst = appendCut(dst, "", maxReferrer)
		dst = appendCut(dst, "", maxLanguage)
		dst = appendCut(dst, "", maxQuery)
		dst = appendCut(dst, purpose, maxPurpose)
		dst = appendCut(dst, route.Alias, maxAlias)
		return appendCut(dst, "", maxArm)
	}
	dst = appendAddress(dst, s.cfg.Proxies.Client(r.RemoteAddr, r.Header))
	dst = appendCut(dst, first(r.Header["User-Agent"]), maxUserAgent)
	dst = appendCut(dst, first(r.Header["Referer"]), maxReferrer)
	dst = appendCut(dst, first(r.Header["Accept-Language"]), maxLanguage)
	dst = appendCut(dst, r.URL.RawQuery, maxQuery)
	dst = appendCut(dst, purpose, maxPurpose)
	dst = appendCut(dst, route.Alias, maxAlias)
	return appendCut(dst, arm, maxArm)
}

func wantsPrivacy(h http.Header) bool {
	return first(h["Dnt"]) == "1" || first(h["Sec-Gpc"]) == "1"
}

// appendAddress writes the text of an address, which is shorter than 128 bytes.
func appendAddress(dst []byte, a netip.Addr) []byte {
	if !a.IsValid() {
		return append(dst, 0)
	}
	at := len(dst)
	dst = a.AppendTo(append(dst, 0))
	dst[at] = byte(len(dst) - at - 1)
	return dst
}

// first saves the look-up's canonical form: the keys above are in it.
func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

func appendCut(dst []byte, s string, limit int) []byte {
	s = cut(s, limit)
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

// cut shortens s to at most limit bytes without splitting a rune.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for n := limit; n > limit-utf8.UTFMax; n-- {
		if utf8.RuneStart(s[n]) {
			return s[:n]
		}
	}
	return s[:limit] // It is not UTF-8.
}

var errNote = errors.New("not a note of a known version")

// DecodeNote reads what appendNote wrote, in this version or an older one.
func DecodeNote(b []byte) (Note, error) {
	var n Note
	if len(b) == 0 || b[0] != noteVersion1 && b[0] != noteVersion2 {
		return n, errNote
	}
	all := [...]*string{&n.Address, &n.UserAgent, &n.Referrer, &n.Language, &n.Query, &n.Purpose, &n.Alias, &n.Arm}
	fields := all[:]
	if b[0] == noteVersion1 {
		fields = all[:fieldsOfVersion1]
	}
	link, size := binary.Varint(b[1:])
	if size <= 0 {
		return n, errNote
	}
	n.Link, b = link, b[1+size:]
	text := string(b) // All fields are parts of one copy.
	for _, field := range fields {
		length, size := binary.Uvarint(b)
		if size <= 0 || length > uint64(len(b)-size) {
			return Note{}, errNote
		}
		end := size + int(length)
		*field, text, b = text[size:end], text[end:], b[end:]
	}
	if len(b) > 0 {
		return Note{}, errNote
	}
	return n, nil
}
