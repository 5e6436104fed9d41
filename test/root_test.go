package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// root is the directory of the repository.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// readRoot reads a file of the repository.
func readRoot(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// sharedDir is a directory that other users can reach.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// replaceAll puts what a test needs in the place of what a file says, which must say it.
func replaceAll(t *testing.T, text string, replacements map[string]string) string {
	t.Helper()
	for old, replacement := range replacements {
		if !strings.Contains(text, old) {
			t.Fatalf("the file does not say %q any more", old)
		}
		text = strings.ReplaceAll(text, old, replacement)
	}
	return text
}

// tool returns the path of a program that a test needs.
func tool(t *testing.T, name string) string {
	t.Helper()
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin") {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	lacks(t, name+" is not installed: scripts/setup-test does it")
	return ""
}
