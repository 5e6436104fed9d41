package web_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"snip"
	"snip/web"
)

func TestOutcomesAreCounted(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	s := openSite(t, web.Config{Metrics: registry})
	s.create(snip.NewLink{Code: "abc"})
	for range 3 {
		s.visit("/abc?" + url.QueryEscape("who=me"))
	}
	s.visit("/abc+")
	s.visit("/none")
	s.do(http.MethodOptions, "/abc", "")
	s.do(http.MethodPut, "/abc", "")
	want := map[string]float64{
		"redirect": 3, "preview": 1, "not_found": 1, "gone": 0, "password": 0, "options": 1, "method": 1, "unavailable": 0,
	}
	if diff := cmp.Diff(want, outcomes(t, registry)); diff != "" {
		t.Error(diff)
	}
}

// outcomes returns snip_redirects_total by outcome.
func outcomes(t *testing.T, g prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "snip_redirects_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			got[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
		}
	}
	return got
}

// metric returns a series that has no labels.
func metric(t *testing.T, g prometheus.Gatherer, name string) float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			m := f.GetMetric()[0]
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}
