package guard

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/teardown"
)

// isolate makes this process a guard in the eyes of the kernel. It must run on
// the thread that later forks.
func isolate() {
	// The kernel refuses none of these to a process about itself, and a guard
	// without one of them still does the rest.
	_ = os.WriteFile("/proc/self/comm", []byte(Name), 0) // for ps; not possible any more once undumpable
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)     // nobody reads its memory or environment
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	// Somebody may have stopped the guard when the server dies. When it is one
	// thread of the server that ends, the signal does no harm.
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGCONT), 0, 0, 0)
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, new(unix.Sigset_t), nil)
}

// platform sets how the tree is found.
func (t *tree) platform() {
	self := os.Getpid()
	t.all = func() ([]backend.Process, error) { return teardown.Descendants(self) }
	t.children = func() ([]backend.Process, error) { return teardown.Children(self) }
}
