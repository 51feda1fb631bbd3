//go:build !linux

package local

// Harden does nothing here: macOS lets no unprivileged process read another's
// memory without an entitlement, and there is no /proc.
func Harden() error { return nil }
