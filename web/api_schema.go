package web

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"snip"
	"snip/problem"
)

// bound puts into the description what the tags of the domain's own types cannot say:
// they know of no API. It runs before anything else is described.
func bound(known huma.Registry) {
	rule := schemaOf[snip.Rule](known)
	most(rule, "name", snip.MaxName)
	most(rule, "url", snip.MaxTarget)
	atMost(rule, "split", snip.MaxArms)
	describe(rule, map[string]string{
		"name": `Stands for the rule in statistics; "rule 1" for the first one that has none.`, "when": "Whom it is for: everybody, without any condition.",
		"url": "Where it leads. Either it or split is set.", "split": "Shares visitors out. One visitor stays on one arm.",
	})

	arm := schemaOf[snip.Arm](known)
	most(arm, "name", snip.MaxName)
	most(arm, "url", snip.MaxTarget)
	weight := arm.Properties["weight"]
	weight.Minimum, weight.Maximum = pointer(0.0), pointer(float64(snip.MaxWeight))
	describe(arm, map[string]string{
		"name": `In statistics; "arm 1" for the first one that has none.`, "url": "Where it leads.", "weight": "Its share of the sum of all weights.",
	})

	when := schemaOf[snip.Conditions](known)
	for _, list := range []string{"devices", "systems", "languages", "countries"} {
		atMost(when, list, snip.MaxValuesOfRule)
	}
	parameters := when.Properties["query"]
	parameters.MaxProperties = pointer(snip.MaxValuesOfRule)
	if values, ok := parameters.AdditionalProperties.(*huma.Schema); ok {
		values.MaxItems = pointer(snip.MaxValuesOfRule)
	}
	describe(when, map[string]string{
		"devices": "Of " + strings.Join(snip.Devices(), ", ") + ".", "systems": "Of " + strings.Join(snip.Systems(), ", ") + ".",
		"languages": "The one that the visitor likes best is one of these: de for any German, pt-BR for that one.",
		"countries": "ISO 3166-1, such as DE.", "query": "Parameters that the visitor brings, with one of the values; [] for any value.",
		"from": "From then on.", "until": "Before then.",
	})

	wrong := schemaOf[problem.Problem](known)
	wrong.Properties["code"].Enum = []any{
		snip.Invalid, snip.NotFound, snip.Conflict, snip.Unauthorized, snip.Forbidden, snip.Changed, snip.Reused, snip.TooLarge,
		snip.TooMany, snip.Unavailable, snip.Internal,
	}
	describe(wrong, map[string]string{"detail": "A sentence for people.", "code": "For programs.", "errors": "Which input is wrong."})

	ref := schemaOf[snip.Ref](known)
	ref.Required = []string{"code"}
	describe(ref, map[string]string{"domain": "Empty or left out for the instance's own.", "code": "Or an alias."})

	campaign := schemaOf[snip.Campaign](known)
	for name := range campaign.Properties {
		most(campaign, name, snip.MaxCampaign)
	}
}

// settle mends what would be untrue or is missing in all that was described: nothing here
// writes or takes null for a list, and errors are problems, not those of huma.
func (a *api) settle() {
	for _, path := range a.OpenAPI().Paths {
		for _, op := range []*huma.Operation{path.Get, path.Post, path.Patch, path.Delete} {
			if op != nil {
				describeParameters(op)
			}
		}
	}
	all := a.known().Map()
	delete(all, "ErrorModel")
	delete(all, "ErrorDetail")
	for _, s := range all {
		settleSchema(s)
	}
}

// describeParameters says of the parameters that several operations have what they mean.
func describeParameters(op *huma.Operation) {
	for _, p := range op.Parameters {
		s := p.Schema
		settleSchema(s)
		switch p.Name {
		case "code":
			if p.In == "path" {
				p.Description, p.Example = "The link's code, or one of its aliases.", "spring"
			}
		case "domain":
			s.MaxLength = pointer(255)
			if p.Description == "" {
				p.Description = "Host that the code belongs to; empty for the instance's own."
			}
		case "host":
			p.Description, p.Example = "The domain's host; "+ownDomain+" for the instance's own.", "go.example"
		case "id":
			p.Description, s.Minimum, p.Example = "The key's ID.", pointer(1.0), 7
		case "If-Match":
			p.Description = "The ETag of what was seen. The change is made only if it is still in that version."
			s.Pattern, s.PatternDescription = `^(\*|(W/)?"[^"]*")$`, `Must be one ETag as the API sent it, such as "3".`
		case "Idempotency-Key":
			p.Description = "Makes it harmless to ask again: for a day the same key returns the link that was made the first time."
			s.Pattern, s.PatternDescription = "^[ -~]+$", "Must hold visible ASCII characters only, and at least one."
			s.MaxLength, p.Example = pointer(snip.MaxIdempotencyKey), "2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d"
		case "from", "to":
			p.Description, p.Example = "First day. Default: so that there are 30.", "2026-11-01"
			if p.Name == "to" {
				p.Description, p.Example = "Last day. Default: today.", "2026-11-30"
			}
			p.Schema = &huma.Schema{Type: huma.TypeString, Format: "date"}
		case "zone":
			p.Description, p.Example = "IANA name of where the days begin and end. Default: the key's, or else the server's.", "Europe/Berlin"
		}
	}
}

// also describes a second status of success that answers as the first.
func also(op *huma.Operation, first, second int, words string) {
	answer := *op.Responses[strconv.Itoa(first)]
	answer.Description = words
	op.Responses[strconv.Itoa(second)] = &answer
}

func settleSchema(s *huma.Schema) {
	if s == nil {
		return
	}
	if s.Type == huma.TypeArray {
		s.Nullable = false
	}
	settleSchema(s.Items)
	for _, p := range s.Properties {
		settleSchema(p)
	}
	if others, ok := s.AdditionalProperties.(*huma.Schema); ok {
		settleSchema(others)
	}
}

// schemaOf returns the schema of a type, to be changed.
func schemaOf[T any](known huma.Registry) *huma.Schema {
	return known.Schema(reflect.TypeFor[T](), false, "")
}

func most(s *huma.Schema, field string, n int) { s.Properties[field].MaxLength = &n }

func atMost(s *huma.Schema, field string, n int) { s.Properties[field].MaxItems = &n }

func describe(s *huma.Schema, fields map[string]string) {
	for name, words := range fields {
		s.Properties[name].Description = words
	}
}

func pointer[T any](v T) *T { return &v }

func fieldNames(s *huma.Schema) []string { return slices.Sorted(maps.Keys(s.Properties)) }

// among finds a value in an enumeration as it is written.
func among(enum []any, v string) bool {
	return slices.ContainsFunc(enum, func(e any) bool { return fmt.Sprint(e) == v })
}

// listed writes an enumeration.
func listed(enum []any) string {
	words := make([]string, len(enum))
	for i, e := range enum {
		words[i] = fmt.Sprint(e)
	}
	return strings.Join(words, ", ")
}
