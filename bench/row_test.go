package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestBars: a bar holds from its limit on, on its own side.
func TestBars(t *testing.T) {
	tests := []struct {
		name string
		row  row
		want bool
	}{
		{"ratio at the bar", row{measured: []float64{9, 90, 8}, against: []float64{10, 1, 11}, bar: ratioAtLeast(0.9)}, true},
		{"ratio below", row{measured: []float64{89}, against: []float64{100}, bar: ratioAtLeast(0.9)}, false},
		{"growth at the bar", row{measured: []float64{110}, against: []float64{100}, bar: ratioAtMost(1.1)}, true},
		{"growth above", row{measured: []float64{111}, against: []float64{100}, bar: ratioAtMost(1.1)}, false},
		{"median below", row{measured: []float64{1, 2, 900}, bar: medianAtMost(2)}, true},
		{"median above", row{measured: []float64{1, 3, 3}, bar: medianAtMost(2)}, false},
		{"two of a hundred are slow", row{measured: append(make([]float64, 98), 5, 5), bar: p99AtMost(4)}, false},
		{"one of two hundred is slow", row{measured: append(make([]float64, 199), 5), bar: p99AtMost(4)}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.row.met(); got != tt.want {
				t.Errorf("met() = %t, want %t: %s", got, tt.want, tt.row.barText())
			}
		})
	}
}

func TestRowIsALineOfATable(t *testing.T) {
	r := row{
		what: "redirects", unit: "/s", measured: []float64{20_000, 1_000, 12_345}, reference: "nginx", against: []float64{24_690},
		bar: ratioAtLeast(0.9), command: "redirect",
	}
	var out bytes.Buffer
	(&table{head: []string{"what"}, cells: [][]string{r.cells()}}).markdown(&out)
	const want = "| redirects | 12,345 /s (1,000 to 20,000) | nginx | 24,690 /s | 0.50 | ratio ≥ 0.90 | **missed** | `go run . redirect` |\n"
	if got := out.String(); !strings.HasSuffix(got, want) {
		t.Errorf("the table is\n%swant its last line to be\n%s", got, want)
	}
}

func TestFigure(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0.00", 0.0123: "0.012", 0.5: "0.50", 1.234: "1.23", 12.34: "12.3", 123.4: "123", 1234: "1,234", 1234567: "1,234,567",
	} {
		if got := figure(x); got != want {
			t.Errorf("figure(%v) = %q, want %q", x, got, want)
		}
	}
}
