package snip

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// checkRules checks the rules of a link, each by itself and after those before it.
func (r Rules) checkRules(rules []Rule) error {
	if len(rules) > MaxRules {
		return invalid("rules", "These are %d rules; at most %d are accepted.", len(rules), MaxRules)
	}
	size := 0
	taken := map[string]bool{fallbackArm: true}
	for i, rule := range rules {
		field := item("rules", i)
		if err := cmp.Or(checkLine(field+".name", "name", rule.Name, MaxName), rule.When.check(field+".when")); err != nil {
			return err
		}
		if err := r.checkTargets(field, rule); err != nil {
			return err
		}
		for j, name := range rule.names(i) {
			if taken[name] {
				return invalid(nameField(field, j, rule), "Statistics could not tell this from another %q of the link. Choose another name.", name)
			}
			taken[name] = true
		}
		for _, arm := range rule.arms() {
			size += len(arm.Target)
		}
		if err := checkReached(rules, i); err != nil {
			return err
		}
	}
	if size > MaxRuleTargets {
		return invalid("rules", "The addresses of all rules have %d bytes; at most %d are accepted.", size, MaxRuleTargets)
	}
	return nil
}

// checkReached refuses a rule behind one that takes all its visitors.
func checkReached(rules []Rule, i int) error {
	when := rules[i].When.spelled()
	for k, earlier := range rules[:i] {
		switch {
		case earlier.When.everybody():
			return invalid(item("rules", i), "This rule is never reached: rules[%d] comes before it and fits everybody.", k)
		case earlier.When.spelled().covers(when):
			return invalid(item("rules", i)+".when", "This rule is never reached: rules[%d] comes before it and fits all that this one fits.", k)
		}
	}
	return nil
}

// checkTargets checks where a rule leads.
func (r Rules) checkTargets(field string, rule Rule) error {
	switch {
	case rule.Target == "" && len(rule.Split) == 0:
		return invalid(field+".url", "The rule leads nowhere: it needs a url or a split.")
	case rule.Target != "" && len(rule.Split) > 0:
		return invalid(field+".url", "The rule has a url and a split. Leave out one of the two.")
	case rule.Target != "":
		return r.checkField(field+".url", rule.Target)
	case len(rule.Split) > MaxArms:
		return invalid(field+".split", "These are %d arms; at most %d are accepted.", len(rule.Split), MaxArms)
	}
	sum := 0
	for j, arm := range rule.Split {
		field := item(field+".split", j)
		if err := cmp.Or(checkLine(field+".name", "name", arm.Name, MaxName), r.checkField(field+".url", arm.Target)); err != nil {
			return err
		}
		if arm.Weight < 0 || arm.Weight > MaxWeight {
			return invalid(field+".weight", "Must be a whole number from 0 to %d.", MaxWeight)
		}
		sum += arm.Weight
	}
	if sum == 0 {
		return invalid(field+".split", "All weights are 0, so that nobody is led anywhere. Give at least one arm more.")
	}
	return nil
}

// armField names the target of an arm of a link's i-th rule.
func armField(i, j int, rule Rule) string {
	if len(rule.Split) == 0 {
		return item("rules", i) + ".url"
	}
	return item(item("rules", i)+".split", j) + ".url"
}

// nameField names what gives an arm its name in statistics.
func nameField(field string, j int, rule Rule) string {
	if len(rule.Split) == 0 {
		return field + ".name"
	}
	return item(field+".split", j) + ".name"
}

// check refuses conditions that nobody can meet.
func (c Conditions) check(field string) error {
	err := cmp.Or(
		checkValues(field+".devices", c.Devices, func(s string) string {
			if slices.Contains(Devices(), strings.ToLower(s)) {
				return ""
			}
			return "is no device. Name one of " + strings.Join(Devices(), ", ") + "."
		}),
		checkValues(field+".systems", c.Systems, func(s string) string {
			if slices.Contains(Systems(), systemName(s)) {
				return ""
			}
			return "is no system. Name one of " + strings.Join(Systems(), ", ") + "."
		}),
		checkValues(field+".languages", c.Languages, func(s string) string {
			if isLanguage(s) {
				return ""
			}
			return "is no language. Write it as de or pt-BR."
		}),
		checkValues(field+".countries", c.Countries, func(s string) string {
			switch code := strings.ToUpper(s); {
			case isCountry(code):
				return ""
			case code == "UK":
				return "is no country of ISO 3166-1. The United Kingdom is GB."
			}
			return "is no country of ISO 3166-1. Write it as DE."
		}),
		checkParameters(field+".query", c.Query),
		checkInstant(field+".from", c.From),
		checkInstant(field+".until", c.Until),
	)
	if err == nil && !c.From.IsZero() && !c.Until.IsZero() && !c.From.Before(c.Until) {
		return invalid(field+".until", "Nobody fits: until must lie after from.")
	}
	return err
}

// checkValues checks the list of one condition. wrong completes a sentence that begins
// with the value, and is empty for one that is right.
func checkValues(field string, list []string, wrong func(string) string) error {
	if list != nil && len(list) == 0 {
		return invalid(field, "The list is empty, so that nobody fits. Leave it out, or name one.")
	}
	if len(list) > MaxValuesOfRule {
		return invalid(field, "These are %d values; at most %d are accepted.", len(list), MaxValuesOfRule)
	}
	for i, value := range list {
		if why := wrong(value); why != "" {
			return invalid(item(field, i), "%s %s", strconv.Quote(shorten(value)), why)
		}
		if slices.ContainsFunc(list[:i], func(s string) bool { return strings.EqualFold(s, value) }) {
			return invalid(item(field, i), "%q is there twice.", value)
		}
	}
	return nil
}

func checkParameters(field string, parameters map[string][]string) error {
	if parameters != nil && len(parameters) == 0 {
		return invalid(field, "No parameter is named. Leave it out, or name one.")
	}
	if len(parameters) > MaxValuesOfRule {
		return invalid(field, "These are %d parameters; at most %d are accepted.", len(parameters), MaxValuesOfRule)
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		if name == "" {
			return invalid(field, "A parameter has no name.")
		}
		if err := checkLine(field, "name of a parameter", name, MaxParameter); err != nil {
			return err
		}
		values := parameters[name]
		if len(values) > MaxValuesOfRule {
			return invalid(field, "The parameter %q has %d values; at most %d are accepted.", name, len(values), MaxValuesOfRule)
		}
		for i, value := range values {
			if err := checkLine(field, "value of "+strconv.Quote(name), value, MaxParameter); err != nil {
				return err
			}
			if slices.Contains(values[:i], value) {
				return invalid(field, "The value %q of %q is there twice.", value, name)
			}
		}
	}
	return nil
}

// isLanguage reports the form of BCP 47: a language of two or three letters, and
// further parts of up to eight letters and digits.
func isLanguage(s string) bool {
	primary, _, _ := strings.Cut(s, "-")
	if len(primary) < 2 || len(primary) > 3 || strings.ContainsAny(primary, "0123456789") || len(s) > 35 {
		return false
	}
	for part := range strings.SplitSeq(s, "-") {
		if len(part) < 1 || len(part) > 8 || !isASCII(part) {
			return false
		}
		for _, c := range []byte(part) {
			if !isWordByte(c) || c == '_' {
				return false
			}
		}
	}
	return true
}
