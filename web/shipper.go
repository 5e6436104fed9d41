package web

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"snip"
	"snip/event"
	"snip/queue"
	"snip/queue/spool"
)

// maxCampaign bounds a campaign, in characters.
const maxCampaign = 100

// ClickMessage turns a note from the spool into the event that goes over topic
// "clicks". A note that cannot be read, which only a fault of ours can make, keeps
// its number as a lost message and is counted by its metric.
func (s *Server) ClickMessage(r spool.Record) queue.Message {
	note, err := DecodeNote(r.Payload)
	var body []byte
	if err == nil {
		body, err = s.clicks.Append(nil, snip.Click{
			Link: note.Link, At: r.At, Class: snip.Human, Campaign: campaign(note.Query),
		})
	}
	if err != nil {
		s.metrics.unreadable.Inc()
		s.log.Error("a note cannot be read", "segment", r.Segment, "number", r.Number, "error", err)
		return queue.Message{Type: queue.TypeLost, Time: r.At}
	}
	return queue.Message{Type: event.ClickType, Time: r.At, Body: body}
}

// campaign returns utm_campaign of a query that may be broken or cut. Most have
// none, and are not taken apart.
func campaign(query string) string {
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		value, ok := strings.CutPrefix(pair, "utm_campaign=")
		if !ok {
			continue
		}
		if decoded, err := url.QueryUnescape(value); err == nil {
			value = decoded
		}
		return cutRunes(strings.ToValidUTF8(value, "\uFFFD"), maxCampaign)
	}
	return ""
}

func cutRunes(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
