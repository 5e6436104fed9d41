package visitor

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
)

// Hash returns a number that is the same for the same address and user agent, and
// that tells nothing about them to whoever does not have the salt: 64 bits of
// HMAC-SHA-256. It is 0, for nobody known, if the address is not valid or there is
// no salt, and never otherwise.
func Hash(salt []byte, address netip.Addr, userAgent string) uint64 {
	if len(salt) == 0 || !address.IsValid() {
		return 0
	}
	h := hmac.New(sha256.New, salt)
	ip := address.As16() // An IPv4 address and its form in IPv6 are the same visitor's.
	h.Write(ip[:])
	h.Write([]byte(userAgent))
	var sum [sha256.Size]byte
	return max(1, binary.BigEndian.Uint64(h.Sum(sum[:0])))
}
