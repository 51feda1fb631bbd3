//go:build amd64 || arm64

package local

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// maxDescriptors bounds how many descriptors of a process are looked at: a
// server opens its listening socket before its clients come.
const maxDescriptors = 1024

// clockTick is the unit of CPU times in /proc (proc(5): sysconf(_SC_CLK_TCK),
// which is 100 on every architecture that waits knows).
const clockTick = time.Second / 100

// serves reports whether a process of the foreground group pgid, or of a
// session inside it, has a listening socket, and what CPU time they have used,
// children that have ended included. Calls must be serialised by the caller.
func (w *waits) serves(pgid int) (yes bool, used time.Duration, err error) {
	if w.unsupported || pgid <= 0 {
		return false, 0, nil
	}
	if err := w.walk(); err != nil {
		return false, 0, err
	}
	w.list = w.inside(w.members(&group{pgid: pgid}, w.list[:0]))
	for _, pid := range w.list {
		var cpu time.Duration
		if w.ids, err = w.proc.tasks(pid, w.ids[:0]); err == nil {
			cpu, err = w.proc.used(pid, w.ids)
		}
		if ignoreGone(err) != nil {
			return false, 0, err
		}
		used += cpu
		yes = yes || w.listens(pid)
	}
	return yes, used, nil
}

// inside appends to list the descendants of its members that are in another
// session with a terminal of its own, and theirs: what sudo and script run. A
// session without one is a daemon's as a rule, which is not what the group does.
func (w *waits) inside(list []int) []int {
	if len(list) == 0 {
		return list
	}
	session := w.tree[w.find(list[0])].session
	for _, n := range w.tree {
		if n.parent < 0 || n.session == session || !slices.Contains(list, w.tree[n.parent].pid) {
			continue
		}
		if st, err := w.proc.status(n.pid, n.pid); err == nil && st.tty != 0 {
			list = append(list, n.pid)
		}
	}
	return list
}

// listens reports whether one of a process's descriptors is a listening socket.
func (w *waits) listens(pid int) bool {
	var err error
	if w.fds, err = w.proc.list(w.proc.at(pid, 0, "/fd"), w.fds[:0]); err != nil {
		return false // ended, or another user's
	}
	for _, fd := range w.fds[:min(len(w.fds), maxDescriptors)] {
		i, err := w.proc.stat(w.proc.file(pid, fd, "/fd/"))
		if err == nil && i.mode&unix.S_IFMT == unix.S_IFSOCK && w.accepts(pid, fd) {
			return true
		}
	}
	return false
}

// socketAccepts reports whether a socket of another process listens, by way of
// a copy of the descriptor (pidfd_getfd(2), Linux 5.6). Whatever cannot be
// copied does not count.
func socketAccepts(pid, fd int) bool {
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(process)
	socket, err := unix.PidfdGetfd(process, fd, 0)
	if err != nil {
		return false
	}
	defer unix.Close(socket)
	n, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	return err == nil && n != 0
}
