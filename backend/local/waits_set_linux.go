//go:build amd64 || arm64

package local

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"golang.org/x/sys/unix"
)

// Device numbers as stat(2) and proc(5) encode them.
const (
	devTTY  = 5 << 8   // /dev/tty: the reader's own controlling terminal
	devPtmx = 5<<8 | 2 // /dev/ptmx: the master of a pseudo-terminal
)

// The poll events of terminal input and of room for output: POLLIN and
// POLLRDNORM, POLLOUT and POLLWRNORM (asm-generic/poll.h).
const (
	readable = unix.POLLIN | 0x40
	writable = unix.POLLOUT | 0x100
)

// descriptor adds what waiting for events on fd means for t.
func (w *waits) descriptor(t *thread, fd int, events uint32) {
	f, err := w.proc.stat(w.proc.file(t.pid, fd, "/fd/"))
	if err != nil {
		t.wakes |= byOutside // cannot be seen
		return
	}
	switch f.mode & unix.S_IFMT {
	case unix.S_IFCHR:
		w.device(t, fd, f, events)
	case unix.S_IFIFO:
		// A named pipe has an end that anybody may open.
		switch {
		case f.dev == w.pipes:
			t.wakes |= byPipe
		case !w.notifier(t.pid, fd):
			t.wakes |= byOutside
		}
	case unix.S_IFSOCK:
		t.wakes |= bySocket
	case unix.S_IFREG, unix.S_IFDIR, unix.S_IFBLK:
		t.wakes |= atWork // a disk is not waited for, it works
	default:
		w.anonymous(t, fd, events, 0)
	}
}

// notifier reports whether fd is the named pipe over which fish 3 tells its kind
// of changed variables. All that a change does is to draw the prompt anew.
func (w *waits) notifier(pid, fd int) bool {
	n, err := w.proc.link(w.proc.file(pid, fd, "/fd/"), w.proc.text[:])
	return err == nil && bytes.HasSuffix(w.proc.text[:n], []byte("/fish_universal_variables.notifier"))
}

// device is descriptor for a character device.
func (w *waits) device(t *thread, fd int, f inode, events uint32) {
	switch {
	case w.isTerminal(t.pid, f):
		if events&readable != 0 {
			t.wakes |= byTerminal
			t.fd = fd
		}
		if events&writable != 0 {
			t.wakes |= byOutside // whoever reads the output
		}
	case f.rdev == devPtmx && events&writable == 0 && t.master < 0:
		t.wakes |= byMaster
		t.master = fd
	default:
		t.wakes |= byOutside
	}
}

// isTerminal reports whether f is the terminal that is looked at. /dev/tty is,
// for a process that has it as its controlling terminal.
func (w *waits) isTerminal(pid int, f inode) bool {
	if f.rdev == w.rdev {
		return w.devpts == 0 || f.dev == w.devpts
	}
	if f.rdev != devTTY {
		return false
	}
	st, err := w.proc.status(pid, pid)
	return err == nil && st.tty == w.rdev
}

// anonymous is descriptor for what has no file type: eventfd and its like. The
// link's text tells them apart. Of an inotify it is known that a file has to
// change first, which shells use to hear from their own kind (fish).
func (w *waits) anonymous(t *thread, fd int, events uint32, depth int) {
	n, err := w.proc.link(w.proc.file(t.pid, fd, "/fd/"), w.small[:])
	if err != nil {
		t.wakes |= byOutside
		return
	}
	switch string(w.small[:n]) {
	case "anon_inode:[eventfd]", "anon_inode:[signalfd]", "anon_inode:inotify", "anon_inode:[inotify]":
	case "anon_inode:[eventpoll]":
		w.epoll(t, fd, depth+1)
	case "anon_inode:[io_uring]":
		if r, ok := w.ring(t.pid, fd); !ok || r.inFlight != 0 {
			t.wakes |= byOutside
		}
	default:
		t.wakes |= byOutside
	}
}

// selectSets goes through the sets of select(2). They are bits in words, so
// the same bytes on every little-endian system.
func (w *waits) selectSets(t *thread, n int, in, out, except uint64) {
	if n < 0 || n > 8*len(w.sets[0]) {
		t.wakes |= byOutside
		return
	}
	size := (n + 63) / 64 * 8
	for i, at := range [...]uint64{in, out, except} {
		clear(w.sets[i][:size])
		if at != 0 && size > 0 && w.proc.memory(t.pid, at, w.sets[i][:size]) != nil {
			t.wakes |= byOutside
			return
		}
	}
	for at := 0; at < size; at += 8 {
		in, out := binary.LittleEndian.Uint64(w.sets[0][at:]), binary.LittleEndian.Uint64(w.sets[1][at:])
		for all := in | out | binary.LittleEndian.Uint64(w.sets[2][at:]); all != 0; all &= all - 1 {
			bit := bits.TrailingZeros64(all)
			events := uint32(in>>bit&1)*unix.POLLIN | uint32(out>>bit&1)*unix.POLLOUT
			if fd := at*8 + bit; fd < n {
				w.descriptor(t, fd, events)
			}
		}
	}
}

// pollSet goes through an array of struct pollfd: int fd, short events, short
// revents (poll(2)).
func (w *waits) pollSet(t *thread, at, n uint64) {
	b := w.sets[0][:]
	if n*8 > uint64(len(b)) || n > 0 && w.proc.memory(t.pid, at, b[:n*8]) != nil {
		t.wakes |= byOutside
		return
	}
	// descriptor does not use w.sets.
	for b = b[:n*8]; len(b) >= 8; b = b[8:] {
		if fd := int(int32(binary.NativeEndian.Uint32(b))); fd >= 0 {
			w.descriptor(t, fd, uint32(binary.NativeEndian.Uint16(b[4:])))
		}
	}
}

// interest is one member of an epoll set.
type interest struct {
	fd     int
	events uint32
	ino    uint64
}

// epoll goes through the interest list of an epoll, which its fdinfo shows
// (proc_pid_fdinfo(5)). The kernel allows five levels of nesting.
func (w *waits) epoll(t *thread, fd, depth int) {
	n, err := w.proc.read(w.proc.file(t.pid, fd, "/fdinfo/"), w.proc.text[:], false)
	if err != nil || n == len(w.proc.text) || depth > 5 {
		t.wakes |= byOutside // cannot be seen, or not all of it
	}
	if err != nil || depth > 5 {
		return
	}
	first := len(w.interests)
	w.interests = appendInterests(w.interests, w.proc.text[:n])
	for i := first; i < len(w.interests); i++ {
		w.member(t, w.interests[i], depth)
	}
	w.interests = w.interests[:first]
}

// member adds one member of an epoll set. The number it was added under may
// mean another file by now; the inode tells.
func (w *waits) member(t *thread, m interest, depth int) {
	const flags = 1<<28 | 1<<29 | 1<<30 | 1<<31 // EXCLUSIVE, WAKEUP, ONESHOT, ET
	if m.events&^flags == 0 {
		return // a one-shot that has fired
	}
	f, err := w.proc.stat(w.proc.file(t.pid, m.fd, "/fd/"))
	switch {
	case err != nil || f.ino != m.ino:
		t.wakes |= byOutside
	case f.mode&unix.S_IFMT == 0:
		w.anonymous(t, m.fd, m.events, depth)
	default:
		w.descriptor(t, m.fd, m.events)
	}
}

// appendInterests reads the lines "tfd: 0 events: 19 data: 0 pos:0 ino:3 sdev:18".
// Events and inode are hexadecimal.
func appendInterests(list []interest, text []byte) []interest {
	for line := range bytes.Lines(text) {
		rest, ok := bytes.CutPrefix(line, []byte("tfd:"))
		if !ok {
			continue
		}
		fd, rest := number(bytes.TrimLeft(rest, " "))
		_, rest, _ = bytes.Cut(rest, []byte("events:"))
		events, rest := hex(rest)
		_, rest, _ = bytes.Cut(rest, []byte("ino:"))
		ino, _ := hex(rest)
		list = append(list, interest{int(fd), uint32(events), ino})
	}
	return list
}
