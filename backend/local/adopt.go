package local

import (
	"context"
	"os"
	"sync"
	"syscall"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/teardown"
)

// orphanage is the server as the second subreaper: what the guards would have
// adopted comes to the server when a guard was killed. A nil *orphanage takes in
// nobody.
//
// It reaps by number only, and nothing but orphans: a wait for any child would
// take the end of a guard away from whoever waits for that.
type orphanage struct {
	// shared says that processes which no guard ever stood above may become our
	// children, too. Fixed at creation.
	shared bool

	// starting is held for reading while a guard is started, and by whoever looks
	// who our children are: one that is no guard yet must not be met.
	starting sync.RWMutex

	mu      sync.Mutex    // guards what follows; taken under starting
	guards  map[int]bool  // by number: one that was not waited for keeps its own
	changed chan struct{} // closed and replaced when orphans have been reaped
}

func newOrphanage(shared bool) *orphanage {
	return &orphanage{shared: shared, guards: make(map[int]bool), changed: make(chan struct{})}
}

// start calls f, which starts a guard and has not waited for it when it returns.
func (o *orphanage) start(f func() (*os.Process, error)) (*os.Process, error) {
	if o == nil {
		return f()
	}
	o.starting.RLock()
	defer o.starting.RUnlock()
	p, err := f()
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.guards[p.Pid] = true
	return p, nil
}

// ended forgets a guard that has been waited for. An orphan that got its number
// and ended since was passed over for the guard, so it is reaped now.
func (o *orphanage) ended(pid int) {
	if o == nil {
		return
	}
	o.mu.Lock()
	delete(o.guards, pid)
	o.mu.Unlock()
	o.reap()
}

// orphans lists those of our children that are no guards, zombies left out.
func (o *orphanage) orphans() ([]backend.Process, error) {
	o.starting.Lock()
	defer o.starting.Unlock()
	children, err := teardown.Children(os.Getpid())
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var list []backend.Process
	for _, p := range children {
		if !o.guards[p.PID] {
			list = append(list, p)
		}
	}
	return list, nil
}

// adopted is what a lost guard left, as its second parent sees it: all orphans
// and what descends from them. Where strangers may be among them, only those
// that carry the tag of the session. It implements teardown.Target.
type adopted struct {
	home *orphanage
	tag  string // of the session's environment, "NAME=value"
}

// Processes implements teardown.Target. When two guards were lost at once, it
// lists what either left: all of it is to end.
func (a adopted) Processes() ([]backend.Process, error) {
	list, err := a.Children()
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		below, err := teardown.Descendants(p.PID)
		if err != nil {
			return nil, err
		}
		list = append(list, below...)
	}
	return list, nil
}

// Children implements teardown.Target.
func (a adopted) Children() ([]backend.Process, error) {
	list, err := a.home.orphans()
	if err != nil || !a.home.shared {
		return list, err
	}
	var own []backend.Process
	for _, p := range list {
		if teardown.HasTag(p.PID, a.tag) {
			own = append(own, p)
		}
	}
	return own, nil
}

// Signal implements teardown.Target.
func (a adopted) Signal(p backend.Process, sig syscall.Signal) error { return teardown.Send(p, sig) }

// Reap implements teardown.Target. It only waits: the orphanage reaps.
func (a adopted) Reap(ctx context.Context) (empty bool, err error) {
	changed := a.home.change()
	if none, err := a.none(); none || err != nil {
		return none, err
	}
	select {
	case <-changed:
	case <-ctx.Done():
	}
	return a.none()
}

// none reports whether no orphan is left. The kernel's list of children may miss
// one while others go (proc_pid_children(5)), hardly twice.
func (a adopted) none() (bool, error) {
	for range 2 {
		if list, err := a.Children(); len(list) > 0 || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (o *orphanage) change() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.changed
}
