package web

import (
	"encoding/binary"
	"errors"
	"net/http"
	"unicode/utf8"
)

// Note is what the redirect path notes of a click, as it came. It stays on this
// machine: the shipper makes an event of it that does not tell who the visitor was.
type Note struct {
	Link      int64
	Address   string // Host and port of the connection.
	UserAgent string
	Referrer  string
	Language  string
	Query     string
	Purpose   string
}

// Limits in bytes. What is longer is cut.
const (
	maxAddress   = 64
	maxUserAgent = 512
	maxReferrer  = 1024
	maxLanguage  = 128
	maxQuery     = 1024
	maxPurpose   = 64
)

const noteVersion = 1

// appendNote adds the note of a request to dst: a version byte, the link's ID as a
// signed varint, and the strings in the order of Note, each with its length before
// it as an unsigned varint.
func appendNote(dst []byte, link int64, r *http.Request) []byte {
	purpose := first(r.Header["Sec-Purpose"])
	if purpose == "" {
		purpose = first(r.Header["Purpose"])
	}
	dst = append(dst, noteVersion)
	dst = binary.AppendVarint(dst, link)
	dst = appendCut(dst, r.RemoteAddr, maxAddress)
	dst = appendCut(dst, first(r.Header["User-Agent"]), maxUserAgent)
	dst = appendCut(dst, first(r.Header["Referer"]), maxReferrer)
	dst = appendCut(dst, first(r.Header["Accept-Language"]), maxLanguage)
	dst = appendCut(dst, r.URL.RawQuery, maxQuery)
	return appendCut(dst, purpose, maxPurpose)
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

// DecodeNote reads what appendNote wrote.
func DecodeNote(b []byte) (Note, error) {
	var n Note
	if len(b) == 0 || b[0] != noteVersion {
		return n, errNote
	}
	link, size := binary.Varint(b[1:])
	if size <= 0 {
		return n, errNote
	}
	n.Link, b = link, b[1+size:]
	for _, s := range []*string{&n.Address, &n.UserAgent, &n.Referrer, &n.Language, &n.Query, &n.Purpose} {
		length, size := binary.Uvarint(b)
		if size <= 0 || length > uint64(len(b)-size) {
			return Note{}, errNote
		}
		*s, b = string(b[size:size+int(length)]), b[size+int(length):]
	}
	if len(b) > 0 {
		return Note{}, errNote
	}
	return n, nil
}
