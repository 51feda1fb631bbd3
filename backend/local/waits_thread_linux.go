//go:build amd64 || arm64

package local

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// op is a kind of system call, the same on every architecture.
type op uint8

const (
	opOther op = iota // no wait that waits knows
	opRead            // read, readv, preadv2
	opWrite
	opSplice
	opSendfile
	opSelect
	opPselect
	opPoll
	opPpoll
	opEpoll  // epoll_wait, epoll_pwait
	opEpoll2 // epoll_pwait2
	opUring
	opFutex
	opFutexWait
	opFutexWaitv
	opWait4
	opWaitid
	opSigsuspend
	opPause
	opSigtimedwait
	opRestart
	opNanosleep
	opSocket
)

// String names the call for Probe.Detail.
func (o op) String() string {
	return [...]string{"other", "read", "write", "splice", "sendfile", "select", "select", "poll", "poll",
		"epoll", "epoll", "io_uring", "futex", "futex", "futex", "wait", "wait", "sigsuspend", "pause",
		"sigtimedwait", "restart", "sleep", "socket"}[o]
}

// wakes is what can make a thread go on.
type wakes uint16

const (
	byTerminal wakes = 1 << iota // input on the terminal looked at
	byTimer                      // its own time-out
	byMaster                     // the master side of another pseudo-terminal
	bySocket
	byOutside // anything else that is not the group's own: devices, timerfd, sleep
	byPipe    // closed, unless somebody outside the group may hold the other end
	byChild   // closed, unless there are children outside the group
	atWork    // in a call that is no wait, or in a page fault: goes on by itself
	onCPU     // runs, or is about to
	denied    // another user's: not to be looked into
	foreign   // a 32-bit program; its call numbers are others
)

// thread is one thread as it was seen.
type thread struct {
	pid, tid int
	runs     uint64 // proc.runs before the call was read
	call     call
	op       op
	wakes    wakes
	limit    time.Duration // of byTimer
	fd       int           // of byTerminal
	master   int           // of byMaster
}

// ignoreTimer is the time-out from which on a thread that does not wait for the
// terminal itself counts as having none: Go parks its sysmon for 60 s, so
// without it no Go program would ever be seen to wait for nothing else.
const ignoreTimer = 30 * time.Second

// examine sees what a thread waits for. It returns false for one that is gone.
//
// The count of runs comes first: if it is the same at the end (see confirm),
// the memory and the descriptors that were looked at are those of this wait.
func (w *waits) examine(pid, tid int) (thread, bool) {
	t := thread{pid: pid, tid: tid, fd: -1, master: -1}
	var err error
	if t.runs, err = w.proc.runs(pid, tid); err == nil {
		t.call, err = w.proc.call(pid, tid)
	}
	if err != nil || t.call.number < 0 && !t.call.running {
		// A zombie shows -1, or EPERM when it was another user's.
		if st, err := w.proc.status(pid, tid); gone(err) || err == nil && st.dead() {
			return t, false
		}
	}
	switch {
	case gone(err):
		return t, false
	case err == unix.EPERM || err == unix.EACCES:
		t.wakes = denied
	case err != nil || t.call.running:
		t.wakes = onCPU
	case t.call.number < 0:
		t.wakes = atWork
	case t.call.sp < 1<<32 && t.call.pc < 1<<32:
		t.wakes = foreign
	default:
		t.op = w.numbers[t.call.number]
		w.classify(&t)
	}
	return t, true
}

// gone reports whether err means that the thread has ended meanwhile.
func gone(err error) bool { return err == unix.ENOENT || err == unix.ESRCH }

// classify fills in what can wake t from its call's arguments.
func (w *waits) classify(t *thread) {
	a := &t.call.args
	switch t.op {
	case opRead:
		w.descriptor(t, int(int32(a[0])), unix.POLLIN)
	case opWrite:
		w.descriptor(t, int(int32(a[0])), unix.POLLOUT)
	case opSplice:
		w.transfer(t, int(int32(a[0])))
	case opSendfile:
		w.transfer(t, int(int32(a[1])))
	case opSelect, opPselect:
		w.selectSets(t, int(int32(a[0])), a[1], a[2], a[3])
		w.timeout(t, a[4], t.op == opSelect)
	case opPoll:
		w.pollSet(t, a[0], a[1])
		t.milliseconds(int32(a[2]))
	case opPpoll:
		w.pollSet(t, a[0], a[1])
		w.timeout(t, a[2], false)
	case opEpoll, opEpoll2:
		w.epoll(t, int(int32(a[0])), 0)
		if t.op == opEpoll {
			t.milliseconds(int32(a[3]))
		} else {
			w.timeout(t, a[3], false)
		}
	case opUring:
		w.uring(t, int(int32(a[0])), a[3], a[4])
	case opFutex, opFutexWait, opFutexWaitv:
		w.futex(t)
	case opWait4, opWaitid, opSigsuspend, opPause:
		t.wakes |= byChild
	case opSigtimedwait:
		t.wakes |= byChild
		w.timeout(t, a[2], false)
	case opRestart:
		w.restart(t)
	case opNanosleep:
		t.wakes |= byOutside
	case opSocket:
		t.wakes |= bySocket
	default:
		t.wakes |= atWork
	}
}

// transfer is splice(2) or sendfile(2) from fd. They may just as well be held
// up on the side they write to; the kernel function tells.
func (w *waits) transfer(t *thread, fd int) {
	if w.sleepsIn(t, "wait_woken") {
		w.descriptor(t, fd, unix.POLLIN)
	} else {
		t.wakes |= byPipe
	}
}

// sleepsIn reports whether the kernel function that t sleeps in
// (/proc/P/task/T/wchan) begins with name; compilers append suffixes.
func (w *waits) sleepsIn(t *thread, name string) bool {
	n, err := w.proc.read(w.proc.at(t.pid, t.tid, "/wchan"), w.proc.text[:], false)
	return err == nil && bytes.HasPrefix(w.proc.text[:n], []byte(name))
}

// restart is restart_syscall(2), in which calls with a time-out continue after
// the program was stopped. The arguments are those of the call it continues;
// of those only poll(2) can wait for the terminal.
func (w *waits) restart(t *thread) {
	if !w.sleepsIn(t, "poll_schedule_timeout") {
		t.wakes |= byOutside
		return
	}
	w.pollSet(t, t.call.args[0], t.call.args[1])
	t.milliseconds(int32(t.call.args[2]))
}

// futex is a wait for another thread: closed, but for its time-out. FUTEX_WAIT
// has a relative one, all others an absolute one (futex(2)).
func (w *waits) futex(t *thread) {
	a, relative, realtime, at := &t.call.args, false, false, uint64(0)
	switch t.op {
	case opFutex:
		const cmdMask = 127 // without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME
		command := a[1] & cmdMask
		relative = command == 0                  // FUTEX_WAIT
		realtime = a[1]&256 != 0 || command == 6 // FUTEX_LOCK_PI's clock is real time
		at = a[3]
	case opFutexWait:
		at, realtime = a[4], a[5] == unix.CLOCK_REALTIME
	case opFutexWaitv:
		at, realtime = a[3], a[4] == unix.CLOCK_REALTIME
	}
	w.timeout(t, at, false)
	if t.wakes&byTimer == 0 || relative {
		return
	}
	clock := int32(unix.CLOCK_MONOTONIC)
	if realtime {
		clock = unix.CLOCK_REALTIME
	}
	var now unix.Timespec
	if unix.ClockGettime(clock, &now) == nil {
		t.limit -= time.Duration(now.Nano())
	}
}

// timeout adds the time-out that a pointer to a timespec, or a timeval, gives.
func (w *waits) timeout(t *thread, at uint64, micro bool) {
	if at == 0 {
		return
	}
	t.wakes |= byTimer
	b := w.small[:16]
	if w.proc.memory(t.pid, at, b) != nil {
		return // some time-out: limit 0
	}
	sec, part := binary.NativeEndian.Uint64(b), binary.NativeEndian.Uint64(b[8:])
	if micro {
		part *= 1000
	}
	const longest = 1 << 31 // a time-out of 68 years and more would overflow
	t.limit = time.Duration(min(sec, longest))*time.Second + time.Duration(part)
}

// milliseconds adds the time-out of poll and epoll_wait; negative is none.
func (t *thread) milliseconds(ms int32) {
	if ms >= 0 {
		t.wakes |= byTimer
		t.limit = time.Duration(ms) * time.Millisecond
	}
}

// opText describes t's call: "select fd 0", "sleep", "syscall 257".
func (t *thread) opText() string {
	switch {
	case t.wakes&onCPU != 0:
		return "running"
	case t.wakes&denied != 0:
		return "not readable"
	case t.wakes&foreign != 0:
		return "32-bit program"
	case t.wakes&byTerminal != 0:
		return t.op.String() + " fd " + strconv.Itoa(t.fd)
	case t.op == opOther && t.call.number < 0:
		return "at work"
	case t.op == opOther:
		return "syscall " + strconv.Itoa(t.call.number)
	}
	return t.op.String()
}
