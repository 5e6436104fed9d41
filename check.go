package snip

import (
	"cmp"
	"net/http"
	"slices"
	"time"
	"unicode"
)

// Check returns an *Error that names the first field by which no link can be made.
func (n NewLink) Check(now time.Time, r Rules) error {
	if err := n.Settings.Check(r); err != nil {
		return err
	}
	if n.Code != "" {
		if err := CheckCode(n.Code); err != nil {
			return err
		}
	}
	if err := cmp.Or(checkDomain("domain", &n.Domain), checkPassword(n.Password), checkIdempotencyKey(n.IdempotencyKey)); err != nil {
		return err
	}
	if !n.ExpiresAt.IsZero() && !now.Before(n.ExpiresAt) {
		return invalid("expires_at", "A new link cannot have expired already; it is %s now.", written(now))
	}
	for i, rule := range n.Rules {
		if until := rule.When.Until; !until.IsZero() && !now.Before(until) {
			return invalid(item("rules", i)+".when.until", "This rule would never fit: it is %s now.", written(now))
		}
	}
	if n.Reuse && n.Password != "" {
		return invalid("reuse", "A link with a password cannot be found again, because nobody can read the password. Leave out one of the two.")
	}
	return nil
}

// Check returns an *Error that names the first field that no link can have. A moment
// in the past is none: an expiry then ends the link at once.
//
// What was right of the link before and of the edit may not be so together: see Apply.
func (e LinkEdit) Check(r Rules) error {
	if e.Code != nil {
		if err := CheckCode(*e.Code); err != nil {
			return err
		}
	} else if e.KeepCode {
		return invalid("keep_code", "There is no other code to keep: send code as well.")
	}
	if e.Password != nil {
		if err := checkPassword(*e.Password); err != nil {
			return err
		}
	}
	if e.Aliases != nil {
		if err := checkAliases(*e.Aliases); err != nil {
			return err
		}
	}
	if e.Tags != nil {
		if err := checkTags(*e.Tags); err != nil {
			return err
		}
	}
	// A target that stays is not looked at: the instance may have come to answer on its
	// host since, and nobody should have to mend that in order to change a title.
	return e.Apply(Settings{Target: "https://example.com/"}).Check(r)
}

// Apply returns settings as the edit makes them, with tags in their order.
// Settings.CheckTogether says whether they can be so.
func (e LinkEdit) Apply(s Settings) Settings {
	set(&s.Target, e.Target)
	set(&s.Title, e.Title)
	set(&s.Note, e.Note)
	set(&s.Tags, e.Tags)
	set(&s.StartsAt, e.StartsAt)
	set(&s.ExpiresAt, e.ExpiresAt)
	set(&s.ClickLimit, e.ClickLimit)
	set(&s.Fallback, e.Fallback)
	set(&s.Status, e.Status)
	set(&s.Query, e.Query)
	set(&s.ForwardPath, e.ForwardPath)
	set(&s.Rules, e.Rules)
	set(&s.Campaign, e.Campaign)
	s.Tags = CleanTags(s.Tags)
	return s
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// Check returns an *Error that names the first setting that no link can have.
func (s Settings) Check(r Rules) error {
	if err := r.checkField("url", s.Target); err != nil {
		return err
	}
	if s.Fallback != "" {
		if err := r.checkField("fallback_url", s.Fallback); err != nil {
			return err
		}
	}
	return cmp.Or(
		checkLine("title", "title", s.Title, MaxTitle),
		checkLines("note", "note", s.Note, MaxNote),
		checkTags(s.Tags),
		checkInstant("starts_at", s.StartsAt),
		checkInstant("expires_at", s.ExpiresAt),
		checkAnswer(s),
		r.checkRules(s.Rules),
		s.Campaign.check(),
		s.CheckTogether(r),
	)
}

// CheckTogether is what Check says of settings of which each is right by itself. It is
// asked of a link that was edited, in place of Check.
func (s Settings) CheckTogether(r Rules) error {
	if !s.StartsAt.IsZero() && !s.ExpiresAt.IsZero() && !s.StartsAt.Before(s.ExpiresAt) {
		return invalid("starts_at", "The link would expire, at %s, before it starts.", written(s.ExpiresAt))
	}
	targets, fields := []string{s.Target}, []string{"url"}
	for i, rule := range s.Rules {
		for j, arm := range rule.arms() {
			targets, fields = append(targets, arm.Target), append(fields, armField(i, j, rule))
		}
	}
	for i, target := range targets {
		own := fields[i]
		switch web := isWebTarget(target); {
		case s.Query != QueryOff && !web:
			return invalid("query", "A query can be passed on to addresses with http: or https: only; that of %s is another.", own)
		case s.Campaign != (Campaign{}) && !web:
			return invalid("campaign", "Parameters can be added to addresses with http: or https: only; that of %s is another.", own)
		case s.ForwardPath && !web:
			return invalid("forward_path", "A path can be passed on to addresses with http: or https: only; that of %s is another.", own)
		case s.ForwardPath && r.ownsTarget(target):
			return invalid("forward_path", "A path cannot be passed on to this server itself, as in %s: it could lead to a short link again.", own)
		}
	}
	return nil
}

// checkAnswer checks the settings of how a visit is answered.
func checkAnswer(s Settings) error {
	statuses := []int{0, http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect}
	policies := []QueryPolicy{QueryOff, QueryKeep, QueryOverride, QueryAppend}
	switch {
	case s.ClickLimit < 0 || s.ClickLimit > MaxClickLimit:
		return invalid("click_limit", "Must be a whole number from 1 to %d, or 0 for no limit.", int64(MaxClickLimit))
	case !slices.Contains(statuses, s.Status):
		return invalid("status", "Must be 301, 302, 307 or 308.")
	case !slices.Contains(policies, s.Query):
		return invalid("query", "Must be off, keep, override or append.")
	}
	return nil
}

func (c Campaign) check() error {
	return cmp.Or(
		checkLine("campaign.source", "source", c.Source, MaxCampaign),
		checkLine("campaign.medium", "medium", c.Medium, MaxCampaign),
		checkLine("campaign.name", "name", c.Name, MaxCampaign),
		checkLine("campaign.term", "term", c.Term, MaxCampaign),
		checkLine("campaign.content", "content", c.Content, MaxCampaign),
	)
}

// checkPassword says nothing of the password in its messages but its length.
func checkPassword(password string) error {
	if len(password) > MaxPassword {
		return invalid("password", "The password has %d bytes; at most %d are accepted.", len(password), MaxPassword)
	}
	for _, c := range password {
		if unicode.IsControl(c) {
			return invalid("password", "The password holds a control character, which cannot be typed into the form.")
		}
	}
	return nil
}

func checkAliases(aliases []string) error {
	if len(aliases) > MaxAliases {
		return invalid("aliases", "These are %d aliases; at most %d are accepted.", len(aliases), MaxAliases)
	}
	for i, alias := range aliases {
		field := item("aliases", i)
		if err := CheckCode(alias); err != nil {
			return inField(field, err)
		}
		if slices.Contains(aliases[:i], alias) {
			return invalid(field, "The alias %q is there twice.", alias)
		}
	}
	return nil
}

func checkIdempotencyKey(key string) error {
	const field = "Idempotency-Key"
	if len(key) > MaxIdempotencyKey {
		return invalid(field, "It has %d bytes; at most %d are accepted.", len(key), MaxIdempotencyKey)
	}
	for i, c := range []byte(key) {
		if c < ' ' || c >= 0x7f {
			return invalid(field, "It holds a byte (%#02x) that is no visible character of ASCII, at %d.", c, i)
		}
	}
	return nil
}
