package test

import (
	"debug/elf"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// image is what the Dockerfile says.
type image struct {
	golang string // The version that builds it.
	build  string // The command that does.
	env    map[string]string
	user   string
	volume string
	health []string
	ports  []string
}

func readImage(t *testing.T) (i image) {
	t.Helper()
	for line := range strings.Lines(readRoot(t, "Dockerfile")) {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch instruction {
		case "FROM":
			if version, ok := strings.CutPrefix(rest, "golang:"); ok {
				i.golang, _, _ = strings.Cut(version, " ")
			}
		case "RUN":
			if strings.Contains(rest, "go build") {
				i.build = rest
			}
		case "ENV":
			i.env = map[string]string{}
			for setting := range strings.FieldsSeq(rest) {
				name, value, _ := strings.Cut(setting, "=")
				i.env[name] = value
			}
		case "USER":
			i.user = rest
		case "VOLUME":
			i.volume = rest
		case "EXPOSE":
			i.ports = strings.Fields(rest)
		case "HEALTHCHECK":
			_, command, _ := strings.Cut(rest, "CMD ")
			if err := json.Unmarshal([]byte(command), &i.health); err != nil {
				t.Fatalf("health check %s: %v", command, err)
			}
		}
	}
	if i.build == "" || i.env == nil || len(i.health) == 0 {
		t.Fatalf("the Dockerfile lacks what an image needs: %+v", i)
	}
	return i
}

func TestImageFitsTogether(t *testing.T) {
	i := readImage(t)
	if want := "\ngo " + i.golang + "\n"; !strings.Contains(readRoot(t, "go.mod"), want) {
		t.Errorf("the image is built with Go %s, go.mod says another", i.golang)
	}
	mustBeSettings(t, "the Dockerfile", i.env)
	if i.volume != i.env["SNIP_DATA_DIR"] {
		t.Errorf("the volume is %s, the data go to %s", i.volume, i.env["SNIP_DATA_DIR"])
	}
	for _, name := range []string{"SNIP_ADDR", "SNIP_METRICS_ADDR"} {
		if got := port(t, i.env[name]); !slices.Contains(i.ports, got) {
			t.Errorf("%s has port %s, the image tells of %v", name, got, i.ports)
		}
	}
	if want := "http://127.0.0.1:" + port(t, i.env["SNIP_METRICS_ADDR"]) + "/readyz"; i.health[len(i.health)-1] != want {
		t.Errorf("the health check asks %s, want %s", i.health[len(i.health)-1], want)
	}
	for line := range strings.Lines(readRoot(t, ".dockerignore")) {
		pattern := strings.TrimSpace(line)
		if pattern == "" || strings.HasPrefix(pattern, "#") {
			continue
		}
		git := exec.CommandContext(t.Context(), tool(t, "git"), "ls-files", "--", ":(glob)"+pattern, ":(glob)"+pattern+"/**")
		git.Dir = root(t)
		if kept, err := git.CombinedOutput(); err != nil || len(kept) > 0 {
			t.Errorf(".dockerignore leaves out what belongs to the version, by %s: %v\n%s", pattern, err, kept)
		}
	}
}

// TestImageStartsAlone: what the image's command builds needs no other file, and starts
// on an empty volume as the image's user.
func TestImageStartsAlone(t *testing.T) {
	slow(t)
	if os.Getuid() != 0 {
		lacks(t, "to start as another user one must be root")
	}
	i, dir := readImage(t), sharedDir(t)
	build := exec.CommandContext(t.Context(), "sh", "-c", replaceAll(t, i.build, map[string]string{"/out/": dir + "/"}))
	build.Dir = root(t)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", i.build, err, out)
	}
	binary := filepath.Join(dir, "snip")
	mustBeStatic(t, binary)

	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o755); err != nil {
		t.Fatal(err)
	}
	if i.user != "65532:65532" {
		t.Fatalf("the image's user is %q", i.user)
	}
	if err := os.Chown(data, 65532, 65532); err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.Command(binary), log: &logbook{}, ended: make(chan struct{})}
	p.cmd.Dir = "/"
	for name, value := range i.env {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	p.cmd.Env = append(p.cmd.Env, "SNIP_DATA_DIR="+data, "SNIP_ADDR="+freeAddr(t, websHost), "SNIP_METRICS_ADDR="+freeAddr(t, websHost))
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	p.begin()
	p.awaitReady()

	_, own, err := net.SplitHostPort(i.env["SNIP_METRICS_ADDR"])
	if err != nil {
		t.Fatal(err)
	}
	health := func() error {
		args := slices.Clone(i.health)
		args[len(args)-1] = replaceAll(t, args[len(args)-1], map[string]string{"127.0.0.1:" + own: p.metrics})
		return exec.CommandContext(t.Context(), tool(t, "busybox"), args...).Run()
	}
	if err := health(); err != nil {
		t.Errorf("the health check fails: %v", err)
	}
	p.stop()
	if health() == nil {
		t.Error("the health check passes, and nothing runs")
	}
}

// mustBeStatic fails the test if a program asks for a loader or a library.
func mustBeStatic(t *testing.T, path string) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, part := range f.Progs {
		if part.Type == elf.PT_INTERP {
			t.Error("it is not static: it asks for an interpreter")
		}
	}
	if libraries, err := f.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("it is not static: it asks for %v, %v", libraries, err)
	}
}
