package web_test

import (
	"encoding/xml"
	"fmt"
	"image/png"
	"net/http"
	"strings"
	"testing"

	qr "github.com/piglig/go-qr"

	"snip"
	"snip/web"
)

// TestQR: what is drawn is read as where the link is followed.
func TestQR(t *testing.T) {
	s := openSite(t, web.Config{BaseURL: "https://sni.example"})
	s.create(snip.NewLink{Code: "spring"})
	long := strings.Repeat("z", 64)
	s.create(snip.NewLink{Code: long})
	for _, code := range []string{"spring", long} {
		for _, size := range []int{64, 300, 2048} {
			for _, level := range []string{"l", "h"} {
				got := s.api(http.MethodGet, fmt.Sprintf("/api/v1/links/%s/qr?format=png&size=%d&level=%s", code, size, level), "")
				got.want(t, http.StatusOK)
				got.wantHeader(t, "Content-Type", "image/png")
				got.wantHeader(t, "Cache-Control", "private, max-age=3600")
				picture, err := png.Decode(strings.NewReader(got.body))
				if err != nil {
					t.Fatal(err)
				}
				if b := picture.Bounds(); b.Dx() != size || b.Dy() != size {
					t.Errorf("%s: %v, want %d pixels", code, b, size)
				}
				if size == 64 {
					continue // It has a pixel for each square, which cameras read and this reader does not.
				}
				if text, err := qr.Decode(picture); err != nil || text != "https://sni.example/"+code {
					t.Errorf("%s at %d, level %s, is read as %q, %v", code, size, level, text, err)
				}
			}
		}
	}
	// Where the code has more squares than pixels were asked for, it is as large as it must be.
	got := s.api(http.MethodGet, "/api/v1/links/"+long+"/qr?format=png&size=64&margin=10&level=h", "")
	picture, err := png.Decode(strings.NewReader(got.body))
	if err != nil || picture.Bounds().Dx() <= 64 {
		t.Errorf("%v, %v, want more than 64 pixels", picture.Bounds(), err)
	}
}

func TestQRAsSVG(t *testing.T) {
	s := openSite(t, web.Config{BaseURL: "https://sni.example"})
	s.create(snip.NewLink{Code: "spring"})
	got := s.api(http.MethodGet, "/api/v1/links/spring/qr?size=300&margin=2", "")
	got.want(t, http.StatusOK)
	got.wantHeader(t, "Content-Type", "image/svg+xml")
	got.wantHeader(t, "X-Content-Type-Options", "nosniff")
	var drawn struct {
		Width   int    `xml:"width,attr"`
		ViewBox string `xml:"viewBox,attr"`
		Paths   []struct {
			D string `xml:"d,attr"`
		} `xml:"path"`
	}
	if err := xml.Unmarshal([]byte(got.body), &drawn); err != nil {
		t.Fatal(err)
	}
	squares, err := qr.EncodeText("https://sni.example/spring", qr.Medium)
	if err != nil {
		t.Fatal(err)
	}
	all := squares.Size() + 4
	if drawn.Width != 300 || drawn.ViewBox != fmt.Sprintf("0 0 %d %d", all, all) || len(drawn.Paths) != 2 {
		t.Fatalf("drawn as %.200s", got.body)
	}
	dark := 0
	for run := range strings.SplitSeq(drawn.Paths[1].D, "z") {
		if run == "" {
			continue
		}
		var x, y, width, back int
		if _, err := fmt.Sscanf(run, "M%d %dh%dv1h-%d", &x, &y, &width, &back); err != nil || back != width {
			t.Fatalf("%q: %v", run, err)
		}
		for i := range width {
			if !squares.Module(x-2+i, y-2) {
				t.Errorf("%d, %d is dark", x+i, y)
			}
		}
		dark += width
	}
	for y := range squares.Size() {
		for x := range squares.Size() {
			if squares.Module(x, y) {
				dark--
			}
		}
	}
	if dark != 0 {
		t.Errorf("%d dark squares too many", dark)
	}
	for query, field := range map[string]string{
		"format=gif": "format", "size=63": "size", "size=2049": "size", "margin=11": "margin", "margin=-1": "margin", "level=x": "level",
		"colour=red": "colour", "size=": "size",
	} {
		s.api(http.MethodGet, "/api/v1/links/spring/qr?"+query, "").wantProblem(t, http.StatusBadRequest, "invalid", field, "")
	}
}
