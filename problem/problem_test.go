package problem_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snip"
	"snip/problem"
)

// TestErrorsSurviveTheWire: each code has a status of its own, both ways.
func TestErrorsSurviveTheWire(t *testing.T) {
	seen := map[int]snip.Code{}
	for code, status := range map[snip.Code]int{
		snip.Invalid: 400, snip.Unauthorized: 401, snip.Forbidden: 403, snip.NotFound: 404, snip.Conflict: 409, snip.Changed: 412,
		snip.TooLarge: 413, snip.Reused: 422, snip.TooMany: 429, snip.Unavailable: 503, snip.Internal: 500,
	} {
		if got := problem.Status(code); got != status {
			t.Errorf("Status(%s) = %d, want %d", code, got, status)
		}
		if got := problem.Code(status); got != code {
			t.Errorf("Code(%d) = %s, want %s", status, got, code)
		}
		if other, ok := seen[status]; ok {
			t.Errorf("%s and %s share status %d", code, other, status)
		}
		seen[status] = code
		for _, field := range []string{"", "url"} {
			sent := &snip.Error{Code: code, Field: field, Message: "Such is it.", Cause: errors.New("secret")}
			p := problem.Of(fmt.Errorf("wrapped: %w", sent))
			if p.Status != status || p.Title != http.StatusText(status) || p.Detail != sent.Message || p.Code != code {
				t.Errorf("Of(%v) = %+v", sent, p)
			}
			body, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(body), "secret") {
				t.Errorf("the cause is sent: %s", body)
			}
			want := &snip.Error{Code: code, Field: field, Message: sent.Message}
			wantError(t, problem.Read(answer(status, string(body))), want)
		}
	}
}

func TestOtherErrorsAreOurs(t *testing.T) {
	for _, err := range []error{errors.New("secret"), fmt.Errorf("secret: %w", io.EOF)} {
		p := problem.Of(err)
		if p.Status != http.StatusInternalServerError || p.Code != snip.Internal || strings.Contains(p.Detail, "secret") {
			t.Errorf("Of(%v) = %+v", err, p)
		}
	}
	if got := problem.Status("other"); got != http.StatusInternalServerError {
		t.Errorf("Status(other) = %d, want 500", got)
	}
}

// TestReadAnything: what stands between a client and its server answers as well.
func TestReadAnything(t *testing.T) {
	for status, code := range map[int]snip.Code{
		301: snip.Internal, 400: snip.Invalid, 401: snip.Unauthorized, 403: snip.Forbidden, 404: snip.NotFound, 405: snip.Invalid,
		410: snip.NotFound, 415: snip.Invalid, 418: snip.Invalid, 429: snip.TooMany, 500: snip.Internal, 502: snip.Internal, 503: snip.Unavailable,
	} {
		for _, body := range []string{
			"", "<html>Bad Gateway</html>", "null", "[]", `{"error":"x"}`, `{"code":7}`, `{"code":""}`, `{"code":"x"`,
			`{"code":"invalid","detail":"` + strings.Repeat("x", 2<<20) + `"}`,
		} {
			want := &snip.Error{Code: code, Message: fmt.Sprintf("The server answered %d %s.", status, http.StatusText(status))}
			wantError(t, problem.Read(answer(status, body)), want)
		}
	}
	wantError(t, problem.Read(&http.Response{StatusCode: 503, Status: "503 Service Unavailable", Body: io.NopCloser(broken{})}),
		&snip.Error{Code: snip.Unavailable, Message: "The server answered 503 Service Unavailable."})
}

func answer(status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)),
		Body: io.NopCloser(strings.NewReader(body)),
	}
}

// broken is a connection that ends.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func wantError(t *testing.T, err error, want *snip.Error) {
	t.Helper()
	got, ok := errors.AsType[*snip.Error](err)
	if !ok {
		t.Fatalf("%v is no *snip.Error", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
