//go:build amd64 || arm64

package local

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/backend"
)

// waits tells who waits for a session's terminal. It reads which system call
// each thread of the foreground group sleeps in (proc(5), /proc/P/syscall) and
// what those calls wait for.
//
// The caller must have seen that all input was read (poll of its own slave
// descriptor) before it looks. A wait that look sees has then begun after that,
// for the reader had to run to take its input.
type waits struct {
	root, start int        // the session's program; where walks begin
	numbers     map[int]op // this architecture's system calls
	pipes       uint64     // device number of pipes that have no name
	dup         func(pid, fd int) (innerPTY, error)
	accepts     func(pid, fd int) bool
	unsupported bool    // no /proc, or one without children
	procfs      *procfs // to be closed; nil in tests

	rdev   uint64 // the terminal under examination: the session's or an inner one
	devpts uint64 // the file system it is on, 0 when that is not known

	// Buffers, reused by every look.
	proc      proc
	tree      []node
	threads   []thread
	interests []interest
	ids, kids []int
	list      []int // group.list of the session's own terminal
	again     []int // the same at the end
	guard     []int // the threads of start
	fds       []int
	small     [64]byte
	sets      [3][8 << 10]byte // fd_set of 65536 descriptors, 1024 pollfds
}

// errInconsistent is a look that did not add up. It is a miss, not a fault.
var errInconsistent = errors.New("processes changed during the look")

// newWaits looks into the session whose own program is process root, on the
// terminal with device number rdev (st_rdev of the slave).
func newWaits(root int, rdev uint64) *waits {
	w := &waits{root: root, rdev: rdev, numbers: numbers, dup: dupMaster, accepts: socketAccepts}
	var err error
	if w.procfs, err = newProcfs(); err != nil {
		w.unsupported = true
		return w
	}
	w.proc.kernel = w.procfs
	w.start = w.top(root)
	w.pipes = pipeDevice()
	w.devpts = devptsOf(rdev)
	_, err = w.proc.children(root, root, nil)
	// Without CONFIG_PROC_CHILDREN a group cannot be told completely.
	_, alive := w.proc.status(root, root)
	w.unsupported = err != nil && alive == nil
	return w
}

// close frees what look keeps open.
func (w *waits) close() {
	if w.procfs != nil {
		w.procfs.close()
		w.procfs = nil
	}
	w.unsupported = true
}

// pipeDevice returns the device number that all pipes share.
func pipeDevice() uint64 {
	var fds [2]int
	if unix.Pipe2(fds[:], unix.O_CLOEXEC) != nil {
		return 0 // every pipe then counts as a named one
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	var st unix.Stat_t
	if unix.Fstat(fds[0], &st) != nil {
		return 0
	}
	return st.Dev
}

// devptsOf returns the device number of the file system that the terminal is
// on. Containers have a devpts of their own, with terminals of equal numbers.
func devptsOf(rdev uint64) uint64 {
	var st unix.Stat_t
	if unix.Stat("/dev/pts/"+ptsName(rdev), &st) != nil || st.Rdev != rdev {
		return 0
	}
	return st.Dev
}

// group is a foreground process group under examination.
type group struct {
	pgid  int
	top   int   // its processes descend from this one; 0: from the session's guard
	depth int   // of inner terminals
	first int   // its threads begin here in waits.threads
	list  []int // its processes, and after them the detached ones
	early bool  // the only process, and its parent, were examined before the walk
	calm  bool  // of early: the parent was asleep
}

// verdict is what a look came to, with the thread that decided it.
type verdict struct {
	wait  backend.Wait
	pid   int
	t     thread
	cause thread // what else can end the wait
	inner bool
}

// look classifies the foreground process group pgid. Calls must be serialised
// by the caller.
func (w *waits) look(pgid int) (wait backend.Wait, pid int, detail string) {
	if w.unsupported {
		return backend.WaitUnknown, 0, ""
	}
	if pgid <= 0 {
		return backend.WaitNone, 0, ""
	}
	w.threads = w.threads[:0]
	g := group{pgid: pgid, list: w.list[:0]}
	v := w.judge(&g)
	w.list = g.list
	return v.wait, v.pid, w.describe(v)
}

// judge looks at one group. It begins with the leader, which in most cases is
// the whole group, and its parent, and walks after that: had they started
// another process before they fell asleep, the walk would see it.
func (w *waits) judge(g *group) verdict {
	g.first = len(w.threads)
	if pgrp, _, err := w.proc.group(g.pgid); err == nil && pgrp == g.pgid {
		w.examineAll(g.pgid)
		if v, ok := w.running(g); ok && w.waiter(g) < 0 {
			return v
		}
	}
	early := len(w.threads) > g.first
	g.calm = early && w.calm(g)
	if w.walk() != nil {
		return verdict{wait: backend.WaitBusy}
	}
	g.list = w.members(g, g.list)
	if early && !slices.Contains(g.list, g.pgid) {
		return verdict{wait: backend.WaitBusy} // the leader ended meanwhile, or is none of ours
	}
	if len(g.list) == 0 {
		return w.nobody(g)
	}
	g.early = early && len(g.list) == 1
	w.examineRest(g, early)
	return w.decide(g)
}

// nobody is the verdict on a group without a process that can be seen: it has
// ended, or /proc is mounted to hide other users' processes (hidepid).
func (w *waits) nobody(g *group) verdict {
	if unix.Kill(-g.pgid, 0) == unix.EPERM {
		return verdict{wait: backend.WaitDenied, pid: g.pgid}
	}
	return verdict{wait: backend.WaitNone}
}

// examineRest examines the members but the leader, if that was done, and the
// detached ones if no member waits for the terminal.
func (w *waits) examineRest(g *group, early bool) {
	for _, pid := range g.list {
		if !early || pid != g.pgid {
			w.examineAll(pid)
		}
	}
	for _, t := range w.threads[g.first:] {
		if t.wakes&byTerminal != 0 {
			return
		}
	}
	n := len(g.list)
	g.list = w.detached(g.list)
	for _, pid := range g.list[n:] {
		w.examineAll(pid)
		g.early = false
	}
}

// examineAll examines all threads of a process.
func (w *waits) examineAll(pid int) {
	var err error
	if w.ids, err = w.proc.tasks(pid, w.ids[:0]); err != nil && !gone(err) {
		w.threads = append(w.threads, thread{pid: pid, tid: pid, wakes: onCPU})
	}
	for _, tid := range w.ids {
		if t, ok := w.examine(pid, tid); ok {
			w.threads = append(w.threads, t)
		}
	}
}

// confirm makes sure of an exact wait: that at one instant all threads were
// asleep at once, in the waits that were seen.
//
// A thread seen asleep may be woken by one that is examined later, which itself
// falls asleep before it is examined. So every thread is looked at again: if it
// sleeps, and has not been put on a CPU since before the first time, it has
// slept all along, and its call, memory and descriptors were those of this
// wait. The first round ended before the second began, so at the border all
// slept; at that border the processes are counted again, unless the only count
// was made after all that could start one had been seen asleep.
func (w *waits) confirm(g *group) bool {
	if !g.early {
		if w.walk() != nil {
			return false
		}
		list := w.members(g, w.again[:0])
		if len(list) != len(g.list) {
			list = w.detached(list)
		}
		w.again = list
		if !slices.Equal(list, g.list) {
			return false
		}
	}
	rest := w.threads[g.first:]
	for _, pid := range g.list {
		var err error
		if w.ids, err = w.proc.tasks(pid, w.ids[:0]); err != nil {
			return false
		}
		for _, tid := range w.ids {
			i := slices.IndexFunc(rest, func(t thread) bool { return t.tid == tid })
			if i < 0 && !w.dead(pid, tid) || i >= 0 && !w.same(&rest[i]) {
				return false
			}
		}
	}
	return true
}

// same reports whether t has slept since it was examined.
//
// That it sleeps is what stat says. A thread that was woken on an idle CPU is
// on that CPU's list of wake-ups first (TASK_WAKING, kernel/sched/core.c), and
// syscall still shows the call it slept in, with no run counted; only stat
// calls it R. One of 2000 sends found such a thread (TestWaitsNeverPremature).
func (w *waits) same(t *thread) bool {
	st, err := w.proc.status(t.pid, t.tid)
	if err != nil || st.state != 'S' {
		return false
	}
	runs, err := w.proc.runs(t.pid, t.tid)
	return err == nil && runs == t.runs
}

// dead reports whether a thread is only waiting to be buried.
func (w *waits) dead(pid, tid int) bool {
	st, err := w.proc.status(pid, tid)
	return err == nil && st.dead()
}

// describe puts a verdict into words for Probe.Detail.
func (w *waits) describe(v verdict) string {
	if v.t.pid == 0 {
		return ""
	}
	text := w.proc.name(v.t.pid) + v.t.opText()
	if v.inner {
		text += " of an inner terminal"
	}
	switch {
	case v.cause.pid == 0:
	case v.cause.tid != v.t.tid:
		text += "; " + w.proc.name(v.cause.pid) + v.cause.opText()
	case v.wait == backend.WaitTimed:
		text += " with a timer"
	case v.wait == backend.WaitOpen:
		text += " and others"
	}
	return text
}
