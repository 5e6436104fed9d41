// Package wire is how what the domain knows is written in answers of the API. The
// server writes these types and the client reads them, so that the two cannot speak
// of different things.
package wire

import (
	"time"

	"snip"
)

// Link is a link in an answer of the API.
type Link struct {
	ID          int64      `json:"id"`
	Code        string     `json:"code"`
	ShortURL    string     `json:"short_url"`
	Target      string     `json:"url"`
	Title       string     `json:"title"`
	ExpiresAt   *time.Time `json:"expires_at"` // null: never.
	CreatedAt   time.Time  `json:"created_at"`
	UpdatedAt   time.Time  `json:"updated_at"`
	Clicks      int64      `json:"clicks"`
	HumanClicks int64      `json:"human_clicks"`
}

// LinkOf writes a link that is followed at shortURL.
func LinkOf(l snip.Link, shortURL string) Link {
	return Link{
		ID: l.ID, Code: l.Code, ShortURL: shortURL, Target: l.Target, Title: l.Title, ExpiresAt: pointer(l.ExpiresAt),
		CreatedAt: l.CreatedAt, UpdatedAt: l.UpdatedAt, Clicks: l.Clicks, HumanClicks: l.HumanClicks,
	}
}

// Link returns the link that was written.
func (l Link) Link() snip.Link {
	return snip.Link{
		ID: l.ID, Code: l.Code, Target: l.Target, Title: l.Title, ExpiresAt: instant(l.ExpiresAt),
		CreatedAt: l.CreatedAt, UpdatedAt: l.UpdatedAt, Clicks: l.Clicks, HumanClicks: l.HumanClicks,
	}
}

// pointer writes the zero time, which stands for none, as null.
func pointer(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func instant(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
