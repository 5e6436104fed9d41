package snip

import (
	"crypto/rand"
	"slices"
	"strings"
)

const (
	// MaxCode is the most characters a code may have.
	MaxCode = 64

	randomLength = 7
	// Letters and digits that are not taken for one another: no 0, 1, I, O, i, l, o.
	randomAlphabet = "23456789abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ"
)

// RandomCode makes up a code: 7 characters that nobody can guess and that are not
// mistaken for one another when read out or typed. There are 1.5 million million
// of them.
func RandomCode() string {
	const n = byte(len(randomAlphabet))
	const fair = 256 / int(n) * int(n) // A byte from here on would favour the first characters.
	for {
		code := make([]byte, 0, randomLength)
		var random [16]byte
		for len(code) < randomLength {
			rand.Read(random[:]) // Never fails.
			for _, b := range random {
				if int(b) < fair && len(code) < randomLength {
					code = append(code, randomAlphabet[b%n])
				}
			}
		}
		if !Reserved(string(code)) {
			return string(code)
		}
	}
}

// CheckCode returns an *Error for field "code" if a link cannot have this code: one
// has 1 to 64 letters and digits of ASCII, - and _, and is not reserved.
func CheckCode(code string) error {
	if code == "" {
		return wrongCode("The code is missing.")
	}
	for i, c := range code {
		if c >= 0x80 || !isWordByte(byte(c)) {
			return wrongCode("A code has letters, digits, - and _ only; this one holds %q at byte %d.", c, i)
		}
	}
	if len(code) > MaxCode {
		return wrongCode("The code has %d characters; at most %d are accepted.", len(code), MaxCode)
	}
	if Reserved(code) {
		return wrongCode("The code %q is reserved for the server itself.", code)
	}
	return nil
}

// Reserved reports the words that the server keeps for paths of its own, or that
// people would take for such. Case does not matter. Names with a dot, such as
// robots.txt, need not be here: they cannot be codes.
func Reserved(code string) bool {
	return slices.Contains(reserved(), strings.ToLower(code))
}

func reserved() []string {
	return []string{
		"-", "_", "admin", "api", "assets", "debug", "docs", "favicon", "health", "healthz",
		"login", "logout", "metrics", "openapi", "ready", "readyz", "rest", "robots",
		"shorten", "signin", "signup", "static", "version",
	}
}

func wrongCode(format string, args ...any) error {
	return invalid("code", format, args...)
}
