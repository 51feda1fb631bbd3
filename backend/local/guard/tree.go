package guard

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/teardown"
)

// look is how long Reap waits at most where ended orphans announce themselves
// to nobody. A guess.
const look = 5 * time.Millisecond

// tree is everything that descends from the guard. It implements
// teardown.Target. It reaps with wait4(-1), so nothing else in the process may
// wait for a child.
type tree struct {
	program backend.Process
	rdev    uint64                // the terminal, where a tree is found by it
	exited  func(unix.WaitStatus) // called once, when the program has ended

	complete      bool                              // no child left means nothing left
	all, children func() ([]backend.Process, error) // called by one goroutine

	reported uint64 // the reaps that Reap has told of; used by its one caller

	mu      sync.Mutex // guards what follows
	reaps   uint64
	empty   bool          // no child is left
	changed chan struct{} // closed and replaced when reaps or empty change
}

func newTree(program backend.Process, rdev uint64, exited func(unix.WaitStatus)) *tree {
	t := &tree{program: program, rdev: rdev, exited: exited, complete: teardown.Complete, changed: make(chan struct{})}
	t.platform()
	return t
}

// reapOn collects ended children, now and whenever children announces some.
func (t *tree) reapOn(children <-chan os.Signal) {
	for t.reap() {
		<-children
	}
}

// reap collects what has ended and reports whether there are more children. When
// there are none there never will be: only a child could bring new ones.
func (t *tree) reap() (more bool) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil: // ECHILD
			t.change(func() { t.empty = true })
			return false
		case pid == 0:
			return true
		default:
			if pid == t.program.PID {
				t.exited(status)
			}
			t.change(func() { t.reaps++ })
		}
	}
}

func (t *tree) change(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
	close(t.changed)
	t.changed = make(chan struct{})
}

// Processes implements teardown.Target.
func (t *tree) Processes() ([]backend.Process, error) { return t.all() }

// Children implements teardown.Target.
func (t *tree) Children() ([]backend.Process, error) { return t.children() }

// Signal implements teardown.Target.
func (t *tree) Signal(p backend.Process, sig syscall.Signal) error { return teardown.Send(p, sig) }

// Reap implements teardown.Target. It only waits: reapOn does the work.
func (t *tree) Reap(ctx context.Context) (empty bool, err error) {
	if !t.complete {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, look)
		defer cancel()
	}
	empty, reaps, changed := t.state()
	if !empty && reaps == t.reported {
		select {
		case <-changed:
		case <-ctx.Done():
		}
		empty, reaps, _ = t.state()
	}
	t.reported = reaps
	if !empty || t.complete {
		return empty, nil
	}
	list, err := t.Processes()
	if len(list) > 0 {
		<-ctx.Done()
	}
	return len(list) == 0, err
}

func (t *tree) state() (empty bool, reaps uint64, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.empty, t.reaps, t.changed
}
