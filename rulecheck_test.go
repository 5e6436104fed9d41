package snip_test

import (
	"strings"
	"testing"
	"time"

	"snip"
)

type lists = map[string][]string

func TestRulesAreAccepted(t *testing.T) {
	in := func(countries ...string) snip.Conditions { return snip.Conditions{Countries: countries} }
	query := func(q lists) snip.Conditions { return snip.Conditions{Query: q} }
	tests := []struct {
		name  string
		rules []snip.Rule
	}{
		{"none", nil},
		{"everybody", []snip.Rule{{Target: target}}},
		{"every condition", []snip.Rule{{Name: "Ä/ö", Target: target, When: snip.Conditions{
			Devices: []string{"TV", "other"}, Systems: []string{"ios", "WEBOS"}, Languages: []string{"de", "pt-BR", "zh-Hant-TW", "de-AT-1996"},
			Countries: []string{"de", "GB", "XK"}, Query: lists{"a": nil, "ü ü": {"", "1"}}, From: noon, Until: noon.Add(1),
		}}}},
		{"split of one", []snip.Rule{{Split: []snip.Arm{{Target: target, Weight: snip.MaxWeight}}}}},
		{"weight of zero beside another", []snip.Rule{{Split: []snip.Arm{{Target: target}, {Target: target, Weight: 1}}}}},
		{"everybody last", []snip.Rule{{When: in("DE"), Target: target}, {Target: target}}},
		{"overlapping lists", []snip.Rule{{When: in("DE", "AT"), Target: target}, {When: in("AT", "CH"), Target: target}}},
		{"narrower first", []snip.Rule{{When: in("DE"), Target: target}, {When: in("DE", "AT"), Target: target}}},
		{"other conditions", []snip.Rule{{When: in("DE"), Target: target}, {When: snip.Conditions{Devices: []string{"tv"}}, Target: target}}},
		{"narrower language first", []snip.Rule{
			{When: snip.Conditions{Languages: []string{"de-AT"}}, Target: target}, {When: snip.Conditions{Languages: []string{"de"}}, Target: target},
		}},
		{"narrower query first", []snip.Rule{{When: query(lists{"a": {"1"}}), Target: target}, {When: query(lists{"a": nil}), Target: target}}},
		{"another parameter", []snip.Rule{{When: query(lists{"a": nil}), Target: target}, {When: query(lists{"b": nil}), Target: target}}},
		{"window in a row", []snip.Rule{
			{When: snip.Conditions{Until: noon}, Target: target}, {When: snip.Conditions{Until: noon.Add(1)}, Target: target},
			{When: snip.Conditions{From: noon.Add(2)}, Target: target}, {When: snip.Conditions{From: noon.Add(1)}, Target: target},
		}},
	}
	for _, test := range tests {
		if err := (snip.Settings{Target: target, Rules: test.rules}).Check(snip.Rules{Own: own}); err != nil {
			t.Errorf("%s: Check() = %v, want nil", test.name, err)
		}
	}
}

func TestRulesAreRefused(t *testing.T) {
	when := func(c snip.Conditions) []snip.Rule { return []snip.Rule{{When: c, Target: target}} }
	after := func(first, second snip.Conditions) []snip.Rule {
		return []snip.Rule{{When: snip.Conditions{Devices: []string{"tv"}}, Target: target}, {When: first, Target: target}, {When: second, Target: target}}
	}
	split := func(arms ...snip.Arm) []snip.Rule {
		return []snip.Rule{{When: snip.Conditions{Countries: []string{"DE"}}, Target: target}, {Split: arms}}
	}
	arm := snip.Arm{Target: target, Weight: 1}
	named := func(name string) snip.Arm { return snip.Arm{Name: name, Target: target, Weight: 1} }
	in := func(countries ...string) snip.Conditions { return snip.Conditions{Countries: countries} }
	tests := []struct {
		name           string
		rules          []snip.Rule
		field, message string
	}{
		{"many", make([]snip.Rule, snip.MaxRules+1), "rules", "21 rules"},
		{"nowhere", []snip.Rule{{}}, "rules[0].url", "nowhere"},
		{"nowhere but an empty split", []snip.Rule{{Split: []snip.Arm{}}}, "rules[0].url", "nowhere"},
		{"two ways", []snip.Rule{{Target: target, Split: []snip.Arm{arm}}}, "rules[0].url", "a url and a split"},
		{"target", []snip.Rule{{Target: "data:x"}}, "rules[0].url", "never"},
		{"loop", []snip.Rule{{Target: "https://sni.example/abc"}}, "rules[0].url", "short link"},
		{"name with a line end", []snip.Rule{{Name: "a\n", Target: target}}, "rules[0].name", "U+000A"},
		{"long name", []snip.Rule{{Name: strings.Repeat("ü", 51), Target: target}}, "rules[0].name", "51 characters"},
		{"name of the fallback", []snip.Rule{{Name: "fallback", Target: target}}, "rules[0].name", "another name"},
		{"name twice", []snip.Rule{{Name: "a", When: in("DE"), Target: target}, {Name: "a", Target: target}}, "rules[1].name", "another name"},
		{"name of a rule without one", []snip.Rule{{Name: "rule 2", When: in("DE"), Target: target}, {Target: target}}, "rules[1].name", "another name"},
		{"name of an arm twice", split(named("a"), arm, named("a")), "rules[1].split[2].name", "another name"},
		{"name of an arm of another rule", []snip.Rule{{Name: "a/b", When: in("DE"), Target: target}, {Name: "a", Split: []snip.Arm{named("b")}}}, "rules[1].split[0].name", "another name"},

		{"weights of zero", split(snip.Arm{Target: target}, snip.Arm{Target: target}), "rules[1].split", "All weights are 0"},
		{"weight below zero", split(arm, snip.Arm{Target: target, Weight: -1}), "rules[1].split[1].weight", "1000000"},
		{"weight out of reach", split(arm, snip.Arm{Target: target, Weight: snip.MaxWeight + 1}), "rules[1].split[1].weight", "1000000"},
		{"many arms", split(make([]snip.Arm, snip.MaxArms+1)...), "rules[1].split", "21 arms"},
		{"arm without target", split(arm, snip.Arm{Weight: 1}), "rules[1].split[1].url", "missing"},
		{"arm in a loop", split(arm, snip.Arm{Target: "https://sni.example/abc", Weight: 1}), "rules[1].split[1].url", "short link"},
		{"arm with a bad name", split(named("\x00")), "rules[1].split[0].name", "U+0000"},
		{"long targets", split(manyArms(5, strings.Repeat("x", snip.MaxTarget-30))...), "rules", "at most 262144"},

		{"device", when(snip.Conditions{Devices: []string{"tv", "watch"}}), "rules[0].when.devices[1]", `"watch" is no device. Name one of desktop`},
		{"unknown device", when(snip.Conditions{Devices: []string{"unknown"}}), "rules[0].when.devices[0]", "no device"},
		{"system", when(snip.Conditions{Systems: []string{"Symbian"}}), "rules[0].when.systems[0]", "Android"},
		{"language", when(snip.Conditions{Languages: []string{"german"}}), "rules[0].when.languages[0]", "de or pt-BR"},
		{"language with a line below", when(snip.Conditions{Languages: []string{"pt_BR"}}), "rules[0].when.languages[0]", "pt-BR"},
		{"language with nothing behind", when(snip.Conditions{Languages: []string{"de-"}}), "rules[0].when.languages[0]", "no language"},
		{"no language", when(snip.Conditions{Languages: []string{"*"}}), "rules[0].when.languages[0]", "no language"},
		{"language, long part", when(snip.Conditions{Languages: []string{"de-" + strings.Repeat("x", 9)}}), "rules[0].when.languages[0]", "no language"},
		{"country", when(in("XX")), "rules[0].when.countries[0]", "no country"},
		{"country by name", when(in("Germany")), "rules[0].when.countries[0]", "as DE"},
		{"country across two", when(in("D ")), "rules[0].when.countries[0]", "no country"},
		{"the United Kingdom", when(in("uk")), "rules[0].when.countries[0]", "GB"},
		{"empty devices", when(snip.Conditions{Devices: []string{}}), "rules[0].when.devices", "empty"},
		{"empty systems", when(snip.Conditions{Systems: []string{}}), "rules[0].when.systems", "empty"},
		{"empty languages", when(snip.Conditions{Languages: []string{}}), "rules[0].when.languages", "empty"},
		{"empty countries", when(snip.Conditions{Countries: []string{}}), "rules[0].when.countries", "empty"},
		{"country twice", when(in("DE", "de")), "rules[0].when.countries[1]", "twice"},
		{"many countries", when(in(make([]string, 51)...)), "rules[0].when.countries", "51 values"},
		{"empty query", when(snip.Conditions{Query: lists{}}), "rules[0].when.query", "No parameter"},
		{"parameter without a name", when(snip.Conditions{Query: lists{"": nil}}), "rules[0].when.query", "no name"},
		{"parameter not UTF-8", when(snip.Conditions{Query: lists{"\xff": nil}}), "rules[0].when.query", "UTF-8"},
		{"value with a line end", when(snip.Conditions{Query: lists{"a": {"\n"}}}), "rules[0].when.query", "U+000A"},
		{"long value", when(snip.Conditions{Query: lists{"a": {strings.Repeat("x", 101)}}}), "rules[0].when.query", "101 characters"},
		{"value twice", when(snip.Conditions{Query: lists{"a": {"1", "1"}}}), "rules[0].when.query", "twice"},
		{"many values", when(snip.Conditions{Query: lists{"a": make([]string, 51)}}), "rules[0].when.query", "51 values"},
		{"many parameters", when(snip.Conditions{Query: manyParameters(51)}), "rules[0].when.query", "51 parameters"},
		{"window of nothing", when(snip.Conditions{From: noon, Until: noon}), "rules[0].when.until", "after from"},
		{"window turned round", when(snip.Conditions{From: noon.Add(1), Until: noon}), "rules[0].when.until", "after from"},
		{"window out of reach", when(snip.Conditions{From: noon.AddDate(9000, 0, 0)}), "rules[0].when.from", "9999"},

		{"after everybody", after(snip.Conditions{}, in("DE")), "rules[2]", "rules[1] comes before it and fits everybody"},
		{"everybody again", after(snip.Conditions{}, snip.Conditions{}), "rules[2]", "everybody"},
		{"the same again", after(in("DE"), in("de")), "rules[2].when", "rules[1] comes before it"},
		{"narrower list", after(in("DE", "AT"), in("AT")), "rules[2].when", "fits all that this one fits"},
		{"one condition more", after(in("DE"), snip.Conditions{Countries: []string{"DE"}, Devices: []string{"phone"}}), "rules[2].when", "never reached"},
		{"narrower language", after(snip.Conditions{Languages: []string{"DE"}}, snip.Conditions{Languages: []string{"de-AT", "de"}}), "rules[2].when", "never reached"},
		{"narrower query", after(snip.Conditions{Query: lists{"a": nil}}, snip.Conditions{Query: lists{"a": {"1"}, "b": nil}}), "rules[2].when", "never reached"},
		{"fewer values", after(snip.Conditions{Query: lists{"a": {"1", "2"}}}, snip.Conditions{Query: lists{"a": {"2"}}}), "rules[2].when", "never reached"},
		{"shorter window", after(snip.Conditions{From: noon}, snip.Conditions{From: noon.Add(1), Until: noon.Add(2)}), "rules[2].when", "never reached"},
		{"same window, another zone", after(snip.Conditions{Until: noon}, snip.Conditions{Until: noon.In(time.FixedZone("", 60))}), "rules[2].when", "never reached"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wantInvalid(t, (snip.Settings{Target: target, Rules: test.rules}).Check(snip.Rules{Own: own}), test.field, test.message)
		})
	}
}

func manyArms(n int, path string) []snip.Arm {
	arms := make([]snip.Arm, n)
	for i := range arms {
		arms[i] = snip.Arm{Target: "https://example.com/" + path, Weight: 1}
	}
	return arms
}

func manyParameters(n int) lists {
	q := lists{}
	for _, name := range numbered(n) {
		q[name] = nil
	}
	return q
}
