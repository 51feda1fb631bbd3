package guard

import (
	"os"
	"strings"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/teardown"
)

// Nothing in this file has ever run on a Mac.

// isolate makes this process a guard in the eyes of the kernel. macOS has
// neither a subreaper nor a way to hide the environment; PT_DENY_ATTACH would
// only keep debuggers out.
func isolate() {}

// all lists what can be found: what still has us as an ancestor, what holds
// the terminal of the session, and what carries the session's tag. A daemon of
// a restricted Apple program is not among it.
func (t *tree) all() ([]backend.Process, error) {
	self := os.Getpid()
	list, err := teardown.Descendants(self)
	if err != nil {
		return nil, err
	}
	seen := map[int]bool{self: true}
	for _, p := range list {
		seen[p.PID] = true
	}
	add := func(more []backend.Process, err error) {
		for _, p := range more {
			if err == nil && !seen[p.PID] {
				seen[p.PID] = true
				list = append(list, p)
			}
		}
	}
	if t.rdev != 0 {
		add(teardown.OnTerminal(t.program.PID, t.rdev))
	}
	for _, kv := range os.Environ() {
		if strings.HasPrefix(kv, "PTYKEEP_SESSION=") && len(kv) > len("PTYKEEP_SESSION=") {
			add(teardown.Tagged(kv))
		}
	}
	return list, nil
}

// Children implements teardown.Target. Nothing comes back to the guard here, so
// it is the whole tree.
func (t *tree) Children() ([]backend.Process, error) { return t.all() }
