package local

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/backend"
)

// hangupPause is how long Read waits when the terminal says that nobody holds it
// though the program lives: gVisor does so before the first open (gvisor#13738).
// A guess.
const hangupPause = 5 * time.Millisecond

// Read implements backend.Terminal.
func (t *Terminal) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		// Looked at before the read: what a program wrote before its end is
		// there now.
		ended := t.hasEnded()
		n, err := t.readOnce(p)
		switch {
		case n > 0:
			return n, nil
		case err != nil && !errors.Is(err, unix.EIO):
			return 0, err
		case ended:
			return 0, io.EOF
		}
		// EIO (macOS: nothing) while the program lives means nothing.
		select {
		case <-t.done:
		case <-t.closed:
		case <-time.After(hangupPause):
		}
	}
}

// readOnce waits for output and reads it.
func (t *Terminal) readOnce(p []byte) (n int, err error) {
	c, err := t.master.SyscallConn()
	if err != nil {
		return 0, os.ErrClosed
	}
	var readErr error
	err = c.Read(func(fd uintptr) bool {
		t.readMu.Lock()
		defer t.readMu.Unlock()
		n, readErr = retry(func() (int, error) { return unix.Read(int(fd), p) })
		n = max(n, 0)
		t.produced += int64(n)
		if !errors.Is(readErr, unix.EAGAIN) {
			return true
		}
		if t.ended {
			// All that the program wrote has been read. What else holds the
			// terminal keeps it open; our own slave must not.
			_ = t.slave.Close() // may be closed already
		}
		return false
	})
	if err != nil {
		return 0, os.ErrClosed
	}
	if readErr != nil && !errors.Is(readErr, unix.EIO) {
		readErr = fmt.Errorf("reading from terminal: %w", readErr)
	}
	return n, readErr
}

// releaseSlave closes the own slave once the program has ended and its output
// has been read: now, or by a later Read. Until then it keeps the terminal from
// being hung up, for some systems throw unread output away at that.
func (t *Terminal) releaseSlave() {
	t.readMu.Lock()
	defer t.readMu.Unlock()
	t.ended = true
	if more, err := t.readable(); err == nil && !more {
		_ = t.slave.Close() // may be closed already
	}
}

// Produced implements backend.Drainer. Reads and this look are ordered by
// readMu, so the two answers belong together.
func (t *Terminal) Produced() (offset int64, more bool, err error) {
	t.readMu.Lock()
	defer t.readMu.Unlock()
	more, err = t.readable()
	return t.produced, more, err
}

// readable reports whether the master has output. On Linux the poll first brings
// over what the program wrote (n_tty_poll).
func (t *Terminal) readable() (more bool, err error) {
	events, err := poll(t.master, unix.POLLIN)
	return events&unix.POLLIN != 0, err
}

// Write implements backend.Terminal. After the program's end it returns
// os.ErrProcessDone: the kernel would take the bytes, and nobody would see them.
func (t *Terminal) Write(p []byte) (int, error) {
	if t.hasEnded() {
		return 0, fmt.Errorf("writing to terminal: %w", os.ErrProcessDone)
	}
	n, err := t.master.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) && t.hasEnded() {
		err = os.ErrProcessDone
	}
	if err != nil {
		err = fmt.Errorf("writing to terminal: %w", err)
	}
	return n, err
}

// SetWriteDeadline implements backend.Terminal.
func (t *Terminal) SetWriteDeadline(d time.Time) error {
	t.deadlineMu.Lock()
	defer t.deadlineMu.Unlock()
	if t.unwritable {
		return nil
	}
	return t.master.SetWriteDeadline(d)
}

// stopWrites makes a Write that waits for a program that has ended return.
func (t *Terminal) stopWrites() {
	t.deadlineMu.Lock()
	defer t.deadlineMu.Unlock()
	t.unwritable = true
	_ = t.master.SetWriteDeadline(time.Unix(1, 0)) // fails only after Close, which does the same
}

// Unread implements backend.Input. After the program's end it is false.
func (t *Terminal) Unread() (bool, error) {
	events, err := poll(t.slave, unix.POLLIN)
	if closed := t.afterSlave(); closed != nil || t.hasEnded() {
		return false, closed
	} else if err != nil {
		return false, fmt.Errorf("looking at input: %w", err)
	}
	if events&unix.POLLHUP != 0 {
		// vhangup(2): our slave is dead, the terminal may have been opened anew.
		return false, fmt.Errorf("looking at input: %w", unix.EIO)
	}
	return events&unix.POLLIN != 0, nil
}

// Queued implements backend.Input. After the program's end it is 0.
func (t *Terminal) Queued() (n int, err error) {
	var callErr error
	if control(t.slave, func(fd int) { n, callErr = unix.IoctlGetInt(fd, ioctlQueued) }) != nil || t.hasEnded() {
		return 0, t.afterSlave()
	}
	if callErr != nil {
		return 0, fmt.Errorf("counting input: %w", callErr)
	}
	return n, nil
}

// Discard implements backend.Input. After the program's end it does nothing.
func (t *Terminal) Discard() error {
	var callErr error
	if control(t.slave, func(fd int) { callErr = discardInput(fd) }) != nil {
		return t.afterSlave()
	}
	if callErr != nil {
		return fmt.Errorf("discarding input: %w", callErr)
	}
	return nil
}

// Resize implements backend.Resizer. After the program's end it has no effect on
// anything that is left.
func (t *Terminal) Resize(s backend.Size) error {
	size, err := winsize(s)
	if err != nil {
		return err
	}
	var callErr error
	if err := control(t.master, func(fd int) { callErr = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, size) }); err != nil {
		return err
	}
	if callErr != nil {
		return fmt.Errorf("resizing terminal: %w", callErr)
	}
	return nil
}

// afterSlave is the answer when the own slave is closed: an error after Close,
// none after the program's end.
func (t *Terminal) afterSlave() error {
	select {
	case <-t.closed:
		return os.ErrClosed
	default:
		return nil
	}
}

func (t *Terminal) hasEnded() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// poll looks once, without waiting, for events on file.
func poll(file *os.File, events int16) (revents int16, err error) {
	var pollErr error
	err = control(file, func(fd int) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: events}}
		_, pollErr = retry(func() (int, error) { return unix.Poll(fds, 0) })
		revents = fds[0].Revents
	})
	if err == nil {
		err = pollErr
	}
	return revents, err
}

// retry repeats a system call that a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
