package main

import (
	"fmt"
	"os"
	"strings"

	go_qr "github.com/piglig/go-qr"
	"github.com/spf13/cobra"
)

func newQR(environ []string) *cobra.Command {
	var format, output, domain string
	cmd := &cobra.Command{
		Use:   "qr CODE",
		Short: "Draw the QR code of a link",
		Long: `Draw the QR code of a link: as text for the terminal, or as a picture. Text is light on
dark, as most terminals are, and cameras read it on the others, too.`,
		Example: `  snip qr go
  snip qr go --format svg -o go.svg`,
		Args: oneArg("snip qr go --format png -o go.png"),
	}
	w := addPlace(cmd, environ)
	cmd.ValidArgsFunction = w.completeCodes
	cmd.RunE = w.at(func(cmd *cobra.Command, p place, args []string) error {
		l, err := p.Link(cmd.Context(), refOf(args[0], domain))
		if err != nil {
			return err
		}
		picture, err := drawQR(p.ShortURL(l), format)
		if err != nil {
			return err
		}
		if output == "" || output == "-" {
			_, err = cmd.OutOrStdout().Write(picture)
			return err
		}
		if err := os.WriteFile(output, picture, 0o644); err != nil {
			return fmt.Errorf("write the picture: %w", err)
		}
		return nil
	})
	cmd.Flags().StringVar(&format, "format", "text", "text, svg or png")
	cmd.Flags().StringVarP(&output, "output", "o", "", "the file to write to, instead of the output")
	cmd.Flags().StringVar(&domain, "domain", "", "the domain that the code is on")
	return cmd
}

// Of a picture, in modules: the space around it that readers need, and, in pixels, the
// size of a module.
const (
	quietZone  = 4
	moduleSize = 8
)

func drawQR(text, format string) ([]byte, error) {
	code, err := go_qr.EncodeText(text, go_qr.Medium)
	if err != nil {
		return nil, fmt.Errorf("QR code: %w", err)
	}
	var picture []byte
	switch format {
	case "text":
		return []byte(qrText(code.Size(), code.Module)), nil
	case "svg":
		picture, err = code.ToSVGBytes(go_qr.NewQrCodeImgConfig(moduleSize, quietZone, go_qr.WithOptimalSVG()))
	case "png":
		picture, err = code.ToPNGBytes(go_qr.NewQrCodeImgConfig(moduleSize, quietZone))
	default:
		return nil, &usageError{fmt.Errorf("--format %q must be text, svg or png", format)}
	}
	if err != nil {
		return nil, fmt.Errorf("QR code: %w", err)
	}
	return picture, nil
}

// qrText puts two rows of modules into a line, as a character is twice as high as wide.
// What is light is drawn, since terminals are dark.
func qrText(size int, dark func(x, y int) bool) string {
	light := func(x, y int) bool {
		return x < 0 || y < 0 || x >= size || y >= size || !dark(x, y)
	}
	var b strings.Builder
	const around = quietZone / 2 // Terminals are small, and readers do with less.
	for y := -around; y < size+around; y += 2 {
		for x := -around; x < size+around; x++ {
			switch upper, lower := light(x, y), light(x, y+1); {
			case upper && lower:
				b.WriteRune('█')
			case upper:
				b.WriteRune('▀')
			case lower:
				b.WriteRune('▄')
			default:
				b.WriteByte(' ')
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
