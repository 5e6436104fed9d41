package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

// wantRedirect checks that a visitor is sent to target.
func (a answer) wantRedirect(t *testing.T, target string) {
	t.Helper()
	if got := a.header.Get("Location"); a.status != http.StatusTemporaryRedirect || got != target {
		t.Errorf("status %d, Location %.100q, want 307, %.100q", a.status, got, target)
	}
}

// want checks the status and that the body holds some text.
func (a answer) want(t *testing.T, status int, texts ...string) {
	t.Helper()
	if a.status != status {
		t.Errorf("status %d, want %d: %.300s", a.status, status, a.body)
	}
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			t.Errorf("body lacks %q: %.2000s", text, a.body)
		}
	}
}

// wantHeader checks one header.
func (a answer) wantHeader(t *testing.T, name, value string) {
	t.Helper()
	if got := a.header.Get(name); got != value {
		t.Errorf("%s: %q, want %q", name, got, value)
	}
}

// wantProblem checks an answer that is an error; a field or message of "" is any.
func (a answer) wantProblem(t *testing.T, status int, code, field, message string) {
	t.Helper()
	a.want(t, status)
	a.wantHeader(t, "Content-Type", "application/problem+json")
	var p struct {
		Title, Detail, Code string
		Status              int
		Errors              []struct{ Field, Message string }
	}
	a.decode(t, &p)
	if p.Status != status || p.Code != code || p.Title != http.StatusText(status) || !strings.Contains(p.Detail, message) {
		t.Errorf("problem %+v, want status %d, code %s, %q", p, status, code, message)
	}
	if field == "" {
		return
	}
	if len(p.Errors) != 1 || p.Errors[0].Field != field || p.Errors[0].Message != p.Detail {
		t.Errorf("fields %+v, want %s", p.Errors, field)
	}
}

func (a answer) decode(t *testing.T, to any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), to); err != nil {
		t.Fatalf("%v: %.300s", err, a.body)
	}
}

func (a answer) wantJSON(t *testing.T, want map[string]any) {
	t.Helper()
	var got map[string]any
	a.decode(t, &got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status %d: %s", a.status, diff)
	}
}

// field returns a field of a JSON answer that is text.
func (a answer) field(t *testing.T, name string) string {
	t.Helper()
	var got map[string]any
	a.decode(t, &got)
	text, ok := got[name].(string)
	if !ok {
		t.Fatalf("no text %s in %.300s", name, a.body)
	}
	return text
}
