package ptyservice

import (
	"crypto/rand"
	"strings"
)

// newID returns prefix and 10 random characters of base32 in lower case.
func newID(prefix string) string { return prefix + newNonce()[:10] }

// newNonce returns 26 random characters of base32 in lower case, 130 bits.
func newNonce() string { return strings.ToLower(rand.Text()) }
