package test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// composition is what compose.yaml may say. What else stands there is an error.
type composition struct {
	Extensions map[string]any `yaml:",inline"`
	Services   map[string]service
	Networks   map[string]struct {
		IPAM struct {
			Config []struct {
				Subnet string
				Range  string `yaml:"ip_range"`
			}
		}
	}
	Volumes map[string]any
}

type service struct {
	Image, Build, Restart string
	Command               []string
	StopGracePeriod       string `yaml:"stop_grace_period"`
	Environment           map[string]string
	Ports, Volumes        []string
	Networks              yaml.Node
	DependsOn             yaml.Node `yaml:"depends_on"`
	Healthcheck           *struct {
		Test              []string
		Interval, Timeout string
		Retries           int
	}
}

func readComposition(t *testing.T) (c composition) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(readRoot(t, "compose.yaml")))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil {
		t.Fatal(err)
	}
	for name := range c.Extensions {
		if !strings.HasPrefix(name, "x-") {
			t.Errorf("compose.yaml has an unknown part %s", name)
		}
	}
	return c
}

// snips returns the services that run snip with a command.
func (c composition) snips(command string) (names []string) {
	for name, s := range c.Services {
		if s.Build != "" && slices.Equal(s.Command, []string{command}) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestComposeServices(t *testing.T) {
	c := readComposition(t)
	webs, workers := c.snips("web"), c.snips("worker")
	if len(webs) != 2 || len(workers) != 2 {
		t.Errorf("there are webs %v and workers %v, want two of each", webs, workers)
	}
	image := readImage(t)
	for name, s := range c.Services {
		if s.Restart != "unless-stopped" {
			t.Errorf("%s: restart %q", name, s.Restart)
		}
		if (s.Image == "") == (s.Build == "") {
			t.Errorf("%s has image %q and build %q, want one", name, s.Image, s.Build)
		}
		if len(s.Ports) > 0 && name != "proxy" {
			t.Errorf("%s can be reached past the proxy, by %v", name, s.Ports)
		}
		for _, v := range s.Volumes {
			source, _, _ := strings.Cut(v, ":")
			if _, ok := c.Volumes[source]; !ok && !strings.HasPrefix(source, "./") {
				t.Errorf("%s mounts %s, which is no volume", name, source)
			}
		}
		if s.Build == "" {
			continue
		}
		mustBeSettings(t, name+" in compose.yaml", s.Environment)
		mustOutlastStop(t, name+" in compose.yaml", s.StopGracePeriod, s.Environment["SNIP_DRAIN"])
		var after map[string]struct{ Condition string }
		if err := s.DependsOn.Decode(&after); err != nil || after["postgres"].Condition != "service_healthy" {
			t.Errorf("%s starts after %v, %v; want after a healthy postgres", name, after, err)
		}
	}
	if c.Services["postgres"].Healthcheck == nil {
		t.Error("nothing tells whether postgres is healthy")
	}
	// What each web has not sent yet is its own, and outlives its container.
	spools := map[string]bool{}
	for _, name := range webs {
		s := c.Services[name]
		if len(s.Volumes) != 1 || !strings.HasSuffix(s.Volumes[0], ":"+image.env["SNIP_DATA_DIR"]) || spools[s.Volumes[0]] {
			t.Errorf("%s keeps its spool in %v, want a volume of its own", name, s.Volumes)
		}
		spools[strings.Join(s.Volumes, "")] = true
	}
	for _, name := range append(webs, workers...) {
		if want, got := c.Services[webs[0]].Environment["DATABASE_URL"], c.Services[name].Environment["DATABASE_URL"]; got != want || got == "" {
			t.Errorf("%s is kept in %q, %s in %q", name, got, webs[0], want)
		}
	}
}

// TestComposeTrustsTheProxyAlone: at the address that it has, which nobody else gets.
func TestComposeTrustsTheProxyAlone(t *testing.T) {
	c := readComposition(t)
	var joined map[string]struct {
		Address string `yaml:"ipv4_address"`
	}
	proxy := c.Services["proxy"]
	if err := proxy.Networks.Decode(&joined); err != nil {
		t.Fatal(err)
	}
	network := c.Networks["visitors"].IPAM.Config
	if len(network) != 1 {
		t.Fatalf("network visitors has %d ranges, want one", len(network))
	}
	address, err := netip.ParseAddr(joined["visitors"].Address)
	if err != nil {
		t.Fatal(err)
	}
	if subnet, err := netip.ParsePrefix(network[0].Subnet); err != nil || !subnet.Contains(address) {
		t.Errorf("the proxy's %s is not in %s, %v", address, subnet, err)
	}
	if others, err := netip.ParsePrefix(network[0].Range); err != nil || others.Contains(address) {
		t.Errorf("the proxy's %s may be given to another, from %s, %v", address, others, err)
	}
	_, port, _ := strings.Cut(readImage(t).env["SNIP_ADDR"], ":")
	var asked []string
	for _, name := range c.snips("web") {
		if got := c.Services[name].Environment["SNIP_TRUSTED_PROXIES"]; got != address.String() {
			t.Errorf("%s trusts %q, want %s", name, got, address)
		}
		var networks []string
		if s := c.Services[name]; s.Networks.Decode(&networks) != nil || !slices.Contains(networks, "visitors") {
			t.Errorf("%s is in networks %v, where the proxy does not find it", name, networks)
		}
		asked = append(asked, name+":"+port)
	}
	if got := strings.Fields(proxy.Environment["SNIP_WEBS"]); !slices.Equal(got, asked) {
		t.Errorf("the proxy asks %v, want %v", got, asked)
	}
	for name := range proxy.Environment {
		if !strings.Contains(readRoot(t, "deploy/Caddyfile"), "{$"+name+":") {
			t.Errorf("deploy/Caddyfile does not read %s", name)
		}
	}
}
