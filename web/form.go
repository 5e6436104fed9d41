package web

import (
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"snip"
)

func isForm(r *http.Request) bool {
	t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && t == "application/x-www-form-urlencoded"
}

// readForm reads the form of the home page, or of a program that sends one. Nothing
// is mended in silence: space that was pasted along is refused with its reason. What
// was typed is returned with an error, too, for the page to show it again.
func readForm(w http.ResponseWriter, r *http.Request) (n snip.NewLink, err error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if err := r.ParseForm(); err != nil {
		return n, unreadable(err)
	}
	known := map[string]*string{"url": &n.Target, "code": &n.Code, "title": &n.Title}
	for _, name := range slices.Sorted(maps.Keys(r.PostForm)) {
		values := r.PostForm[name]
		to, ok := known[name]
		switch {
		case strings.HasPrefix(name, "{"):
			// What curl -d sends without a header.
			err = &snip.Error{Code: snip.Invalid, Field: "Content-Type", Message: "This looks like JSON. Send it with Content-Type: application/json."}
		case !ok:
			err = &snip.Error{Code: snip.Invalid, Field: name, Message: "There is no such field. Known are code, title, url."}
		case len(values) > 1:
			err = &snip.Error{Code: snip.Invalid, Field: name, Message: "Is there more than once."}
		default:
			*to = values[0]
		}
	}
	return n, err
}
