package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"strings"
	"testing"

	go_qr "github.com/piglig/go-qr"
)

// TestQR: a reader reads each of the formats.
func TestQR(t *testing.T) {
	const address = "https://go.example/spring-sale"
	picture, err := drawQR(address, "png")
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	text, err := drawQR(address, "text")
	if err != nil {
		t.Fatal(err)
	}
	for format, img := range map[string]image.Image{"png": decoded, "text": pictureOf(string(text))} {
		if got, err := go_qr.Decode(img); err != nil || got != address {
			t.Errorf("%s is read as %q, %v", format, got, err)
		}
	}

	if picture, err = drawQR(address, "svg"); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(bytes.NewReader(picture))
	root := ""
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && root == "" {
			root = e.Name.Local
		}
	}
	if root != "svg" {
		t.Errorf("svg begins with <%s>", root)
	}
	if _, err := drawQR(address, "gif"); err == nil {
		t.Error("gif was drawn")
	}
	if _, err := drawQR(strings.Repeat("x", 10_000), "text"); err == nil {
		t.Error("more was drawn than a QR code holds")
	}
}

// pictureOf is what a dark terminal shows, the other way round as readers want it: each
// half of a character is a module.
func pictureOf(text string) image.Image {
	const size = 6
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	width := len([]rune(lines[0]))
	img := image.NewGray(image.Rect(0, 0, (width+4)*size, (2*len(lines)+4)*size))
	for i := range img.Pix {
		img.Pix[i] = 255
	}
	for y, line := range lines {
		for x, r := range []rune(line) {
			for half := range 2 {
				if r == '█' || half == 0 && r == '▀' || half == 1 && r == '▄' {
					continue
				}
				for i := range size * size {
					img.SetGray((x+2)*size+i%size, (2*y+half+2)*size+i/size, color.Gray{})
				}
			}
		}
	}
	return img
}
