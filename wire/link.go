// Package wire is how what the domain knows is written in answers of the API. The
// server writes these types and the client reads them, so that the two cannot speak
// of different things. Their tags doc are the words of the API's description.
package wire

import (
	"cmp"
	"net/http"
	"time"

	"snip"
)

// Link is a link in an answer of the API.
type Link struct {
	ID          int64         `json:"id"`
	Domain      string        `json:"domain" doc:"Host that the code belongs to; empty for the instance's own."`
	Code        string        `json:"code"`
	ShortURL    string        `json:"short_url" doc:"Where the link is followed."`
	Aliases     []string      `json:"aliases" doc:"Further codes that lead here."`
	Owner       int64         `json:"owner" doc:"ID of the key that made it; 0 if none did."`
	Version     int64         `json:"version" doc:"Grows with each edit. The ETag names it."`
	Target      string        `json:"url" doc:"Where it leads, byte for byte as typed."`
	Title       string        `json:"title"`
	Note        string        `json:"note"`
	Tags        []string      `json:"tags"`
	StartsAt    *time.Time    `json:"starts_at" doc:"Before it visitors find nothing; null for at once."`
	ExpiresAt   *time.Time    `json:"expires_at" doc:"From then on it answers 410 or leads to fallback_url; null for never."`
	ClickLimit  int64         `json:"click_limit" doc:"How many redirects there are; 0 for no limit."`
	LimitUsed   int64         `json:"limit_used" doc:"How many of them are used up."`
	Fallback    string        `json:"fallback_url" doc:"Where an expired or used-up link leads; empty for nowhere."`
	Status      int           `json:"status" doc:"Status of the redirect: 301, 302, 307 or 308."`
	Query       string        `json:"query" doc:"What becomes of a visitor's query: off, keep, override or append."`
	ForwardPath bool          `json:"forward_path" doc:"Whether /code/more leads to the target with /more."`
	Rules       []snip.Rule   `json:"rules" doc:"The first that fits a visitor decides where it leads."`
	Campaign    snip.Campaign `json:"campaign" doc:"utm_ parameters that are added to the target."`
	HasPassword bool          `json:"has_password"`
	ArchivedAt  *time.Time    `json:"archived_at"`
	CreatedAt   time.Time     `json:"created_at"`
	UpdatedAt   time.Time     `json:"updated_at"`
	Clicks      int64         `json:"clicks" doc:"Every answered GET that was counted so far."`
	HumanClicks int64         `json:"human_clicks" doc:"Those of people."`
}

// LinkOf writes a link that is followed at shortURL.
func LinkOf(l snip.Link, shortURL string) Link {
	return Link{
		ID: l.ID, Domain: l.Domain, Code: l.Code, ShortURL: shortURL, Aliases: list(l.Aliases), Owner: l.Owner, Version: l.Version,
		Target: l.Target, Title: l.Title, Note: l.Note, Tags: list(l.Tags),
		StartsAt: pointer(l.StartsAt), ExpiresAt: pointer(l.ExpiresAt),
		ClickLimit: l.ClickLimit, LimitUsed: l.LimitUsed, Fallback: l.Fallback,
		Status: cmp.Or(l.Status, http.StatusTemporaryRedirect), Query: cmp.Or(string(l.Query), queryOff),
		ForwardPath: l.ForwardPath, Rules: list(l.Rules), Campaign: l.Campaign, HasPassword: l.HasPassword,
		ArchivedAt: pointer(l.ArchivedAt), CreatedAt: l.CreatedAt, UpdatedAt: l.UpdatedAt,
		Clicks: l.Clicks, HumanClicks: l.HumanClicks,
	}
}

// queryOff is how snip.QueryOff is written.
const queryOff = "off"

// Link returns the link that was written.
func (l Link) Link() snip.Link {
	return snip.Link{
		ID: l.ID, Domain: l.Domain, Code: l.Code, Aliases: l.Aliases, Owner: l.Owner, Version: l.Version,
		Settings: snip.Settings{
			Target: l.Target, Title: l.Title, Note: l.Note, Tags: l.Tags,
			StartsAt: instant(l.StartsAt), ExpiresAt: instant(l.ExpiresAt), ClickLimit: l.ClickLimit, Fallback: l.Fallback,
			Status: l.Status, Query: QueryPolicy(l.Query), ForwardPath: l.ForwardPath, Rules: l.Rules, Campaign: l.Campaign,
		},
		HasPassword: l.HasPassword, LimitUsed: l.LimitUsed,
		ArchivedAt: instant(l.ArchivedAt), CreatedAt: l.CreatedAt, UpdatedAt: l.UpdatedAt,
		Clicks: l.Clicks, HumanClicks: l.HumanClicks,
	}
}

// QueryPolicy reads a policy as it is written.
func QueryPolicy(s string) snip.QueryPolicy {
	if s == queryOff {
		return snip.QueryOff
	}
	return snip.QueryPolicy(s)
}

// LinkPage is part of a list of links.
type LinkPage struct {
	Links []Link `json:"links"`
	Next  string `json:"next" doc:"Send it as cursor for the next page; empty at the end."`
}

// BulkResult says to which links something was done.
type BulkResult struct {
	Done   int           `json:"done" doc:"Links to which it was done."`
	Failed []BulkFailure `json:"failed"`
}

// BulkFailure is a link to which it was not done.
type BulkFailure struct {
	Domain  string    `json:"domain"`
	Code    string    `json:"code"`
	Reason  snip.Code `json:"reason"`
	Message string    `json:"message"`
}

// TagCount is a tag and how many links have it.
type TagCount struct {
	Tag   string `json:"tag"`
	Links int64  `json:"links"`
}

// TagList is all tags.
type TagList struct {
	Tags []TagCount `json:"tags" doc:"In the order of their bytes."`
}

// TagListOf writes tags.
func TagListOf(tags []snip.TagCount) TagList {
	return TagList{each(tags, func(t snip.TagCount) TagCount { return TagCount(t) })}
}

// List returns the tags that were written.
func (l TagList) List() []snip.TagCount {
	return each(l.Tags, func(t TagCount) snip.TagCount { return snip.TagCount(t) })
}

// list writes an empty list as [], never as null.
func list[T any](in []T) []T {
	if in == nil {
		return []T{}
	}
	return in
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
