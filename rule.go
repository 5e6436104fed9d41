package snip

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Rule leads some visitors elsewhere. Its JSON is that of the API and of the store.
type Rule struct {
	// Name stands for the rule in statistics; "rule 1" for the first one that has none.
	Name string `json:"name,omitempty"`
	// When says whom it is for. Without any condition it is for everybody.
	When Conditions `json:"when,omitzero"`
	// Target is where it leads. Either it or Split is set.
	Target string `json:"url,omitempty"`
	// Split shares visitors out. One visitor stays on one arm for as long as the arms
	// stay as they are.
	Split []Arm `json:"split,omitempty"`
}

// Arm is one of the targets that visitors are shared out to.
type Arm struct {
	Name   string `json:"name,omitempty"` // In statistics; "arm 1" for the first one that has none, after the rule's name.
	Target string `json:"url"`
	Weight int    `json:"weight"` // Its share of the sum of all weights. 0 to MaxWeight.
}

// Conditions are what must be so of a visit, all of those that are set.
type Conditions struct {
	Devices   []string `json:"devices,omitempty"`   // One of: desktop, phone, tablet, tv, other.
	Systems   []string `json:"systems,omitempty"`   // One of those that statistics know, such as iOS. Case does not matter.
	Languages []string `json:"languages,omitempty"` // The one that the visitor likes best is one of these: de for any German, pt-BR for that one.
	Countries []string `json:"countries,omitempty"` // ISO 3166-1, such as DE.
	// Query holds parameters that the visitor brings, with one of the values named; with
	// none named any value does.
	Query map[string][]string `json:"query,omitempty"`
	From  time.Time           `json:"from,omitzero"`  // From then on. Zero: from ever.
	Until time.Time           `json:"until,omitzero"` // Before then. Zero: for ever.
}

// Devices returns the kinds of device that statistics and rules tell apart.
func Devices() []string { return []string{"desktop", "phone", "tablet", "tv", "other"} }

// Systems returns the operating systems that statistics and rules tell apart.
func Systems() []string {
	return []string{"Android", "ChromeOS", "FreeBSD", "KaiOS", "Linux", "OpenBSD", "Windows", "iOS", "macOS", "webOS"}
}

// arms returns the split of a rule, or its target as the one arm there is.
func (r Rule) arms() []Arm {
	if len(r.Split) == 0 {
		return []Arm{{Target: r.Target, Weight: 1}}
	}
	return r.Split
}

// names returns what the arms of a link's i-th rule are called in statistics.
func (r Rule) names(i int) []string {
	rule := cmp.Or(r.Name, "rule "+strconv.Itoa(i+1))
	if len(r.Split) == 0 {
		return []string{rule}
	}
	names := make([]string, len(r.Split))
	for j, arm := range r.Split {
		names[j] = rule + "/" + cmp.Or(arm.Name, "arm "+strconv.Itoa(j+1))
	}
	return names
}

// spelled returns the conditions with all lists spelled as Visitor spells them.
func (c Conditions) spelled() Conditions {
	each := func(list []string, spell func(string) string) []string {
		if list == nil {
			return nil
		}
		spelled := make([]string, len(list))
		for i, s := range list {
			spelled[i] = spell(s)
		}
		return spelled
	}
	c.Devices = each(c.Devices, strings.ToLower)
	c.Systems = each(c.Systems, systemName)
	c.Languages = each(c.Languages, strings.ToLower)
	c.Countries = each(c.Countries, strings.ToUpper)
	return c
}

// systemName returns the name of a system in its usual case. One that is not known
// stays as it is.
func systemName(s string) string {
	for _, name := range Systems() {
		if strings.EqualFold(name, s) {
			return name
		}
	}
	return s
}

// everybody reports whether there is no condition.
func (c Conditions) everybody() bool {
	return len(c.Devices)+len(c.Systems)+len(c.Languages)+len(c.Countries)+len(c.Query) == 0 && c.From.IsZero() && c.Until.IsZero()
}

// covers reports whether every visit that meets the conditions d meets c, too. Both
// are spelled.
func (c Conditions) covers(d Conditions) bool {
	switch {
	case !coversList(c.Devices, d.Devices), !coversList(c.Systems, d.Systems), !coversList(c.Countries, d.Countries),
		len(c.Languages) > 0 && len(d.Languages) == 0,
		!c.From.IsZero() && (d.From.IsZero() || d.From.Before(c.From)),
		!c.Until.IsZero() && (d.Until.IsZero() || d.Until.After(c.Until)):
		return false
	}
	for _, l := range d.Languages {
		if len(c.Languages) > 0 && !coversLanguage(c.Languages, l) {
			return false
		}
	}
	for name, values := range c.Query {
		if narrower, ok := d.Query[name]; !ok || !coversList(values, narrower) {
			return false
		}
	}
	return true
}

// coversList reports whether what fits one of list fits one of all. An empty list
// fits everything.
func coversList(all, list []string) bool {
	if len(all) == 0 {
		return true
	}
	return len(list) > 0 && !slices.ContainsFunc(list, func(s string) bool { return !slices.Contains(all, s) })
}
