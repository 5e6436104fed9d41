package test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

type alert struct {
	Alert       string
	Expr        string
	For         string
	Labels      map[string]string
	Annotations map[string]string
}

func readAlerts(t *testing.T) (alerts []alert) {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string
			Rules []alert
		}
	}
	d := yaml.NewDecoder(strings.NewReader(readRoot(t, "deploy/alerts.yaml")))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		alerts = append(alerts, g.Rules...)
	}
	if len(alerts) == 0 {
		t.Fatal("deploy/alerts.yaml has no alerts")
	}
	return alerts
}

// TestAlertsAreGiven asks promtool whether each alert is given when it should be, and
// no other with it.
func TestAlertsAreGiven(t *testing.T) {
	promtool, scenarios := tool(t, "promtool"), filepath.Join("testdata", "alerts.yaml")
	for _, args := range [][]string{
		{"check", "rules", filepath.Join(root(t), "deploy", "alerts.yaml")},
		{"test", "rules", scenarios},
	} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	for _, a := range readAlerts(t) {
		if !strings.Contains(readRoot(t, "test/testdata/alerts.yaml"), `"`+a.Alert+`"`) {
			t.Errorf("no scenario gives alert %s", a.Alert)
		}
		if row := "| `" + a.Alert + "` | " + a.Labels["severity"] + " |"; !strings.Contains(readRoot(t, "docs/operations.md"), row) {
			t.Errorf("docs/operations.md has no row %s", row)
		}
		if s := a.Labels["severity"]; s != "warning" && s != "critical" {
			t.Errorf("%s has severity %q", a.Alert, s)
		}
		if a.Annotations["summary"] == "" || a.Annotations["action"] == "" {
			t.Errorf("%s does not say what is wrong and what to do", a.Alert)
		}
	}
}

// TestAlertsAskForWhatThereIs: an alert on a metric or a label that nobody exports is
// never given.
func TestAlertsAskForWhatThereIs(t *testing.T) {
	words := map[string]bool{
		"up":     true, // Prometheus's own.
		"absent": true, "by": true, "changes": true, "increase": true, "max": true, "rate": true, "sum": true,
		"group": true, "instance": true, "m": true,
	}
	p := start(t, "", t.TempDir())
	exported := map[string]bool{}
	var series []string
	for s := range p.readMetrics() {
		name, _, _ := strings.Cut(s, "{")
		exported[name] = true
		series = append(series, s)
	}
	selector := regexp.MustCompile(`(\w+)\{([^}]*)\}`)
	for _, a := range readAlerts(t) {
		for _, found := range selector.FindAllStringSubmatch(a.Expr, -1) {
			for label := range strings.SplitSeq(found[2], ",") {
				// The job is Prometheus's own.
				if !strings.HasPrefix(label, "job=") && !strings.Contains(strings.Join(series, "\n"), found[1]+"{"+label) {
					t.Errorf("%s asks for %s, which snip does not export", a.Alert, found[0])
				}
			}
		}
		for _, name := range regexp.MustCompile(`[A-Za-z_]\w*`).FindAllString(selector.ReplaceAllString(a.Expr, "$1"), -1) {
			if !exported[name] && !words[name] {
				t.Errorf("%s asks for %s, which snip does not export", a.Alert, name)
			}
		}
	}
	p.stop()
}
