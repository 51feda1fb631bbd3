package guard

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/backend"
)

// seatbeltPath is the program that confines itself and becomes another. Apple
// has called it deprecated for years and ships it.
const seatbeltPath = "/usr/bin/sandbox-exec"

// Landlock returns an error: this is no Linux.
func Landlock() (abi int, err error) { return 0, errors.ErrUnsupported }

// confine returns what runs the program confined. Nothing of it has ever run on
// a Mac.
func (g *guard) confine(path string, argv []string) (string, []string, *Failed) {
	c := g.spec.Confinement
	if c == nil {
		return path, argv, nil
	}
	if err := unix.Access(seatbeltPath, unix.X_OK); err != nil {
		return "", nil, failed(backend.StepSandbox, err, seatbeltPath)
	}
	// What is executed is looked up already; sandbox-exec would do it again.
	return seatbeltPath, seatbelt(c, append([]string{path}, argv[1:]...)), nil
}
