package visitor

import (
	"slices"
	"testing"

	"snip"
)

// TestRulesKnowEveryName: what statistics show of people can be asked for in a rule, and
// nothing else can.
func TestRulesKnowEveryName(t *testing.T) {
	var names []string
	for _, s := range systems {
		names = append(names, s.name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if want := slices.Sorted(slices.Values(snip.Systems())); !slices.Equal(names, want) {
		t.Errorf("systems told apart: %q, those of rules: %q", names, want)
	}

	var devices []string
	for agent, system := range map[string]string{
		"PlayStation": "", "iPad": "iOS", "iPhone": "iOS", "SmartTV": "Linux", "X11": "Linux",
	} {
		devices = append(devices, deviceIn(agent, system))
	}
	slices.Sort(devices)
	if want := slices.Sorted(slices.Values(snip.Devices())); !slices.Equal(devices, want) {
		t.Errorf("devices told apart: %q, those of rules: %q", devices, want)
	}
}
