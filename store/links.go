package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"snip"
)

// linkColumns are what scanLink reads before what else is in the row. They need a table
// that is called links.
const linkColumns = `links.id, links.domain, links.code, links.owner, links.version,
	links.url, links.title, links.note, links.starts_at, links.expires_at, links.click_limit, links.fallback,
	links.status, links.query, links.forward_path, links.rules, links.campaign, links.password_hash <> '',
	links.archived_at, links.created_at, links.updated_at, links.clicks, links.human_clicks,
	CASE WHEN links.click_limit > 0 THEN (SELECT used FROM click_limits WHERE link_id = links.id) END,
	(SELECT string_agg(code, ' ' ORDER BY id) FROM aliases WHERE link_id = links.id),
	(SELECT string_agg(name, ` + tagsApart + `) FROM link_tags JOIN tags ON id = tag_id WHERE link_id = links.id)`

// tagsApart is a line break, which no tag has.
const tagsApart = "'\n'"

func scanLink(row interface{ Scan(...any) error }, more ...any) (snip.Link, error) {
	var l snip.Link
	var r settingsRow
	var archived, used sql.NullInt64
	var created, updated int64
	var aliases, tags sql.NullString
	columns := []any{&l.ID, &l.Domain, &l.Code, &l.Owner, &l.Version}
	columns = append(columns, r.pointers()...)
	columns = append(columns, &l.HasPassword, &archived, &created, &updated, &l.Clicks, &l.HumanClicks, &used, &aliases, &tags)
	if err := row.Scan(append(columns, more...)...); err != nil {
		return snip.Link{}, err
	}
	var err error
	if l.Settings, err = r.settings(tags.String); err != nil {
		return snip.Link{}, fmt.Errorf("link %d: %w", l.ID, err)
	}
	if aliases.Valid {
		l.Aliases = strings.Split(aliases.String, " ")
	}
	l.ArchivedAt = instantOf(archived)
	l.CreatedAt = time.UnixMicro(created).UTC()
	l.UpdatedAt = time.UnixMicro(updated).UTC()
	l.LimitUsed = used.Int64
	return l, nil
}

// settingsRow is how settings are kept, but for tags. Two are == if they mean the same.
type settingsRow struct {
	target, title, note string
	starts, expires     sql.NullInt64
	clickLimit          int64
	fallback            string
	status              int64
	query               string
	forwardPath         bool
	rules, campaign     string
}

// settingsColumns are those of links, in the order of values and pointers.
const settingsColumns = `url, title, note, starts_at, expires_at, click_limit, fallback, status, query, forward_path, rules, campaign`

func (r settingsRow) values() []any {
	return []any{
		r.target, r.title, r.note, r.starts, r.expires, r.clickLimit, r.fallback, r.status, r.query, r.forwardPath, r.rules, r.campaign,
	}
}

func (r *settingsRow) pointers() []any {
	return []any{
		&r.target, &r.title, &r.note, &r.starts, &r.expires, &r.clickLimit, &r.fallback, &r.status, &r.query, &r.forwardPath, &r.rules, &r.campaign,
	}
}

func rowOf(s snip.Settings) (settingsRow, error) {
	r := settingsRow{
		target: s.Target, title: s.Title, note: s.Note, starts: timeColumn(s.StartsAt), expires: timeColumn(s.ExpiresAt),
		clickLimit: s.ClickLimit, fallback: s.Fallback, status: int64(s.Status), query: string(s.Query), forwardPath: s.ForwardPath,
	}
	if len(s.Rules) > 0 {
		b, err := json.Marshal(s.Rules)
		if err != nil {
			return r, fmt.Errorf("encode rules: %w", err)
		}
		r.rules = string(b)
	}
	if s.Campaign != (snip.Campaign{}) {
		b, err := json.Marshal(s.Campaign)
		if err != nil {
			return r, fmt.Errorf("encode campaign: %w", err)
		}
		r.campaign = string(b)
	}
	return r, nil
}

// settings is the inverse of rowOf. Tags are as linkColumns tells them.
func (r settingsRow) settings(tags string) (snip.Settings, error) {
	s := snip.Settings{
		Target: r.target, Title: r.title, Note: r.note, StartsAt: instantOf(r.starts), ExpiresAt: instantOf(r.expires),
		ClickLimit: r.clickLimit, Fallback: r.fallback, Status: cmp.Or(int(r.status), http.StatusTemporaryRedirect),
		Query: snip.QueryPolicy(r.query), ForwardPath: r.forwardPath,
	}
	if tags != "" {
		s.Tags = strings.Split(tags, "\n")
		slices.Sort(s.Tags)
	}
	if r.rules != "" {
		if err := json.Unmarshal([]byte(r.rules), &s.Rules); err != nil {
			return s, fmt.Errorf("decode rules: %w", err)
		}
	}
	if r.campaign != "" {
		if err := json.Unmarshal([]byte(r.campaign), &s.Campaign); err != nil {
			return s, fmt.Errorf("decode campaign: %w", err)
		}
	}
	return s, nil
}

// kept returns settings as they are once they are kept.
func kept(s snip.Settings) snip.Settings {
	s.Status = cmp.Or(s.Status, http.StatusTemporaryRedirect)
	s.StartsAt, s.ExpiresAt = instantOf(timeColumn(s.StartsAt)), instantOf(timeColumn(s.ExpiresAt))
	s.Tags = snip.CleanTags(s.Tags)
	if len(s.Tags) == 0 {
		s.Tags = nil
	}
	if len(s.Rules) == 0 {
		s.Rules = nil
	}
	return s
}

// timeColumn is a moment as it is kept, NULL for none.
func timeColumn(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()}
}

// fold returns a code as it is on a domain that ignores case. Codes are ASCII.
func fold(code string) string { return strings.ToLower(code) }

// Link finds a link by its code or an alias.
func (v *View) Link(ctx context.Context, ref snip.Ref) (snip.Link, error) {
	ref.Domain = asKept(ref.Domain)
	l, err := v.findLink(ctx, v.store.Read(), ref)
	return l, v.store.failed("find link", err)
}

func (v *View) findLink(ctx context.Context, r queryer, ref snip.Ref) (snip.Link, error) {
	if !v.seesDomain(ref.Domain) {
		return snip.Link{}, notFound(ref)
	}
	l, err := scanLink(r.QueryRowContext(ctx, `
		SELECT `+linkColumns+` FROM links JOIN `+named+` ON links.id = named.link_id WHERE ($4 = 0 OR links.owner = $4)`,
		ref.Domain, ref.Code, fold(ref.Code), v.owner()))
	if errors.Is(err, sql.ErrNoRows) {
		return snip.Link{}, notFound(ref)
	}
	return l, err
}

// linkByID returns sql.ErrNoRows for a link that there is not, or that the key does not
// see.
func (v *View) linkByID(ctx context.Context, r queryer, id int64) (snip.Link, error) {
	l, err := scanLink(r.QueryRowContext(ctx, `
		SELECT `+linkColumns+` FROM links WHERE links.id = $1 AND ($2 = 0 OR links.owner = $2)`, id, v.owner()))
	if err == nil && !v.seesDomain(l.Domain) {
		return snip.Link{}, sql.ErrNoRows
	}
	return l, err
}

// Route returns what a redirect needs to know of the link with a code or an alias. It
// reads no more than that, and does not ask who sees the link: everybody may follow it.
func (s *Store) Route(ctx context.Context, domain, code string) (snip.Route, error) {
	var l snip.Link
	var r settingsRow
	var password, alias string
	err := s.db.QueryRowContext(ctx, `
		SELECT links.id, links.code, named.alias, url, starts_at, expires_at, click_limit, fallback, status, query, forward_path, rules, campaign, password_hash
		FROM links JOIN `+named+` ON links.id = named.link_id`, domain, code, fold(code)).
		Scan(&l.ID, &l.Code, &alias, &r.target, &r.starts, &r.expires, &r.clickLimit, &r.fallback, &r.status, &r.query, &r.forwardPath,
			&r.rules, &r.campaign, &password)
	if errors.Is(err, sql.ErrNoRows) {
		err = notFound(snip.Ref{Domain: domain, Code: code})
	}
	if err != nil {
		return snip.Route{}, s.failed("find route", err)
	}
	if l.Settings, err = r.settings(""); err != nil {
		return snip.Route{}, s.failed("read route", fmt.Errorf("link %d: %w", l.ID, err))
	}
	if alias != "" {
		l.Aliases = []string{alias}
	}
	route, err := l.Route(cmp.Or(alias, l.Code), password)
	return route, s.failed("make route", err)
}

func notFound(ref snip.Ref) error {
	message := fmt.Sprintf("No link has the code %q.", ref.Code)
	if ref.Domain != "" {
		message = fmt.Sprintf("No link on %s has the code %q.", ref.Domain, ref.Code)
	}
	return &snip.Error{Code: snip.NotFound, Field: "code", Message: message}
}

func conflict(code string) error {
	return &snip.Error{Code: snip.Conflict, Field: "code", Message: fmt.Sprintf("The code %q is taken. Choose another one.", code)}
}
