//go:build amd64 || arm64

package local

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/backend"
)

func checkLook(t *testing.T, f *fake, numbers map[int]op, want backend.Wait, wantDetail string) {
	t.Helper()
	got, pid, detail := f.look(numbers)
	if got != want || !strings.Contains(detail, wantDetail) {
		t.Errorf("got %v, pid %d, %q; want %v, …%s…", got, pid, detail, want, wantDetail)
	}
}

// TestWaitsCalls goes through the calls of one thread.
func TestWaitsCalls(t *testing.T) {
	for _, c := range []struct {
		call, arm64 string // "" where the architecture has none such
		want        backend.Wait
		detail      string
	}{
		{"0 0 0 0 0 0 0", "63 0 0 0 0 0 0", exact, "a (b) c read fd 0"},
		{"19 0 0 0 0 0 0", "65 0 0 0 0 0 0", exact, "read fd 0"},
		{"0 5 0 0 0 0 0", "63 5 0 0 0 0 0", exact, "read fd 5"},
		{"0 d 0 0 0 0 0", "63 d 0 0 0 0 0", none, ""}, // another terminal
		{"0 3 0 0 0 0 0", "63 3 0 0 0 0 0", none, ""},
		{"0 63 0 0 0 0 0", "63 63 0 0 0 0 0", none, ""}, // no such descriptor
		{"1 0 0 0 0 0 0", "64 0 0 0 0 0 0", none, "write"},
		{"running", "running", busy, "running"},
		{"-1", "-1", none, "at work"},
		{"257 0 0 0 0 0 0", "56 0 0 0 0 0 0", none, "syscall"},
		{"230 0 0 0 0 0 0", "115 0 0 0 0 0 0", none, "sleep"},
		{"61 0 0 0 0 0 0", "260 0 0 0 0 0 0", none, "wait"},
		{"23 1 10 0 0 0 0", "72 1 10 0 0 0 0", exact, "select fd 0"},
		{"270 8 18 0 0 0 0", "72 8 18 0 0 0 0", exact, "select fd 0"},
		{"270 8 0 10 0 0 0", "72 8 0 10 0 0 0", none, "select"},
		{"270 8 0 0 10 0 0", "72 8 0 0 10 0 0", none, "select"},
		{"270 8 38 0 0 0 0", "72 8 38 0 0 0 0", none, "select"},
		{"270 8 20 0 0 0 0", "72 8 20 0 0 0 0", open, "and others"},
		{"270 1 10 0 0 28 0", "72 1 10 0 0 28 0", timed, "with a timer"},
		{"270 1 10 0 0 30 0", "72 1 10 0 0 30 0", timed, "with a timer"}, // also a long one
		{"270 1 10 0 0 99 0", "72 1 10 0 0 99 0", timed, ""},             // also an unreadable one
		{"270 1 99 0 0 0 0", "72 1 99 0 0 0 0", none, ""},
		{"7 40 3 ffffffff 0 0 0", "73 40 3 0 0 0 0", exact, "poll fd 0"},
		{"7 40 3 1f4 0 0 0", "73 40 3 28 0 0 0", timed, "poll fd 0"},
		{"271 48 2 0 0 0 0", "73 48 2 0 0 0 0", none, "poll"},
		{"271 50 1 0 0 0 0", "73 50 1 0 0 0 0", none, "poll"},
		{"271 58 2 0 0 0 0", "73 58 2 0 0 0 0", open, "poll fd 0 and others"}, // a master that nobody uses
		{"271 99 2 0 0 0 0", "73 99 2 0 0 0 0", none, ""},
		{"232 9 0 8 ffffffff 0 0", "22 9 0 8 ffffffff 0 0", exact, "epoll fd 0"},
		{"281 9 0 8 64 0 0", "22 9 0 8 64 0 0", timed, "epoll fd 0"},
		{"441 9 0 8 0 0 0", "441 9 0 8 0 0 0", exact, "epoll fd 0"},
		{"441 9 0 8 28 0 0", "441 9 0 8 28 0 0", timed, "epoll fd 0"},
		{"232 a 0 8 ffffffff 0 0", "22 a 0 8 ffffffff 0 0", exact, "epoll fd 0"}, // nested
		{"232 e 0 8 ffffffff 0 0", "22 e 0 8 ffffffff 0 0", open, "epoll fd 0"},  // a number reused
		{"42 4 0 0 0 0 0", "203 4 0 0 0 0 0", none, "socket"},
	} {
		t.Run(c.call, func(t *testing.T) { checkLook(t, furnished(c.call), numbersAMD64, c.want, c.detail) })
		if c.arm64 != "" {
			f := furnished(c.arm64)
			f.files["60/task/60/syscall"] = "260 ffffffff 0 0 0 0 0 0x7ffd00000000 0x7f0000000000\n"
			t.Run("arm64 "+c.arm64, func(t *testing.T) { checkLook(t, f, numbersARM64, c.want, c.detail) })
		}
	}
}

// TestWaitsSecondThread goes through what a thread beside the reader may do.
func TestWaitsSecondThread(t *testing.T) {
	for _, c := range []struct {
		call string
		want backend.Wait
	}{
		{"202 0 80 0 0 0 0", exact},  // FUTEX_WAIT
		{"202 0 80 0 28 0 0", timed}, // 5 s
		{"202 0 80 0 30 0 0", exact}, // 60 s: Go's sysmon
		{"202 0 89 0 28 0 0", timed}, // FUTEX_WAIT_BITSET: 5 s after the machine started
		{"61 0 0 0 0 0 0", exact},
		{"130 0 0 0 0 0 0", exact},
		{"34 0 0 0 0 0 0", exact},
		{"128 0 0 28 0 0 0", timed},
		{"0 3 0 0 0 0 0", exact},  // a pipe
		{"0 c 0 0 0 0 0", open},   // a named pipe
		{"0 b 0 0 0 0 0", open},   // a disk
		{"0 4 0 0 0 0 0", open},   // a socket
		{"0 7 0 0 0 0 0", exact},  // an eventfd
		{"0 8 0 0 0 0 0", open},   // a timerfd
		{"0 6 0 0 0 0 0", open},   // a master
		{"230 0 0 0 0 0 0", open}, // a sleep, however long
		{"257 0 0 0 0 0 0", open},
		{"-1", open},
		{"running", open},
		{"0 0 0 0 0 0 0", exact}, // two readers
	} {
		t.Run(c.call, func(t *testing.T) { checkLook(t, furnished("0 0 0 0 0 0 0", c.call), numbersAMD64, c.want, "") })
	}
}

// TestWaitsGroup goes through what other processes mean for a reader.
func TestWaitsGroup(t *testing.T) {
	const reads, waitsFor, sleeps = "0 0 0 0 0 0 0", "61 0 0 0 0 0 0", "230 0 0 0 0 0 0"
	for name, c := range map[string]struct {
		change func(f *fake)
		want   backend.Wait
		pid    int
	}{
		"alone":          {func(*fake) {}, exact, 100},
		"pipeline":       {func(f *fake) { f.process(101, fakeShell, 100, fakeShell, "0 0 0 0 0 0 0") }, exact, 100},
		"sleeper":        {func(f *fake) { f.process(101, fakeShell, 100, fakeShell, sleeps) }, open, 100},
		"runner":         {func(f *fake) { f.process(101, fakeShell, 100, fakeShell, "running") }, open, 100},
		"orphan":         {func(f *fake) { f.process(101, fakeGuard, 100, fakeShell, sleeps) }, open, 100},
		"background job": {func(f *fake) { f.process(101, fakeShell, 101, fakeShell, "running") }, exact, 100},
		"shell at work":  {func(f *fake) { f.files["60/task/60/syscall"] = "running\n" }, open, 100},
		"shell forks":    {func(f *fake) { f.files["60/task/60/syscall"] = "58 0 0 0 0 0 0 0x7f0000000000 0x7f0000000000\n" }, open, 100},
		"stopped":        {func(f *fake) { f.state(100, 100, 'T', fakeTTY) }, halted, 100},
		"traced":         {func(f *fake) { f.state(100, 100, 't', fakeTTY) }, halted, 100},
		"woken":          {func(f *fake) { f.state(100, 100, 'R', fakeTTY) }, busy, 100},
		"leader dead": {func(f *fake) {
			f.state(100, 100, 'Z', fakeTTY)
			f.files["100/task/100/syscall"] = "-1 0x0 0x0\n"
			f.process(101, fakeShell, 100, fakeShell, reads)
		}, exact, 101},
		"denied": {func(f *fake) { f.errs["100/task/100/syscall"] = unix.EPERM }, backend.WaitDenied, 100},
		"another denied": {func(f *fake) {
			f.process(101, fakeShell, 100, fakeShell, reads)
			f.errs["101/task/101/syscall"] = unix.EPERM
		}, backend.WaitDenied, 100},
		"32 bits": {func(f *fake) { f.files["100/task/100/syscall"] = "3 0x0 0x1 0x1 0x0 0x0 0x0 0xffd00000 0xf7f00000\n" }, backend.WaitUnknown, 100},
		"foreground lost": {func(f *fake) {
			f.files["100/task/100/stat"] = strings.Replace(f.files["100/task/100/stat"], " 100 0 0", " 60 0 0", 1)
		}, busy, 100},
		"/dev/tty of another": {func(f *fake) {
			f.files["100/task/100/syscall"] = "0 5 0 0 0 0 0 0x7f0000000000 0x7f0000000000\n"
			f.fd(100, 5, unix.S_IFCHR, devTTY, "")
			f.state(100, 100, 'S', 0x8806)
		}, none, 100},
		"su -c": {func(f *fake) {
			f.files["100/task/100/syscall"] = waitsFor + " 0x7f0000000000 0x7f0000000000\n"
			f.process(101, 100, 101, 101, reads)
			f.state(101, 101, 'S', 0)
		}, exact, 101},
		"su -c sleep": {func(f *fake) {
			f.files["100/task/100/syscall"] = waitsFor + " 0x7f0000000000 0x7f0000000000\n"
			f.process(101, 100, 101, 101, sleeps)
			f.state(101, 101, 'S', 0)
		}, none, 100},
		"daemon of the shell": {func(f *fake) {
			f.files["100/task/100/syscall"] = sleeps + " 0x7f0000000000 0x7f0000000000\n"
			f.process(101, fakeShell, 101, 101, reads)
			f.state(101, 101, 'S', 0)
		}, none, 100},
		"pipe to a child outside": {func(f *fake) {
			f.fd(100, 3, unix.S_IFIFO, 0, "")
			f.mem[0x18] = words(1 | 1<<3)
			f.files["100/task/100/syscall"] = "270 4 18 0 0 0 0 0x7f0000000000 0x7f0000000000\n"
			f.process(101, 100, 101, fakeShell, sleeps)
		}, open, 100},
		"pipe, and a dead child outside": {func(f *fake) {
			f.fd(100, 3, unix.S_IFIFO, 0, "")
			f.mem[0x18] = words(1 | 1<<3)
			f.files["100/task/100/syscall"] = "270 4 18 0 0 0 0 0x7f0000000000 0x7f0000000000\n"
			f.process(101, 100, 101, fakeShell, "-1")
			f.state(101, 101, 'Z', 0)
		}, exact, 100},
		"none of the session's": {func(f *fake) { f.files["60/task/60/children"] = "" }, busy, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			f.process(100, fakeShell, 100, fakeShell, reads)
			c.change(f)
			wait, pid, detail := f.look(numbersAMD64)
			if wait != c.want || pid != c.pid {
				t.Errorf("got %v, pid %d (%s), want %v, pid %d", wait, pid, detail, c.want, c.pid)
			}
		})
	}
}

// changing is a fake in which something happens between two reads of a file.
type changing struct {
	*fake
	path   string
	reads  int
	change func()
}

func (c *changing) read(path, buf []byte, keep bool) (int, error) {
	if key(path) == c.path {
		if c.reads--; c.reads == 0 {
			c.change()
		}
	}
	return c.fake.read(path, buf, keep)
}

// TestWaitsChangeDuringLook: what happens while one looks makes it a miss.
func TestWaitsChangeDuringLook(t *testing.T) {
	const reads, futex = "0 0 0 0 0 0 0", "202 0 80 0 0 0 0"
	for name, change := range map[string]func(f *fake){
		"ran":      func(f *fake) { f.files["100/task/1100/schedstat"] = "1 2 4\n" },
		"woken":    func(f *fake) { f.state(100, 1100, 'R', fakeTTY) },
		"thread":   func(f *fake) { f.tasks["100/task"] = []int{100, 1100, 2100, 3100} },
		"vanished": func(f *fake) { delete(f.inodes, "100/task") },
	} {
		t.Run(name, func(t *testing.T) {
			f := furnished(futex, futex, reads)
			c := &changing{fake: f, path: "100/task/2100/syscall", reads: 1, change: func() { change(f) }}
			w := &waits{root: fakeShell, start: fakeGuard, numbers: numbersAMD64, pipes: fakePipes, rdev: fakeTTY}
			w.proc.kernel = c
			if wait, _, detail := w.look(100); wait != busy {
				t.Errorf("got %v (%s), want busy", wait, detail)
			}
		})
	}
}

// TestWaitsRing reads what the kernel shows of an io_uring.
func TestWaitsRing(t *testing.T) {
	const head, poll = "SqHead:\t2\nCachedSqHead:\t2\nCqTail:\t0\nCachedCqTail:\t", "PollList:\n  op=22, task_works=0\n"
	for text, want := range map[string]ring{
		head + "1\n" + poll:                           {inFlight: 1, polled: 1, reads: 1},
		head + "0\n" + poll:                           {inFlight: 2, polled: 1, reads: 1},
		head + "1\nPollList:\n  op=9, task_works=0\n": {inFlight: 1, polled: 1},
		head + "2\nPollList:\n":                       {},
	} {
		if got, ok := parseRing([]byte(text)); !ok || got != want {
			t.Errorf("got %+v, %v, want %+v, from %q", got, ok, want, text)
		}
	}
	if _, ok := parseRing([]byte("pos:\t0\n")); ok {
		t.Error("an old kernel's fdinfo was understood")
	}
}

// fakeInner is the other side of a made-up master.
type fakeInner struct{ input, output bool }

func (f fakeInner) device() (rdev, dev uint64) { return 0x8807, 0 }
func (f fakeInner) foreground() int            { return 200 }
func (f fakeInner) unread() bool               { return f.input }
func (f fakeInner) pending() bool              { return f.output }
func (f fakeInner) close()                     {}

// TestWaitsInner goes through what is behind a program that relays.
func TestWaitsInner(t *testing.T) {
	const reads, sleeps = "0 0 0 0 0 0 0", "230 0 0 0 0 0 0"
	for name, c := range map[string]struct {
		inner fakeInner
		call  string // of the program there
		set   uint64 // that the relay waits for
		want  backend.Wait
		pid   int
	}{
		"waits":          {fakeInner{}, reads, 1 | 1<<6, exact, 200},
		"sleeps":         {fakeInner{}, sleeps, 1 | 1<<6, none, 200},
		"runs":           {fakeInner{}, "running", 1 | 1<<6, busy, 200},
		"input on way":   {fakeInner{input: true}, reads, 1 | 1<<6, busy, 100},
		"output on way":  {fakeInner{output: true}, reads, 1 | 1<<6, busy, 200},
		"sudo's socket":  {fakeInner{}, reads, 1 | 1<<6 | 1<<4, exact, 200},
		"timer of relay": {fakeInner{}, reads, 1 | 1<<6 | 1<<8, open, 100},
	} {
		t.Run(name, func(t *testing.T) {
			f := furnished("270 9 18 0 0 0 0")
			f.mem[0x18] = words(c.set)
			f.files["100/fdinfo/6"] = "pos:\t0\nflags:\t02\ntty-index:\t7\n"
			f.process(200, 100, 200, 200, c.call)
			f.fd(200, 0, unix.S_IFCHR, 0x8807, "")
			f.state(200, 200, 'S', 0x8807)
			stat := "200/task/200/stat"
			f.files[stat] = strings.Replace(f.files[stat], " 100 0 0", " 200 0 0", 1)
			w := &waits{root: fakeShell, start: fakeGuard, numbers: numbersAMD64, pipes: fakePipes, rdev: fakeTTY,
				dup: func(int, int) (innerPTY, error) { return c.inner, nil }}
			w.proc.kernel = f
			if wait, pid, detail := w.look(100); wait != c.want || pid != c.pid {
				t.Errorf("got %v, pid %d (%s), want %v, pid %d", wait, pid, detail, c.want, c.pid)
			}
		})
	}
}
