package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"snip"
	"snip/wire"
)

// settings are the flags that say what a link is like.
type settings struct {
	title, note, expires, starts, fallback, query, rules string
	tags                                                 []string
	limit                                                int64
	status                                               int
	forwardPath, password                                bool
	campaign                                             snip.Campaign
}

func addSettings(cmd *cobra.Command, place *whereabouts) *settings {
	s := &settings{}
	place.check = func() error { return s.checkInput(place.keyFile) }
	f := cmd.Flags()
	f.StringVar(&s.title, "title", "", "a title for people")
	f.StringVar(&s.note, "note", "", "a note for those who manage the link")
	f.StringArrayVar(&s.tags, "tag", nil, "a tag; may be said several times")
	f.StringVar(&s.expires, "expires", "", "when it ends, such as "+howTimes+"; a day is included")
	f.StringVar(&s.starts, "starts", "", "when it begins, written in the same ways")
	f.Int64Var(&s.limit, "limit", 0, "how many redirects there are before it is used up")
	f.StringVar(&s.fallback, "fallback", "", "where it leads once it has expired or is used up")
	f.IntVar(&s.status, "status", 0, "status of the redirect: 301, 302, 307 or 308 (307)")
	f.StringVar(&s.query, "query", "", "what becomes of a visitor's query: off, keep, override or append (off)")
	f.BoolVar(&s.forwardPath, "forward-path", false, "/code/more leads to the target with /more")
	f.BoolVar(&s.password, "password-stdin", false, "read the password that visitors are asked for from the input")
	f.StringVar(&s.rules, "rules", "", "a JSON file with the list of rules, or - for the input")
	for name, text := range s.campaignTexts() {
		f.StringVar(text, "campaign-"+name, "", "parameter utm_"+cmp.Or(map[string]string{"name": "campaign"}[name], name)+" that is added to the target")
	}
	return s
}

func (s *settings) campaignTexts() map[string]*string {
	c := &s.campaign
	return map[string]*string{"source": &c.Source, "medium": &c.Medium, "name": &c.Name, "term": &c.Term, "content": &c.Content}
}

// read returns what was said, as a change of a link.
func (s *settings) read(cmd *cobra.Command, zone *time.Location) (e snip.LinkEdit, err error) {
	changed := cmd.Flags().Changed
	for name, to := range map[string]func(){
		"title":        func() { e.Title = &s.title },
		"note":         func() { e.Note = &s.note },
		"tag":          func() { e.Tags = &s.tags },
		"limit":        func() { e.ClickLimit = &s.limit },
		"fallback":     func() { e.Fallback = &s.fallback },
		"status":       func() { e.Status = &s.status },
		"query":        func() { q := wire.QueryPolicy(s.query); e.Query = &q },
		"forward-path": func() { e.ForwardPath = &s.forwardPath },
	} {
		if changed(name) {
			to()
		}
	}
	if changed("expires") {
		if e.ExpiresAt, err = readWhen("--expires", s.expires, zone, true); err != nil {
			return e, err
		}
	}
	if changed("starts") {
		if e.StartsAt, err = readWhen("--starts", s.starts, zone, false); err != nil {
			return e, err
		}
	}
	for name := range s.campaignTexts() {
		if changed("campaign-" + name) {
			e.Campaign = &s.campaign
		}
	}
	if changed("rules") {
		if e.Rules, err = readRules(cmd, s.rules); err != nil {
			return e, err
		}
	}
	if s.password {
		password, err := readSecret(cmd, "password")
		if err != nil {
			return e, err
		}
		e.Password = &password
	}
	return e, nil
}

// checkInput: the input holds one thing.
func (s *settings) checkInput(keyFile string) error {
	things := 0
	for _, read := range []bool{s.rules == "-", s.password, keyFile == "-"} {
		if read {
			things++
		}
	}
	if things > 1 {
		return &usageError{errors.New("key, password and rules cannot come from the input together: write one into a file")}
	}
	return nil
}

// apply sets what a change says.
func apply(e snip.LinkEdit, to *snip.Settings) {
	set(&to.Title, e.Title)
	set(&to.Note, e.Note)
	set(&to.Tags, e.Tags)
	set(&to.StartsAt, e.StartsAt)
	set(&to.ExpiresAt, e.ExpiresAt)
	set(&to.ClickLimit, e.ClickLimit)
	set(&to.Fallback, e.Fallback)
	set(&to.Status, e.Status)
	set(&to.Query, e.Query)
	set(&to.ForwardPath, e.ForwardPath)
	set(&to.Rules, e.Rules)
	set(&to.Campaign, e.Campaign)
}

func set[T any](to, value *T) {
	if value != nil {
		*to = *value
	}
}

func readWhen(flag, text string, zone *time.Location, end bool) (*time.Time, error) {
	t, err := parseWhen(text, time.Now(), zone, end)
	if err != nil {
		return nil, &usageError{fmt.Errorf("%s: %w", flag, err)}
	}
	return &t, nil
}

// maxRules is more than any list of rules has.
const maxRules = 4 << 20

// readRules reads a list of rules. A name that is not known would be a condition that
// nobody heeds.
func readRules(cmd *cobra.Command, name string) (*[]snip.Rule, error) {
	in := cmd.InOrStdin()
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("--rules: %w", err)
		}
		defer f.Close() // Nothing was written.
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxRules))
	if err != nil {
		return nil, fmt.Errorf("--rules: %w", err)
	}
	var rules []snip.Rule
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err = d.Decode(&rules)
	if err == nil && d.More() {
		err = errors.New("something follows the list")
	}
	if err != nil {
		return nil, &hintError{&usageError{fmt.Errorf("--rules: %s is no JSON list of rules: %w", name, err)},
			`[{"name": "phones", "when": {"devices": ["phone"]}, "url": "https://m.example.com/"}]`}
	}
	return &rules, nil
}
