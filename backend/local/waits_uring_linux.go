//go:build amd64 || arm64

package local

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// ring is what the fdinfo of an io_uring shows (io_uring/fdinfo.c).
type ring struct {
	inFlight uint32 // requests taken that have no completion yet
	polled   uint32 // of those, the ones that wait for a descriptor
	reads    uint32 // of those, the ones that read or poll
}

func (w *waits) ring(pid, fd int) (ring, bool) {
	n, err := w.proc.read(w.proc.file(pid, fd, "/fdinfo/"), w.proc.text[:], false)
	if err != nil || n == len(w.proc.text) {
		return ring{}, false
	}
	return parseRing(w.proc.text[:n])
}

// parseRing reads the counts of requests taken and completed, and PollList. It
// is false for a kernel that does not show them.
func parseRing(text []byte) (ring, bool) {
	var r ring
	var taken, completed, list bool
	for line := range bytes.Lines(text) {
		key, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimLeft(value, " \t")
		switch string(key) {
		case "CachedSqHead":
			n, _ := number(value)
			r.inFlight += uint32(n)
			taken = true
		case "CachedCqTail":
			n, _ := number(value)
			r.inFlight -= uint32(n)
			completed = true
		case "PollList":
			list = true
		}
		if op, ok := bytes.CutPrefix(line, []byte("  op=")); ok && list {
			r.polled++
			switch n, _ := number(op); n {
			case 1, 4, 6, 22, 49: // READV, READ_FIXED, POLL_ADD, READ, READ_MULTISHOT
				r.reads++
			}
		}
	}
	return r, taken && completed && list
}

// uring adds io_uring_enter(2). Which descriptors the requests are for is not
// shown, so all that the process has count. A request that is in flight but
// not in the list is something else, such as a time-out of the ring.
func (w *waits) uring(t *thread, fd int, flags, arg uint64) {
	r, ok := w.ring(t.pid, fd)
	if !ok || r.inFlight != r.polled || r.polled != r.reads {
		t.wakes |= byOutside
	}
	w.uringTimeout(t, flags, arg)
	var err error
	w.fds, err = w.proc.list(w.proc.at(t.pid, 0, "/fd"), w.fds[:0])
	if !ok || err != nil {
		t.wakes |= byOutside
		return
	}
	for _, other := range w.fds {
		f, err := w.proc.stat(w.proc.file(t.pid, other, "/fd/"))
		kind := f.mode & unix.S_IFMT
		const memory = 1 // major number of /dev/null and its like
		if err == nil && (other == fd || kind == unix.S_IFREG || kind == unix.S_IFDIR ||
			kind == unix.S_IFCHR && f.rdev>>8 == memory) {
			continue // nothing that could be waited for
		}
		if r.reads > 0 || kind != unix.S_IFCHR {
			w.descriptor(t, other, unix.POLLIN)
		}
	}
}

// uringTimeout adds the time-out of IORING_ENTER_EXT_ARG's struct
// io_uring_getevents_arg: sigmask 8, sigmask_sz 4, min_wait 4, ts 8.
func (w *waits) uringTimeout(t *thread, flags, arg uint64) {
	const extArg = 1 << 3
	if flags&extArg == 0 || arg == 0 {
		return
	}
	b := w.small[:24]
	if w.proc.memory(t.pid, arg, b) != nil {
		t.wakes |= byTimer
		return
	}
	w.timeout(t, binary.NativeEndian.Uint64(b[16:]), false)
}
