package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// TestLoadAsksForEachPathOnce: and an answer's body does not get into the way of the next.
func TestLoadAsksForEachPathOnce(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Path]++
		mu.Unlock()
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, strings.Repeat("not here ", len(r.URL.Path)))
	}))
	defer server.Close()
	l := load{address: server.Listener.Addr().String(), status: "404", path: nextPath("/x")}
	if err := l.times(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
	if len(asked) != 1000 || asked["/x0"] != 1 || asked["/x999"] != 1 {
		t.Errorf("asked for %d paths, %d times for /x0, %d times for /x999; want 1000, 1 and 1", len(asked), asked["/x0"], asked["/x999"])
	}
}

func TestLoadRefusesAnotherStatus(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	err := load{address: server.Listener.Addr().String(), path: onePath("/x")}.times(t.Context(), 1)
	if err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("times() = %v, want an error that names the status 404", err)
	}
}
