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

// platform sets how the tree is found: what still has us as an ancestor, what
// holds the terminal of the session, and what carries the session's tag. Nothing
// comes back to the guard here, so the children are the whole tree.
func (t *tree) platform() {
	self := os.Getpid()
	f := &found{self: self, inspect: teardown.Inspect, ways: []func() ([]backend.Process, error){
		func() ([]backend.Process, error) { return teardown.Descendants(self) },
	}}
	if t.rdev != 0 {
		f.ways = append(f.ways, func() ([]backend.Process, error) { return teardown.OnTerminal(t.program.PID, t.rdev) })
	}
	for _, kv := range os.Environ() {
		if strings.HasPrefix(kv, "PTYKEEP_SESSION=") && len(kv) > len("PTYKEEP_SESSION=") {
			f.ways = append(f.ways, func() ([]backend.Process, error) { return teardown.Tagged(kv) })
		}
	}
	t.all, t.children = f.list, f.list
}
