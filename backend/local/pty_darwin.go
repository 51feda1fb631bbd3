package local

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/backend"
)

// Nothing in this file has ever run on a Mac (from XNU's
// source, compile-checked).

const (
	ioctlGetTermios = unix.TIOCGETA
	ioctlQueued     = 0x4004667f // FIONREAD of sys/filio.h: _IOR('f', 127, int)
	ioctlSession    = 0x40047463 // TIOCGSID of sys/ttycom.h: _IOR('t', 99, int)
)

// lineMax is what canonical mode keeps of a line: MAX_CANON of sys/syslimits.h
// less the line end.
const lineMax = 1023

func executable() (string, error) { return os.Executable() }

// openPair makes a pseudo-terminal of the given size.
func openPair(size backend.Size) (p pair, err error) {
	ws, err := winsize(size)
	if err != nil {
		return pair{}, err
	}
	master, slave, err := pty.Open()
	if err != nil {
		return pair{}, err
	}
	p.own = slave
	defer func() {
		// The poller does not know this one: package pty opened it blocking.
		_ = master.Close() // there is a duplicate
		if err != nil {
			p.close()
		}
	}()
	if p.master, err = duplicate(master, true); err != nil {
		return p, err
	}
	if p.forGuard, err = duplicate(slave, false); err != nil {
		return p, err
	}
	return p, p.prepare(ws)
}

func duplicate(file *os.File, nonblock bool) (dup *os.File, err error) {
	var fd int
	var callErr error
	if err := control(file, func(old int) {
		if fd, callErr = unix.FcntlInt(uintptr(old), unix.F_DUPFD_CLOEXEC, 0); callErr == nil && nonblock {
			callErr = unix.SetNonblock(fd, true)
		}
	}); err != nil {
		return nil, err
	}
	if callErr != nil {
		return nil, fmt.Errorf("duplicating pty: %w", callErr)
	}
	return os.NewFile(uintptr(fd), file.Name()), nil
}

// setModes gives the line discipline the modes of a login terminal (sys/ttydefaults.h).
func setModes(fd int) error {
	tio, err := unix.IoctlGetTermios(fd, unix.TIOCGETA)
	if err != nil {
		return err
	}
	tio.Iflag |= unix.BRKINT | unix.ICRNL | unix.IMAXBEL | unix.IUTF8 // without IXON: nobody is there to find out that a ^S has stopped the output
	tio.Oflag |= unix.OPOST | unix.ONLCR
	tio.Cflag |= unix.CREAD | unix.CS8 | unix.HUPCL
	tio.Lflag |= unix.ECHO | unix.ICANON | unix.ISIG | unix.IEXTEN | unix.ECHOE | unix.ECHOKE | unix.ECHOCTL
	return unix.IoctlSetTermios(fd, unix.TIOCSETA, tio)
}

func discardInput(fd int) error { return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, 1) } // FREAD

// signalByTerminal does nothing: TIOCSIG would throw away input and output.
func (t *Terminal) signalByTerminal(syscall.Signal) (done bool, err error) { return false, nil }

// command returns the name of the program that runs as pid, "" if it is gone.
func command(pid int) string {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(k.Proc.P_pid) != pid {
		return ""
	}
	return unix.ByteSliceToString(k.Proc.P_comm[:])
}

// Nap implements backend.Napper.
func (t *Terminal) Nap(d time.Duration) { time.Sleep(min(d, time.Millisecond)) }
