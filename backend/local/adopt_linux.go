package local

import (
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/teardown"
)

// Adopt makes the calling process a child subreaper, so that what a guard leaves
// when somebody kills it comes here, and is ended as the guard would have ended
// it. Sessions also get control groups of their own, where that is allowed. It is
// for a process that starts no children but through this Backend, and must be
// called before the first Start.
func (b *Backend) Adopt() error {
	self := os.Getpid()
	before, err := teardown.Children(self)
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming a subreaper: %w", err)
	}
	// What an exec left us with may leave orphans of its own, and to process 1
	// come all of the container's.
	b.orphanage = newOrphanage(len(before) > 0 || self == 1)
	if b.group, err = findGroup(); err != nil {
		b.log.Debug("sessions get no control groups", "err", err)
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	// Ends with the process.
	go func() {
		for range ended {
			b.orphanage.reap()
		}
	}()
	return nil
}

// reap collects the orphans that have ended.
func (o *orphanage) reap() {
	o.starting.Lock()
	defer o.starting.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	reaped := false
	// What could be listed is used; another SIGCHLD, or the end of a guard, makes
	// us look again.
	children, _ := teardown.ChildPIDs(os.Getpid())
	for _, pid := range children {
		if o.guards[pid] {
			continue
		}
		got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
		reaped = reaped || err == nil && got == pid
	}
	if reaped {
		close(o.changed)
		o.changed = make(chan struct{})
	}
}
