package store

import (
	"fmt"
	"strings"
)

// where collects the conditions of a question and their arguments. The zero value has
// none.
type where struct {
	terms []string
	args  []any
}

// add adds a condition. Each ? in it stands for one of the arguments.
func (w *where) add(term string, args ...any) {
	var b strings.Builder
	for i, part := range strings.Split(term, "?") {
		if i > 0 {
			fmt.Fprint(&b, w.arg(args[i-1]))
		}
		b.WriteString(part)
	}
	w.terms = append(w.terms, b.String())
}

// arg adds an argument and returns what stands for it.
func (w *where) arg(value any) string {
	w.args = append(w.args, value)
	return fmt.Sprintf("$%d", len(w.args))
}

// text returns all conditions, which must hold together.
func (w *where) text() string {
	if len(w.terms) == 0 {
		return "TRUE"
	}
	return strings.Join(w.terms, " AND ")
}
