package visitor

import (
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
)

// Hash returns a number that is the same for the same address and user agent, and
// that tells nothing about them to whoever does not have the salt: 64 bits of the
// SHA-256 of salt, address and agent. Salts are all of one length, so that no two
// inputs are the same text; and nobody sees the rest of the sum, so that none can be
// continued from it. It is 0, for nobody known, if the address is not valid or there
// is no salt, and never otherwise.
func Hash(salt []byte, address netip.Addr, userAgent string) uint64 {
	if len(salt) == 0 || !address.IsValid() {
		return 0
	}
	text := make([]byte, 0, 512) // Stays on the stack for all but the longest agents.
	text = append(text, salt...)
	ip := address.As16() // An IPv4 address and its form in IPv6 are the same visitor's.
	text = append(text, ip[:]...)
	text = append(text, userAgent...)
	sum := sha256.Sum256(text)
	return max(1, binary.BigEndian.Uint64(sum[:]))
}

// lasting returns a number that is the same for the same address and user agent for
// ever, an FNV-1a hash. Anybody can find out by trying whose it is: it must not be kept.
func lasting(address netip.Addr, userAgent string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	ip := address.As16() // As in Hash. Zero if it is not valid.
	for _, b := range ip {
		h = (h ^ uint64(b)) * prime
	}
	for i := range len(userAgent) {
		h = (h ^ uint64(userAgent[i])) * prime
	}
	return h
}
