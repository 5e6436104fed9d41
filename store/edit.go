package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"snip"
	"snip/event"
	"snip/wire"
)

// EditLink changes what is not nil in e, all of it or nothing. With a new code the
// link keeps what was counted for it. The change is told to topic "links". An edit that
// changes nothing writes nothing.
func (v *View) EditLink(ctx context.Context, ref snip.Ref, e snip.LinkEdit) (snip.Link, error) {
	l, err := v.editLink(ctx, ref, e)
	return l, v.store.failed("edit link", err)
}

func (v *View) editLink(ctx context.Context, ref snip.Ref, e snip.LinkEdit) (snip.Link, error) {
	s, now := v.store, v.store.now()
	ref.Domain = asKept(ref.Domain)
	if err := e.Check(s.rules); err != nil {
		return snip.Link{}, err
	}
	var password *string
	if e.Password != nil {
		hash, err := s.hashPassword(ctx, *e.Password)
		if err != nil {
			return snip.Link{}, err
		}
		password = &hash
	}
	var l snip.Link
	err := s.change(ctx, func(ctx context.Context, tx session) error {
		domains, err := lockDomains(ctx, tx)
		if err != nil {
			return err
		}
		before, err := v.lockLink(ctx, tx, ref)
		if err != nil {
			return err
		}
		if err := sameVersion(e.Version, before.Version, "link"); err != nil {
			return err
		}
		l, err = edited(before, e, domains, domains.rules(s.rules), now)
		if err != nil {
			return err
		}
		if same, err := sameLink(before, l); err != nil || same && (password == nil || *password == "" && !before.HasPassword) {
			return err
		}
		l.Version++
		l.UpdatedAt = now
		if l.ClickLimit == 0 && before.ClickLimit > 0 {
			l.LimitUsed = 0
		}
		return v.saveLink(ctx, tx, before, l, password, domains.ignoreCase(l.Domain))
	})
	if err != nil {
		return snip.Link{}, err
	}
	return l, nil
}

// lockLink finds a link that the key sees and keeps others from changing it until the
// end of the transaction.
func (v *View) lockLink(ctx context.Context, tx session, ref snip.Ref) (snip.Link, error) {
	if tx.kind == onSQLite {
		return v.findLink(ctx, tx, ref)
	}
	// Between finding a link and locking it, its code may be given to another one.
	for range attempts {
		id, err := v.findID(ctx, tx, ref)
		if err != nil {
			return snip.Link{}, err
		}
		if _, err := tx.ExecContext(ctx, `SELECT id FROM links WHERE id = $1 FOR UPDATE`, id); err != nil {
			return snip.Link{}, err
		}
		l, err := v.findLink(ctx, tx, ref)
		if err == nil && l.ID == id {
			return l, nil
		}
		if snip.CodeOf(err) != snip.NotFound && err != nil {
			return snip.Link{}, err
		}
	}
	return snip.Link{}, notFound(ref)
}

// edited returns a link as an edit makes it, but for its version and password.
func edited(before snip.Link, e snip.LinkEdit, domains hosts, rules snip.Rules, now time.Time) (snip.Link, error) {
	if domains.others() {
		if err := e.Check(rules); err != nil {
			return snip.Link{}, err
		}
	}
	l := before
	l.Settings = kept(e.Apply(before.Settings))
	if err := l.CheckTogether(rules); err != nil {
		return snip.Link{}, err
	}
	if e.Archived != nil && *e.Archived != !before.ArchivedAt.IsZero() {
		l.ArchivedAt = time.Time{}
		if *e.Archived {
			l.ArchivedAt = now
		}
	}
	if e.Password != nil {
		l.HasPassword = *e.Password != ""
	}
	if e.Code != nil {
		l.Code = *e.Code
	}
	var err error
	l.Aliases, err = aliasesOf(before, l.Code, e, domains.ignoreCase(before.Domain))
	return l, err
}

// aliasesOf returns which aliases a link has when it is edited and has a code then.
func aliasesOf(before snip.Link, code string, e snip.LinkEdit, ignoreCase bool) ([]string, error) {
	same := func(a, b string) bool { return a == b || ignoreCase && fold(a) == fold(b) }
	aliases := slices.Clone(before.Aliases)
	if e.KeepCode && !same(before.Code, code) {
		aliases = append(aliases, before.Code)
	}
	if e.Aliases != nil {
		for i, alias := range *e.Aliases {
			if !slices.Contains(aliases, alias) && alias != code {
				return nil, &snip.Error{Code: snip.Invalid, Field: fmt.Sprintf("aliases[%d]", i),
					Message: fmt.Sprintf("%q is no alias of the link. A code becomes one when the link gets another code and keeps this one.", alias)}
			}
		}
		aliases = slices.DeleteFunc(aliases, func(alias string) bool {
			return !slices.Contains(*e.Aliases, alias) && (!e.KeepCode || alias != before.Code)
		})
	}
	// An alias that becomes the code is one no more.
	aliases = slices.DeleteFunc(aliases, func(alias string) bool { return same(alias, code) })
	if len(aliases) > snip.MaxAliases {
		return nil, &snip.Error{Code: snip.Invalid, Field: "keep_code",
			Message: fmt.Sprintf("The link has %d aliases already, and there can be no more. Remove one first, or do not keep the code.", snip.MaxAliases)}
	}
	if len(aliases) == 0 {
		return nil, nil
	}
	return aliases, nil
}

// sameLink reports whether an edit changed nothing, but for a password.
func sameLink(a, b snip.Link) (bool, error) {
	was, err := rowOf(a.Settings)
	if err != nil {
		return false, err
	}
	is, err := rowOf(b.Settings)
	return was == is && a.Code == b.Code && slices.Equal(a.Aliases, b.Aliases) && slices.Equal(a.Tags, b.Tags) &&
		a.ArchivedAt.Equal(b.ArchivedAt), err
}

// saveLink writes and tells what an edit made of a link. A nil password stays.
func (v *View) saveLink(ctx context.Context, tx session, before, after snip.Link, password *string, folded bool) error {
	if err := dropAliases(ctx, tx, before, after); err != nil {
		return err
	}
	if err := v.updateLink(ctx, tx, before, after, password, folded); err != nil {
		return err
	}
	if err := addAliases(ctx, tx, before, after, folded); err != nil {
		return err
	}
	if err := changeTags(ctx, tx, before, after); err != nil {
		return err
	}
	if err := changeWords(ctx, tx, before, after); err != nil {
		return err
	}
	if after.ClickLimit == 0 && before.ClickLimit > 0 {
		if err := removeLimit(ctx, tx, after.ID); err != nil {
			return err
		}
	}
	return v.tellEdited(ctx, tx, before, after, password != nil)
}

// updateLink writes what is in the row of a link.
func (v *View) updateLink(ctx context.Context, tx session, before, after snip.Link, password *string, folded bool) error {
	row, err := rowOf(after.Settings)
	if err != nil {
		return err
	}
	fold := foldedColumn(after.Code, folded)
	args := append(row.values(), after.ID, after.Code, fold, password, timeColumn(after.ArchivedAt), after.Version, after.UpdatedAt.UnixMicro())
	_, err = tx.ExecContext(ctx, `
		UPDATE links SET (`+settingsColumns+`, code, folded, password_hash, archived_at, version, updated_at)
			= ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $14, $15, COALESCE(CAST($16 AS TEXT), password_hash), $17, $18, $19)
		WHERE id = $13`, args...)
	if v.store.db.taken(err) {
		return conflict(after.Code)
	}
	if err != nil || after.Code == before.Code {
		return err
	}
	return noAlias(ctx, tx, after.Domain, after.Code, fold)
}

// tellEdited tells an edit to both topics.
func (v *View) tellEdited(ctx context.Context, tx session, before, after snip.Link, password bool) error {
	at := after.UpdatedAt
	codes := slices.Concat([]string{after.Code, before.Code}, after.Aliases, before.Aliases)
	err := v.store.tell(ctx, tx, at, event.LinkChange{Link: after.ID, Change: event.Edited, Domain: after.Domain, Codes: distinct(codes)})
	if err != nil {
		return err
	}
	changes, err := changesOf(wire.LinkOf(before, ""), wire.LinkOf(after, ""))
	if err != nil {
		return err
	}
	if password {
		changes = append(changes, event.FieldChange{Field: event.PasswordField})
	}
	return v.audit(ctx, tx, event.Audit{At: at, Action: "link.edited", Subject: subjectOf(after), Changes: changes})
}

// distinct returns things in their order, each once.
func distinct[T comparable](texts []T) []T {
	var once []T
	for _, text := range texts {
		if !slices.Contains(once, text) {
			once = append(once, text)
		}
	}
	return once
}

// DeleteLink removes a link and all that was counted for it. Clicks on it that are
// still under way will count for nothing, also if its code is given out again. The
// change is told to topic "links".
func (v *View) DeleteLink(ctx context.Context, ref snip.Ref, version int64) error {
	ref.Domain = asKept(ref.Domain)
	err := v.store.change(ctx, func(ctx context.Context, tx session) error {
		l, err := v.lockLink(ctx, tx, ref)
		if err != nil {
			return err
		}
		if err := sameVersion(version, l.Version, "link"); err != nil {
			return err
		}
		return v.removeLink(ctx, tx, l, v.store.now())
	})
	return v.store.failed("delete link", err)
}

// removeLink removes a link that is locked, and tells it.
func (v *View) removeLink(ctx context.Context, tx session, l snip.Link, now time.Time) error {
	for _, statement := range []string{
		`DELETE FROM links WHERE id = $1`,
		`DELETE FROM aliases WHERE link_id = $1`,
		`DELETE FROM link_tags WHERE link_id = $1`,
	} {
		if _, err := tx.ExecContext(ctx, statement, l.ID); err != nil {
			return err
		}
	}
	if err := errors.Join(removeWords(ctx, tx, l.ID), removeLimit(ctx, tx, l.ID)); err != nil {
		return err
	}
	if err := removeCounts(ctx, tx, l.ID); err != nil {
		return err
	}
	codes := slices.Concat([]string{l.Code}, l.Aliases)
	err := v.store.tell(ctx, tx, now, event.LinkChange{Link: l.ID, Change: event.Deleted, Domain: l.Domain, Codes: codes})
	if err != nil {
		return err
	}
	changes, err := changesOf(wire.LinkOf(l, ""), nil)
	if err != nil {
		return err
	}
	return v.audit(ctx, tx, event.Audit{At: now, Action: "link.deleted", Subject: subjectOf(l), Changes: changes})
}
