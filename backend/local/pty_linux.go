package local

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/backend"
)

const (
	ioctlGetTermios = unix.TCGETS
	ioctlQueued     = unix.TIOCINQ
	ioctlSession    = unix.TIOCGSID
)

// lineMax is what canonical mode keeps of a line, without its end: N_TTY_BUF_SIZE
// less one (drivers/tty/n_tty.c). The rest is dropped without a word.
const lineMax = 4095

// executable returns the path of this program. The link of /proc stays right
// when the file is replaced by an update.
func executable() (string, error) {
	const self = "/proc/self/exe"
	if unix.Access(self, unix.X_OK) == nil {
		return self, nil
	}
	return os.Executable()
}

// openPair makes a pseudo-terminal of the given size.
func openPair(size backend.Size) (p pair, err error) {
	ws, err := winsize(size)
	if err != nil {
		return pair{}, err
	}
	const path = "/dev/ptmx"
	// Non-blocking from the start: os.NewFile then hands it to the poller.
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return pair{}, &os.PathError{Op: "open", Path: path, Err: err}
	}
	p.master = os.NewFile(uintptr(fd), path)
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return p, fmt.Errorf("unlocking pty: %w", err)
	}
	if p.own, err = openSlave(fd); err != nil {
		return p, err
	}
	if p.forGuard, err = openSlave(fd); err != nil {
		return p, err
	}
	return p, p.prepare(ws)
}

// openSlave opens the other side of the master fd, whatever the mount namespace.
func openSlave(fd int) (*os.File, error) {
	const flags = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	n, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, flags)
	if errno == 0 {
		return os.NewFile(n, "slave"), nil
	}
	if errno != unix.EINVAL && errno != unix.ENOTTY {
		return nil, fmt.Errorf("opening slave: %w", errno)
	}
	// Before Linux 4.13, and gVisor.
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, fmt.Errorf("numbering slave: %w", err)
	}
	return os.OpenFile("/dev/pts/"+strconv.Itoa(number), flags, 0)
}

// setModes gives the line discipline what the kernel's default lacks.
func setModes(fd int) error {
	tio, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return err
	}
	tio.Iflag |= unix.IUTF8 // Backspace takes a whole character of a cooked line
	tio.Iflag &^= unix.IXON // nobody is there to find out that a ^S has stopped the output
	return unix.IoctlSetTermios(fd, unix.TCSETS, tio)
}

func discardInput(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }

// signalByTerminal has the terminal signal its foreground group, also when ISIG
// is off and across users. The kernel does so for three signals only
// (pty_signal in drivers/tty/pty.c).
func (t *Terminal) signalByTerminal(sig syscall.Signal) (done bool, err error) {
	if sig != unix.SIGINT && sig != unix.SIGQUIT && sig != unix.SIGTSTP {
		return false, nil
	}
	var callErr error
	if err := control(t.master, func(fd int) { callErr = unix.IoctlSetInt(fd, unix.TIOCSIG, int(sig)) }); err != nil {
		return false, err
	}
	return callErr == nil, nil
}

// command returns the name of the program that runs as pid, "" if it is gone.
func command(pid int) string {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/comm", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	var buf [64]byte // the kernel keeps 15
	n, err := unix.Read(fd, buf[:])
	if err != nil || n < 1 {
		return ""
	}
	return string(buf[:n-1])
}

// Nap implements backend.Napper. A ppoll on nothing takes some 80 µs more than
// asked for (measured); a Go timer sleeps whole milliseconds, for epoll_wait
// counts in these.
func (t *Terminal) Nap(d time.Duration) {
	d = min(d, time.Millisecond)
	if d <= 0 {
		return
	}
	ts := unix.NsecToTimespec(int64(d))
	_, _ = unix.Ppoll(nil, &ts, nil) // interrupted means a little shorter
}
