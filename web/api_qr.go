package web

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	qr "github.com/piglig/go-qr"

	"snip"
)

type qrInput struct {
	Code   string `path:"code"`
	Domain string `query:"domain"`
	Format string `query:"format" enum:"svg,png" default:"svg"`
	Size   int    `query:"size" minimum:"64" maximum:"2048" default:"256" doc:"Width and height in pixels. A PNG is larger where the code has more squares than that."`
	Margin int    `query:"margin" minimum:"0" maximum:"10" default:"4" doc:"Squares left white around it. Readers expect 4."`
	Level  string `query:"level" enum:"l,m,q,h" default:"m" doc:"How much of it may be hidden: about 7, 15, 25 or 30 percent."`
}

type qrAnswer struct {
	ContentType  string `header:"Content-Type" hidden:"true"`
	CacheControl string `header:"Cache-Control" hidden:"true"`
	Body         []byte
}

func (s *Server) mountQR(a *api) {
	register(a, operation{
		id: "get-link-qr", method: http.MethodGet, path: "/api/v1/links/{code}/qr", tag: "Links", scope: snip.ScopeRead,
		summary: "Draw a QR code", about: "Of where the link is followed, by the code that is asked for.", refused: []snip.Code{snip.NotFound},
	}, s.linkQR)
	a.OpenAPI().Paths["/api/v1/links/{code}/qr"].Get.Responses["200"].Content = map[string]*huma.MediaType{
		"image/svg+xml": {Schema: &huma.Schema{Type: huma.TypeString}},
		"image/png":     {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
	}
}

// linkQR draws the code that was asked for, which may be an alias that is printed
// somewhere already.
func (s *Server) linkQR(ctx context.Context, c *caller, in *qrInput) (*qrAnswer, error) {
	l, err := c.Link(ctx, snip.Ref{Domain: in.Domain, Code: in.Code})
	if err != nil {
		return nil, err
	}
	level := map[string]qr.Ecc{"l": qr.Low, "m": qr.Medium, "q": qr.Quartile, "h": qr.High}[in.Level]
	squares, err := qr.EncodeText(s.shortURL(c.request, l.Domain, in.Code), level)
	if err != nil {
		return nil, fmt.Errorf("web: draw QR code: %w", err)
	}
	out := &qrAnswer{ContentType: "image/svg+xml", CacheControl: "private, max-age=3600", Body: svg(squares, in.Size, in.Margin)}
	if in.Format == "png" {
		out.ContentType = "image/png"
		if out.Body, err = pixels(squares, in.Size, in.Margin); err != nil {
			return nil, fmt.Errorf("web: draw QR code: %w", err)
		}
	}
	return out, nil
}

// svg draws squares as one path: a line for each run of dark ones.
func svg(squares *qr.QrCode, size, margin int) []byte {
	var b bytes.Buffer
	n := squares.Size()
	all := n + 2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" shape-rendering="crispEdges">`+
		`<path fill="#fff" d="M0 0h%dv%dH0z"/><path d="`, size, size, all, all, all, all)
	for y := range n {
		for x := 0; x < n; x++ {
			run := 0
			for x+run < n && squares.Module(x+run, y) {
				run++
			}
			if run > 0 {
				fmt.Fprintf(&b, "M%d %dh%dv1h-%dz", x+margin, y+margin, run, run)
				x += run
			}
		}
	}
	b.WriteString(`"/></svg>`)
	return b.Bytes()
}

// pixels draws every square as large as whole pixels allow, and in the middle.
func pixels(squares *qr.QrCode, size, margin int) ([]byte, error) {
	n := squares.Size()
	scale := max(1, size/(n+2*margin))
	side := max(size, n+2*margin)
	start := (side - n*scale) / 2
	picture := image.NewPaletted(image.Rect(0, 0, side, side), color.Palette{color.White, color.Black})
	for y := range n * scale {
		for x := range n * scale {
			if squares.Module(x/scale, y/scale) {
				picture.SetColorIndex(start+x, start+y, 1)
			}
		}
	}
	var b bytes.Buffer
	err := png.Encode(&b, picture)
	return b.Bytes(), err
}
