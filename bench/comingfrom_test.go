package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestComingFrom holds docs/coming-from.md to the programs that it shows: they are
// compiled here.
func TestComingFrom(t *testing.T) {
	page, err := os.ReadFile("../docs/coming-from.md")
	if err != nil {
		t.Fatal(err)
	}
	programs, err := filepath.Glob("comingfrom/*/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range programs {
		program, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(page), "\n```go\n"+string(program)+"```\n") {
			t.Errorf("docs/coming-from.md does not show %s as it is", path)
		}
	}
	if shown := strings.Count(string(page), "```go\n"); shown != len(programs) {
		t.Errorf("docs/coming-from.md shows %d programs, there are %d", shown, len(programs))
	}
}
