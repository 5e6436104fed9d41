package web

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
)

// checkParameters compares the parameters of a request with what is described. It
// refuses what it does not know: with one parameter misspelt, an answer to something
// else would look right.
func checkParameters(r *http.Request, described []*huma.Param) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return wrongField("", "The query of the address cannot be read: %v.", err)
	}
	var known []string
	for _, p := range described {
		if p.In == "query" {
			known = append(known, p.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(known, name) {
			return wrongField(name, "There is no such parameter. %s", thereAre(known))
		}
	}
	for _, p := range described {
		var values []string
		switch p.In {
		case "path":
			values = []string{r.PathValue(p.Name)}
		case "query":
			values = query[p.Name]
		case "header":
			values = r.Header.Values(p.Name)
		}
		if wrong := wrongParameter(p.Schema, values); wrong != "" {
			return wrongField(p.Name, "%s", wrong)
		}
	}
	return nil
}

func thereAre(known []string) string {
	if len(known) == 0 {
		return "There is none here."
	}
	return "There are " + strings.Join(known, ", ") + "."
}

// wrongParameter says what is wrong with the values of a parameter, and nothing if all
// is well.
func wrongParameter(s *huma.Schema, values []string) string {
	item := s
	if s.Type == huma.TypeArray {
		item = s.Items
		if s.MaxItems != nil && len(values) > *s.MaxItems {
			return fmt.Sprintf("At most %d are accepted; these are %d.", *s.MaxItems, len(values))
		}
	} else if len(values) > 1 {
		return "Is given more than once."
	}
	for _, v := range values {
		if wrong := wrongText(item, v); wrong != "" {
			return wrong
		}
	}
	return ""
}

// wrongText says what is wrong with one value of a parameter.
func wrongText(s *huma.Schema, v string) string {
	switch s.Type {
	case huma.TypeInteger:
		least, most := bounds(s)
		if n, err := strconv.ParseInt(v, 10, 64); err != nil || n < least || n > most {
			return fmt.Sprintf("Must be a whole number from %d to %d.", least, most)
		}
		return ""
	case huma.TypeString:
		if !utf8.ValidString(v) || strings.ContainsFunc(v, unicode.IsControl) {
			return "Holds what is no text."
		}
		if s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(v) {
			return s.PatternDescription
		}
		return wrongString(v, s)
	}
	return "Cannot be read."
}
