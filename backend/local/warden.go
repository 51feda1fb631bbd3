package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/backend/local/guard"
)

// sendBound is how long a line to the guard may take. It reads at once unless
// somebody stopped it. A guess.
const sendBound = 10 * time.Second

// warden is the server's view of a guard process.
type warden struct {
	process *os.Process
	home    *orphanage
	control *os.File // closed when the guard is gone
	exited  func(backend.Exit)

	first   chan guard.Event  // Started or Failed; holds one
	reports chan guard.Report // holds one: there is one Terminate at a time

	gone  chan struct{}    // closed when the guard has ended and been reaped
	state *os.ProcessState // valid once gone is closed; nil if it could not be had
}

// startGuard starts a guard with slave as its terminal. What it leaves if it is
// killed comes to home; inside is where it begins, nil for nowhere. exited is
// called once or more, the first call is the one that counts; after it nothing is
// called when gone is closed.
func startGuard(home *orphanage, inside *fence, executable string, env []string, slave *os.File, exited func(backend.Exit)) (*warden, error) {
	if inside != nil {
		defer inside.begun()
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, fmt.Errorf("making control socket: %w", err)
	}
	defer theirs.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		_ = ours.Close() // unused
		return nil, err
	}
	defer null.Close()
	attr := &os.ProcAttr{
		Dir: "/",
		// The session's, and nothing of ours: a child may be able to read it.
		Env:   append([]string{}, env...),
		Files: []*os.File{null, null, null, guard.ControlFD: theirs, guard.SlaveFD: slave},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}
	process, err := home.start(func() (*os.Process, error) {
		if inside != nil {
			within := *attr.Sys
			inside.enclose(&within)
			fenced := *attr
			fenced.Sys = &within
			p, err := os.StartProcess(executable, []string{guard.Name}, &fenced)
			if err == nil {
				return p, nil
			}
			inside.remove() // the kernel, or a filter, refuses: without it
		}
		return os.StartProcess(executable, []string{guard.Name}, attr)
	})
	if err != nil {
		_ = ours.Close() // unused
		return nil, fmt.Errorf("starting guard: %w", err)
	}
	w := &warden{
		process: process, home: home, control: ours, exited: exited,
		first: make(chan guard.Event, 1), reports: make(chan guard.Report, 1), gone: make(chan struct{}),
	}
	// Ends when the guard does, which is after hangUp at the latest.
	go w.watch()
	return w, nil
}

// watch reads what the guard says until it is gone.
func (w *warden) watch() {
	defer close(w.gone)
	in := json.NewDecoder(w.control)
	for {
		var e guard.Event
		if in.Decode(&e) != nil {
			break
		}
		switch {
		case e.Started != nil || e.Failed != nil:
			w.first <- e
		case e.Exited != nil:
			w.exited(backend.Exit{Code: e.Exited.Code, Signal: e.Exited.Signal})
		case e.Report != nil:
			w.reports <- *e.Report
		}
	}
	w.hangUp() // in case that it lives and talks nonsense
	state, err := w.process.Wait()
	if err == nil {
		w.state = state
	}
	w.home.ended(w.process.Pid)
	_ = w.control.Close() // read to its end
	w.exited(backend.Exit{Lost: true})
}

// send writes one line to the guard. Calls do not overlap.
func (w *warden) send(v any) error {
	line, err := guard.Encode(v)
	if err != nil {
		return fmt.Errorf("encoding line to guard: %w", err)
	}
	if err := w.control.SetWriteDeadline(time.Now().Add(sendBound)); err != nil {
		return fmt.Errorf("writing to guard: %w", err)
	}
	if _, err := w.control.Write(line); err != nil {
		return fmt.Errorf("writing to guard: %w", err)
	}
	return nil
}

// hangUp tells the guard that there will be no more requests: it ends what is
// left, and itself. What it still has to say is read.
func (w *warden) hangUp() {
	_ = w.process.Signal(unix.SIGCONT) // as in terminate
	// Fails only when the other end, or ours, is gone.
	_ = control(w.control, func(fd int) { _ = unix.Shutdown(fd, unix.SHUT_WR) })
}

// terminate has the guard end the tree. lost says that the guard ended without
// having answered, and not because it had nothing left to do.
func (w *warden) terminate(grace time.Duration) (report guard.Report, lost bool) {
	_ = w.process.Signal(unix.SIGCONT) // somebody may have stopped it; it may be gone
	// After an error gone is closed, or will be.
	if err := w.send(guard.Request{Terminate: &guard.Terminate{Grace: grace}}); err != nil {
		w.hangUp()
	}
	select {
	case report = <-w.reports:
		return report, false
	case <-w.gone:
	}
	select {
	case report = <-w.reports:
		return report, false
	default:
		return guard.Report{}, w.lost()
	}
}

// lost reports whether the guard, which is gone, may have left something.
func (w *warden) lost() bool { return w.state == nil || !w.state.Success() }

// socketPair returns two connected sockets; ours is non-blocking, so that it
// has deadlines.
func socketPair() (ours, theirs *os.File, err error) {
	// Held so that no child is forked before the flags are set.
	syscall.ForkLock.RLock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return nil, nil, errors.Join(os.NewSyscallError("setnonblock", err), unix.Close(fds[0]), unix.Close(fds[1]))
	}
	return os.NewFile(uintptr(fds[0]), "guard"), os.NewFile(uintptr(fds[1]), "control"), nil
}

// control calls f with the descriptor of file, which stays open for so long. The
// one error is os.ErrClosed.
func control(file *os.File, f func(fd int)) error {
	c, err := file.SyscallConn()
	if err == nil {
		err = c.Control(func(fd uintptr) { f(int(fd)) })
	}
	if err != nil {
		return os.ErrClosed
	}
	return nil
}
