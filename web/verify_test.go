package web

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alexedwards/argon2id"

	"snip"
)

// TestPasswordsWaitForOneAnother: while two are checked, others wait, but not for long,
// and what they waited for in vain is no try.
func TestPasswordsWaitForOneAnother(t *testing.T) {
	hash, err := argon2id.CreateHash("secret", &argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32})
	if err != nil {
		t.Fatal(err)
	}
	route := &snip.Route{Link: 1, Special: &snip.Special{PasswordHash: hash}}
	synctest.Test(t, func(t *testing.T) {
		locks, err := newLocks()
		if err != nil {
			t.Fatal(err)
		}
		s := &Server{locks: locks, guard: http.NewCrossOriginProtection()}
		verify := func(password string) error {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/abc", strings.NewReader("password="+password))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			return s.verify(httptest.NewRecorder(), r, route, time.Now())
		}
		for range maxVerifying {
			s.locks.verifying <- struct{}{}
		}
		for range 2 * triesAtOnce {
			start := time.Now()
			if err := verify("secret"); snip.CodeOf(err) != snip.Unavailable {
				t.Fatalf("verify = %v, want unavailable", err)
			}
			if took := time.Since(start); took != verifyWait {
				t.Errorf("waited for %v, want %v", took, verifyWait)
			}
		}
		go func() {
			time.Sleep(verifyWait / 2)
			<-s.locks.verifying
		}()
		if err := verify("secret"); err != nil {
			t.Errorf("verify = %v, want none once there is room", err)
		}
		if len(s.locks.verifying) != maxVerifying-1 {
			t.Errorf("%d are being checked, want %d", len(s.locks.verifying), maxVerifying-1)
		}
	})
}

// TestTriesAreBounded: however many visitors try, what is remembered of them is not.
func TestTriesAreBounded(t *testing.T) {
	l, err := newLocks()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for i := range 3 * maxTries {
		l.try(int64(i), netip.Addr{}, now)
	}
	l.visitors.CleanUp()
	l.links.CleanUp()
	if v, n := l.visitors.EstimatedSize(), l.links.EstimatedSize(); v > maxTries || n > maxTries {
		t.Errorf("%d visitors and %d links are remembered, want at most %d", v, n, maxTries)
	}
}
