package local

import (
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/backend"
)

// pair is a new pseudo-terminal.
type pair struct {
	master   *os.File // non-blocking, known to the poller
	own      *os.File // slave that stays here
	forGuard *os.File // slave that the guard gets
	rdev     uint64   // device number of the slave
}

// prepare sets what must be set before a program sees the terminal.
func (p *pair) prepare(size *unix.Winsize) error {
	var st unix.Stat_t
	var sizeErr, modeErr, statErr error
	if err := control(p.own, func(fd int) {
		sizeErr = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, size)
		modeErr = setModes(fd)
		statErr = unix.Fstat(fd, &st)
	}); err != nil {
		return err
	}
	for _, err := range []error{sizeErr, modeErr, statErr} {
		if err != nil {
			return fmt.Errorf("preparing pty: %w", err)
		}
	}
	p.rdev = uint64(st.Rdev)
	return nil
}

func (p *pair) close() {
	for _, f := range []*os.File{p.master, p.own, p.forGuard} {
		if f != nil {
			_ = f.Close() // unused
		}
	}
}

func winsize(s backend.Size) (*unix.Winsize, error) {
	if s.Cols < 0 || s.Rows < 0 || s.Cols > math.MaxUint16 || s.Rows > math.MaxUint16 {
		return nil, fmt.Errorf("terminal size %dx%d: %w", s.Cols, s.Rows, unix.EINVAL)
	}
	return &unix.Winsize{Col: uint16(s.Cols), Row: uint16(s.Rows)}, nil
}
