//go:build amd64 || arm64

package local

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/backend"
)

// needProgram returns the path of a program, and skips the test without it.
// With PTYKEEP_TEST_REQUIRE_ALL=1 it fails instead.
func needProgram(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv("PTYKEEP_TEST_REQUIRE_ALL") == "1" {
		t.Fatalf("program %s is missing: %v", name, err)
	}
	t.Skipf("program %s is missing", name)
	return ""
}

// patience bounds every wait of these tests.
const patience = 20 * time.Second

// session is a program on a terminal of its own, below a guard: the layout that
// waits is made for.
type session struct {
	t             testing.TB
	master, slave *os.File
	waits         *waits
	root          int
	read          chan struct{} // closed when the reader has ended; nil without

	mu   sync.Mutex
	out  bytes.Buffer
	more chan struct{} // closed and replaced when out grows
}

// startSession runs argv on a new terminal until the test ends, and collects
// what it writes.
func startSession(t testing.TB, argv ...string) *session {
	t.Helper()
	s := openSession(t, argv...)
	s.read = make(chan struct{})
	go func() { defer close(s.read); s.readAll() }() // ends when the last slave is closed
	return s
}

// openSession is startSession for a test that drains the terminal itself.
func openSession(t testing.TB, argv ...string) *session {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	pids, report, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	guard := exec.Command(os.Args[0], argv...)
	guard.Env = append(slices.DeleteFunc(os.Environ(), func(s string) bool {
		return strings.HasPrefix(s, "PROMPT_COMMAND=") || strings.HasPrefix(s, "ENV=")
	}), waitsHelper+"=guard", "TERM=xterm", "PS1=$ ", "HISTFILE=/dev/null", "NODE_REPL_HISTORY=", "HOME="+t.TempDir(),
		"SHELL="+needProgram(t, "bash")) // script and vim run it; where it is unset they take sh
	guard.Stdin = slave
	guard.Stderr = os.Stderr
	control, held, err := os.Pipe() // the guard ends when nobody holds it
	if err != nil {
		t.Fatal(err)
	}
	guard.ExtraFiles = []*os.File{report, control}
	if err := guard.Start(); err != nil {
		t.Fatal(err)
	}
	report.Close()
	control.Close()
	s := &session{t: t, master: master, slave: slave, more: make(chan struct{})}
	if _, err := fmt.Fscan(pids, &s.root); err != nil {
		t.Fatalf("starting %v: %v", argv, err)
	}
	pids.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(slave.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	s.waits = newWaits(s.root, st.Rdev)
	t.Cleanup(func() {
		s.waits.close()
		held.Close()
		if err := guard.Wait(); err != nil {
			t.Errorf("guard: %v", err)
		}
		slave.Close()
		if s.read != nil {
			<-s.read
		}
		master.Close()
	})
	return s
}

func (s *session) readAll() {
	buf := make([]byte, 4096)
	for {
		n, err := s.master.Read(buf)
		s.mu.Lock()
		s.out.Write(buf[:n])
		close(s.more)
		s.more = make(chan struct{})
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// send types text and forgets the output so far.
func (s *session) send(text string) {
	s.t.Helper()
	s.mu.Lock()
	s.out.Reset()
	s.mu.Unlock()
	if _, err := io.WriteString(s.master, text); err != nil {
		s.t.Fatal(err)
	}
}

// output returns what came since the last send, and the channel that is closed
// when more comes.
func (s *session) output() (string, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String(), s.more
}

// expect waits until text has come since the last send.
func (s *session) expect(text string) {
	s.t.Helper()
	deadline := time.After(patience)
	for {
		out, more := s.output()
		if strings.Contains(out, text) {
			return
		}
		select {
		case <-more:
		case <-deadline:
			s.t.Fatalf("no %q in %q", text, out)
		}
	}
}

// drain takes what the terminal has to give, without waiting for more.
func (s *session) drain() {
	s.t.Helper()
	buf := make([]byte, 4096)
	for polled(int(s.master.Fd())) {
		n, err := unix.Read(int(s.master.Fd()), buf)
		if err != nil {
			s.t.Fatal(err)
		}
		s.out.Write(buf[:n])
	}
}

// foreground is the group that look is asked about.
func (s *session) foreground() int {
	pgid, err := unix.IoctlGetInt(int(s.master.Fd()), unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return pgid
}

// look looks in the order that the caller of waits keeps: input first.
func (s *session) look() (backend.Wait, int, string) {
	if polled(int(s.slave.Fd())) {
		return backend.WaitBusy, 0, "unread input"
	}
	return s.waits.look(s.foreground())
}

// until looks until the wait is of kind want, seen in a program whose detail
// begins with by. With never, an exact wait on the way is an error.
func (s *session) until(want backend.Wait, by string, never bool) (pid int, detail string) {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		wait, pid, detail := s.look()
		if wait == want && strings.HasPrefix(detail, by) {
			return pid, detail
		}
		if wait == backend.WaitExact && never {
			out, _ := s.output()
			s.t.Fatalf("exact (%s) where nothing waits; output %q", detail, out)
		}
		if time.Now().After(deadline) {
			out, _ := s.output()
			s.t.Fatalf("got %v (%s), want %v (%s…); output %q", wait, detail, want, by, out)
		}
		nap(time.Millisecond)
	}
}

// stays looks for a while and fails when it sees an exact wait.
func (s *session) stays(d time.Duration) {
	s.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); nap(200 * time.Microsecond) {
		if wait, _, detail := s.look(); wait == backend.WaitExact {
			s.t.Fatalf("exact (%s) where nothing waits", detail)
		}
	}
}

// nap is the pace of the looks, not a wait for something to happen.
func nap(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_, _ = unix.Ppoll(nil, &ts, nil) // ends early on a signal, which is fine
}

func signalProcess(t *testing.T, pid int, name string) {
	t.Helper()
	if err := unix.Kill(pid, unix.SignalNum("SIG"+name)); err != nil {
		t.Fatalf("SIG%s to %d: %v", name, pid, err)
	}
}
