//go:build amd64 || arm64

package local

import (
	"bytes"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/backend"
)

// maxInner bounds how deep terminals within terminals are followed.
const maxInner = 4

// innerPTY is a pseudo-terminal of which another process has the master.
type innerPTY interface {
	device() (rdev, dev uint64)
	foreground() int
	unread() bool  // input that no program has read, or that cannot be told
	pending() bool // output that the master's owner has not read, or that cannot be told
	close()
}

// innerGroup looks at the terminal behind the master that t waits for beside
// its own: script, expect, rlwrap and sudo relay between the two. It returns
// the verdict on the foreground group there, and list with the processes of
// that terminal's session added. It is false when the master is not known to
// belong to a session below t.
//
// The order matters, as it does for the caller: t was seen asleep, so it has
// passed on all its input; then the inner input has to be read; then the inner
// group has to wait; then all it wrote has to be read by t. That t has also
// written it is known once the caller sees that t has not run since (confirm).
func (w *waits) innerGroup(g *group, t thread) (verdict, []int, bool) {
	rdev, ok := w.behind(t.pid, t.master)
	if !ok || g.depth >= maxInner {
		return verdict{}, nil, false
	}
	known := w.onTerminal(t.pid, rdev, slices.Clone(g.list))
	if len(known) == len(g.list) {
		return verdict{}, nil, false
	}
	p, err := w.dup(t.pid, t.master)
	if err != nil {
		return verdict{}, nil, false
	}
	defer p.close()
	if p.unread() {
		return verdict{wait: backend.WaitBusy, pid: t.pid, t: t}, known, true
	}
	outer, devpts, last := w.rdev, w.devpts, len(w.threads)
	w.rdev, w.devpts = p.device()
	v := w.judge(&group{pgid: p.foreground(), top: t.pid, depth: g.depth + 1})
	w.rdev, w.devpts = outer, devpts
	w.threads = w.threads[:last]
	v.inner = true
	if v.pid == 0 {
		v.pid, v.t = t.pid, t
	}
	if v.wait == backend.WaitExact && p.pending() {
		v.wait = backend.WaitBusy
	}
	return v, known, true
}

// behind returns the device number of the slave of a master descriptor, from
// the line "tty-index:" of its fdinfo (drivers/tty/tty_io.c, tty_show_fdinfo).
func (w *waits) behind(pid, fd int) (uint64, bool) {
	n, err := w.proc.read(w.proc.file(pid, fd, "/fdinfo/"), w.proc.text[:], false)
	if err != nil {
		return 0, false
	}
	_, index, ok := bytes.Cut(w.proc.text[:n], []byte("tty-index:\t"))
	if !ok {
		return 0, false
	}
	n64, _ := number(index)
	return ptsDevice(n64), true
}

// onTerminal appends the descendants of pid whose controlling terminal is rdev.
func (w *waits) onTerminal(pid int, rdev uint64, list []int) []int {
	for i, n := range w.tree {
		if !w.below(i, pid) {
			continue
		}
		if st, err := w.proc.status(n.pid, n.pid); err == nil && st.tty == rdev && !st.dead() {
			list = append(list, n.pid)
		}
	}
	return list
}

// ptsMajor is the major number of pseudo-terminal slaves.
const ptsMajor = 136

// ptsDevice encodes the device number of /dev/pts/n as stat(2) does: minor
// numbers above 255 have their upper part above the major number.
func ptsDevice(n uint64) uint64 { return n&0xff | ptsMajor<<8 | n&^0xff<<12 }

// ptsName is the reverse of ptsDevice, as a file name.
func ptsName(rdev uint64) string {
	return strconv.FormatUint(rdev&0xff|rdev>>12&^0xff, 10)
}

// masterCopy is an innerPTY by way of a copy of the master descriptor.
type masterCopy struct {
	master, slave int
	st            unix.Stat_t
}

// dupMaster copies another process's master descriptor (pidfd_getfd(2), Linux
// 5.6; the same permission as reading its system calls) and opens the slave
// through it, whatever that process's file systems are (TIOCGPTPEER).
func dupMaster(pid, fd int) (innerPTY, error) {
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(process)
	var d masterCopy
	if d.master, err = unix.PidfdGetfd(process, fd, 0); err != nil {
		return nil, err
	}
	// IoctlRetInt has no argument; the flags are the argument here.
	slave, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(d.master), unix.TIOCGPTPEER,
		unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC)
	if errno != 0 {
		_ = unix.Close(d.master) // a copy
		return nil, errno
	}
	d.slave = int(slave)
	if err := unix.Fstat(d.slave, &d.st); err != nil {
		d.close()
		return nil, err
	}
	return &d, nil
}

func (d *masterCopy) device() (rdev, dev uint64) { return d.st.Rdev, d.st.Dev }

func (d *masterCopy) foreground() int {
	pgid, err := unix.IoctlGetInt(d.master, unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return pgid
}

// unread and pending use poll, which first completes what is under way between
// the two sides; the counts that ioctls give lag behind.
func (d *masterCopy) unread() bool  { return polled(d.slave) }
func (d *masterCopy) pending() bool { return polled(d.master) }

// polled reports whether fd can be read, or an error. Even without a time-out
// poll gives EINTR when a signal is pending (fs/select.c, do_poll), and Go's
// scheduler sends signals.
func polled(fd int) bool {
	fds := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds[:], 0)
	for err == unix.EINTR {
		n, err = unix.Poll(fds[:], 0)
	}
	return err != nil || n > 0
}

func (d *masterCopy) close() {
	_ = unix.Close(d.slave)  // opened by us alone
	_ = unix.Close(d.master) // a copy
}
