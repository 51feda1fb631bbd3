package local

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Harden keeps what runs in the terminals from reading the calling process's
// memory and environment in /proc, where they hold the server's secrets: it is
// made undumpable (PR_SET_DUMPABLE(2const), ptrace(2) "access mode checking").
// The superuser can read them all the same.
func Harden() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("making the process undumpable: %w", err)
	}
	return nil
}
