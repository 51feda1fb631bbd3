package ptyservice

import (
	"crypto/rand"
	"encoding/base32"
	"strings"
)

// newID returns prefix and 10 random characters of base32 in lower case.
func newID(prefix string) string { return prefix + random(10) }

// newNonce returns the secret of a session's shell marks, 130 bits.
func newNonce() string { return random(26) }

func random(characters int) string {
	b := make([]byte, characters) // 8 bits a character, of which base32 keeps 5
	_, _ = rand.Read(b)           // never fails (crypto/rand, since Go 1.24)
	return strings.ToLower(base32.StdEncoding.EncodeToString(b)[:characters])
}
