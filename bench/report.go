package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// report gathers what was measured.
type report struct {
	began  time.Time
	load   string // Of the machine, before anything was measured.
	rows   []row
	tables []*table
}

// table is a result that is more than a row.
type table struct {
	title string
	notes string
	head  []string
	cells [][]string
}

func newReport() *report {
	return &report{began: time.Now().UTC(), load: firstField("/proc/loadavg")}
}

// markdown writes everything for somebody who was not there.
func (r *report) markdown(ctx context.Context, b *bench) ([]byte, error) {
	versions, err := readVersions(ctx, b)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `# Results

Written by `+"`make bench`"+` on %s. What it measured stands beside its reference in the same run, on the same machine, in turns: %d rounds of %s. A figure is the median of the rounds, in brackets their ends. Servers, Snip and the load generator share the processors, so ratios travel and absolute figures do not; differences under 10 %% are noise.

| | |
|---|---|
`, r.began.Format(time.DateOnly), b.rounds, b.length)
	for _, v := range append(machine(r.load), versions...) {
		fmt.Fprintf(&out, "| %s | %s |\n", v[0], v[1])
	}
	out.WriteString(`
Bars are those the project set itself before it was written. A row without one is there to explain another. The command, in ` + "`bench/`" + `, measures the row again.

`)
	t := table{head: []string{"what", "measured", "beside", "reference", "ratio", "bar", "", "command"}}
	for i := range r.rows {
		t.cells = append(t.cells, r.rows[i].cells())
	}
	t.markdown(&out)
	for _, t := range r.tables {
		fmt.Fprintf(&out, "\n## %s\n\n%s\n\n", t.title, t.notes)
		t.markdown(&out)
	}
	return out.Bytes(), nil
}

func (r *row) cells() []string {
	ratio := ""
	if r.reference != "" {
		ratio = figure(r.ratio())
	}
	return []string{
		r.what, spread(r.measured, r.unit), r.reference, spread(r.against, r.unit),
		ratio, r.barText(), r.verdict(), "`go run . " + r.command + "`",
	}
}

func (t *table) markdown(out *bytes.Buffer) {
	line := func(cells []string) { fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.head)
	out.WriteString(strings.Repeat("|---", len(t.head)) + "|\n")
	for _, cells := range t.cells {
		line(cells)
	}
}

// text is the table for a terminal.
func (t *table) text() string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, cells := range append([][]string{t.head}, t.cells...) {
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush() // A builder takes everything.
	return out.String()
}

func machine(load string) [][2]string {
	model := "unknown"
	for line := range strings.Lines(readText("/proc/cpuinfo")) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
		}
	}
	return [][2]string{
		{"processors", fmt.Sprintf("%d, %s, %s", runtime.NumCPU(), runtime.GOARCH, model)},
		{"load before", load},
		{"Linux", firstField("/proc/sys/kernel/osrelease")},
		{"Go", strings.TrimPrefix(runtime.Version(), "go")},
	}
}

// readVersions asks what was started, and what comes with the program.
func readVersions(ctx context.Context, b *bench) (versions [][2]string, err error) {
	for _, ask := range []struct {
		name string
		do   func(context.Context, *bench) (string, error)
	}{
		{"Snip", snipVersion},
		{"SQLite", sqliteVersion},
		{"PostgreSQL", postgresVersion},
		{"Redis", redisVersion},
		{"nginx", nginxVersion},
	} {
		version, err := ask.do(ctx, b)
		if err != nil {
			return nil, fmt.Errorf("version of %s: %w", ask.name, err)
		}
		versions = append(versions, [2]string{ask.name, version})
	}
	return versions, nil
}

func snipVersion(ctx context.Context, _ *bench) (string, error) {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown", nil // It need not be a checkout.
	}
	return strings.TrimSpace(string(out)), nil
}

func sqliteVersion(ctx context.Context, b *bench) (version string, err error) {
	s, err := openStore(ctx, place{dir: b.dir})
	if err != nil {
		return "", err
	}
	defer s.Close()
	return version, s.Read().QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version)
}

func nginxVersion(ctx context.Context, _ *bench) (string, error) {
	path, err := find("nginx")
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, path, "-v").CombinedOutput()
	_, version, _ := strings.Cut(strings.TrimSpace(string(out)), "/")
	return version, err
}

func firstField(path string) string {
	fields := strings.Fields(readText(path))
	if len(fields) == 0 {
		return "unknown"
	}
	return fields[0]
}

// readText reads what only describes the machine: nothing depends on it.
func readText(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}
