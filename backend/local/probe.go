package local

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/backend"
)

// Probe implements backend.Prober.
func (t *Terminal) Probe() (backend.Probe, error) {
	t.probeMu.Lock()
	defer t.probeMu.Unlock()
	pgid, err := t.foreground()
	if err != nil {
		return backend.Probe{}, err
	}
	p := backend.Probe{PGID: pgid, PID: pgid}
	if pgid != 0 && t.waits != nil {
		p.Own = t.owns(pgid)
		var waiter int
		if p.Wait, waiter, p.Detail = t.waits.look(pgid); waiter != 0 {
			p.PID = waiter
		}
	}
	// After the look: who waits has set the flags for it before.
	var timed bool
	if p.Flags, timed, err = t.flags(); err != nil {
		return backend.Probe{}, err
	}
	if timed && p.Wait == backend.WaitExact {
		p.Wait = backend.WaitTimed
	}
	if pgid != 0 && t.waits != nil {
		p.Command = command(p.PID)
	}
	return p, nil
}

// Listening implements backend.Listener.
func (t *Terminal) Listening() (yes bool, used time.Duration, err error) {
	t.probeMu.Lock()
	defer t.probeMu.Unlock()
	pgid, err := t.foreground()
	if err != nil || t.waits == nil {
		return false, 0, err
	}
	return t.waits.serves(pgid)
}

// Signal implements backend.Signaller. After the program's end it returns
// os.ErrProcessDone and sends nothing.
func (t *Terminal) Signal(sig syscall.Signal) (pgid int, err error) {
	if t.hasEnded() {
		return 0, fmt.Errorf("signalling foreground group: %w", os.ErrProcessDone)
	}
	if pgid, err = t.foreground(); err != nil {
		return 0, err
	}
	// Signal 0 finds out whether anybody is there: the terminal does not say.
	if pgid == 0 || !t.inSession(pgid) || errors.Is(unix.Kill(-pgid, 0), unix.ESRCH) {
		return 0, backend.ErrNoForeground
	}
	if sig == unix.SIGKILL && t.owns(pgid) {
		return pgid, backend.ErrOwnProgram
	}
	// Where the kernel can, it signals the group itself: that also reaches
	// another user's program, such as sudo.
	done, err := t.signalByTerminal(sig)
	if !done && err == nil {
		err = unix.Kill(-pgid, sig)
	}
	switch {
	case err == nil:
		return pgid, nil
	case errors.Is(err, unix.ESRCH):
		return 0, backend.ErrNoForeground
	default:
		return pgid, fmt.Errorf("signalling foreground group %d: %w", pgid, err)
	}
}

// foreground returns the foreground process group, 0 for none.
func (t *Terminal) foreground() (pgid int, err error) {
	var callErr error
	if err := control(t.master, func(fd int) { pgid, callErr = unix.IoctlGetInt(fd, unix.TIOCGPGRP) }); err != nil {
		return 0, err
	}
	if callErr != nil {
		return 0, fmt.Errorf("finding foreground group: %w", callErr)
	}
	return max(pgid, 0), nil
}

// inSession reports that pgid is no number that was used again: the terminal
// remembers its group also when all of it has ended. A group without its leader
// keeps its number to itself.
func (t *Terminal) inSession(pgid int) bool {
	sid, err := unix.Getsid(pgid)
	if err != nil {
		return true
	}
	var want int
	var callErr error
	if control(t.master, func(fd int) { want, callErr = unix.IoctlGetInt(fd, ioctlSession) }) != nil || callErr != nil {
		want = t.program.PID // it leads the session
	}
	return sid == want
}

// owns reports whether the session's own program is in the group pgid.
func (t *Terminal) owns(pgid int) bool {
	if t.hasEnded() {
		return false // its number may be another's by now
	}
	own, err := unix.Getpgid(t.program.PID)
	return pgid == t.program.PID || err == nil && own == pgid
}

// flags reads the line discipline. timed is a read that returns after a while
// without input, a timer that no system call shows: VTIME without VMIN
// (termios(3), "read with timeout").
func (t *Terminal) flags() (f backend.Flags, timed bool, err error) {
	var tio *unix.Termios
	var callErr error
	if err := control(t.master, func(fd int) { tio, callErr = unix.IoctlGetTermios(fd, ioctlGetTermios) }); err != nil {
		return backend.Flags{}, false, err
	}
	if callErr != nil {
		return backend.Flags{}, false, fmt.Errorf("reading terminal flags: %w", callErr)
	}
	timed = tio.Lflag&unix.ICANON == 0 && tio.Cc[unix.VMIN] == 0 && tio.Cc[unix.VTIME] > 0
	return backend.Flags{
		Canonical: tio.Lflag&unix.ICANON != 0,
		Echo:      tio.Lflag&unix.ECHO != 0,
		Signals:   tio.Lflag&unix.ISIG != 0,
		CRNL:      tio.Iflag&unix.ICRNL != 0,
		Erase:     tio.Cc[unix.VERASE],
		LineMax:   lineMax,
	}, timed, nil
}
