// Package visitor tells of the maker of a click what can be told without keeping
// who it was: person or program, browser, where from. What goes in is personal;
// what comes out is not.
//
// Every text that comes out is valid UTF-8 without control characters and bounded
// as Profile states, whatever went in.
package visitor

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"snip"
)

// Facts are what a request says of its maker. Any may be missing, forged or garbage.
type Facts struct {
	Address   netip.Addr // Not valid: unknown.
	UserAgent string
	Referrer  string
	Language  string // Accept-Language.
	Query     string // Of the short link, encoded as it came.
	Purpose   string // Sec-Purpose, or one of the headers that were before it.
}

// unknown stands where nothing can be told.
const unknown = "unknown"

// Profile is what can be told. Texts are "unknown" where nothing can, except where
// a field says otherwise.
type Profile struct {
	Class snip.Class

	// Browser, OS and Device are those of people: a program only claims them, so
	// for bots and previews they are unknown. They come from closed lists; Device
	// is desktop, phone, tablet, tv or other.
	Browser, OS, Device string

	// Referrer is the host of the referrer in lower case and without www., at most
	// 253 characters of ASCII. Empty: there was none.
	Referrer string

	// Medium is how the visitor came: direct, search, social, email, paid, other or
	// unknown. If the query names one of the middle four with utm_medium, that
	// wins: a link in a mail has no referrer.
	Medium string

	Language string // The primary tag of the language liked best, such as "de".
	Country  string // ISO 3166-1, such as "US".
	Region   string // ISO 3166-2 with the country before it, such as "US-CA".
	Campaign string // utm_campaign, decoded, at most 100 characters. Empty: there was none.
}

// What is longer is cut before it is read.
const (
	maxUserAgent = 512 // Bytes, as all of these.
	maxReferrer  = 1024
	maxLanguage  = 256
	maxQuery     = 4096
	maxPurpose   = 128
)

// At most twice as many strings are remembered; with all of them at their limits
// that is 18 MB.
const (
	halfAgents    = 5000
	halfReferrers = 4000
	halfLanguages = 1000
)

// Config configures a Reader. The zero value is one that knows no countries.
type Config struct {
	Database string           // Path of a MaxMind DB file with countries. Default: none.
	Now      func() time.Time // Default: time.Now.
	Logger   *slog.Logger     // Default: none.
}

// Reader makes profiles. It is safe for concurrent use.
type Reader struct {
	database string
	now      func() time.Time
	log      *slog.Logger

	crawlers *crawlers
	media    map[string]string // By host.

	agents    *memo[agent]
	referrers *memo[referrer]
	languages *memo[language]

	countries atomic.Pointer[countries] // Nil: none can be told.
	seen      stamp                     // Of the file last looked at. New and Run use it, one after the other.
}

// New returns a Reader. A database that is missing or broken is no error: it is
// logged, and countries are unknown until Run finds it right. An error means that
// the lists this package carries are broken.
func New(cfg Config) (*Reader, error) {
	crawlers, err := newCrawlers()
	if err != nil {
		return nil, fmt.Errorf("visitor: list of crawlers: %w", err)
	}
	media, err := newMedia()
	if err != nil {
		return nil, fmt.Errorf("visitor: list of referrers: %w", err)
	}
	r := &Reader{
		database:  cfg.Database,
		now:       cfg.Now,
		log:       cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)),
		crawlers:  crawlers,
		media:     media,
		agents:    newMemo[agent](halfAgents),
		referrers: newMemo[referrer](halfReferrers),
		languages: newMemo[language](halfLanguages),
	}
	if r.now == nil {
		r.now = time.Now
	}
	r.look()
	return r, nil
}

// Profile tells what can be told. It never fails.
func (r *Reader) Profile(f Facts) Profile {
	agent := r.agents.get(cut(f.UserAgent, maxUserAgent), r.readAgent)
	referrer := r.referrers.get(cut(f.Referrer, maxReferrer), r.readReferrer)
	campaign, medium := readQuery(cut(f.Query, maxQuery))
	p := Profile{
		Class:    agent.class,
		Browser:  agent.browser,
		OS:       agent.os,
		Device:   agent.device,
		Referrer: referrer.host,
		Medium:   cmp.Or(medium, referrer.medium),
		Language: r.languages.get(cut(f.Language, maxLanguage), readLanguage).primary,
		Campaign: campaign,
	}
	if early(cut(f.Purpose, maxPurpose)) {
		p.Class = snip.Prefetch
	}
	p.Country, p.Region = r.countries.Load().of(f.Address)
	return p
}

// Visitor tells what the rules and limits of a link ask for. It says the same as Profile
// of what both know.
func (r *Reader) Visitor(f Facts) snip.Visitor {
	userAgent := cut(f.UserAgent, maxUserAgent)
	agent := r.agents.get(userAgent, r.readAgent)
	v := snip.Visitor{
		Class:    agent.class,
		Device:   agent.device,
		OS:       agent.os,
		Language: r.languages.get(cut(f.Language, maxLanguage), readLanguage).tag,
		Hash:     lasting(f.Address, userAgent),
	}
	if early(cut(f.Purpose, maxPurpose)) {
		v.Class = snip.Prefetch
	}
	v.Country, _ = r.countries.Load().of(f.Address)
	return v
}

// early reports a request made before anybody clicked: Sec-Purpose: prefetch, or
// prefetch;prerender, and what older browsers say.
func early(purpose string) bool {
	if purpose == "" {
		return false
	}
	purpose = strings.ToLower(purpose)
	return strings.Contains(purpose, "prefetch") || strings.Contains(purpose, "prerender") ||
		strings.Contains(purpose, "preview")
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
