package guard

import "github.com/ptykeep/ptykeep/backend"

// found is the tree where no subreaper holds it together (macOS): what can be
// found by any of several ways, and what has been found before. What escapes: a
// daemon that left the terminal, whose parent ended before the first look, and
// which hides its environment, as Apple's restricted programs do.
type found struct {
	self int
	// ways are the ways to look, parents before their children in each. One that
	// fails hides nothing of the others.
	ways []func() ([]backend.Process, error)
	// inspect returns the living process with a number.
	inspect func(pid int) (backend.Process, bool)

	known map[identity]bool // found before, alive when last looked at
}

// identity is what tells a process from a later one with the same number.
type identity struct {
	pid   int
	start uint64
}

// list looks once. It fails only if every way does.
func (f *found) list() (list []backend.Process, err error) {
	if f.known == nil {
		f.known = make(map[identity]bool)
	}
	listed := map[identity]bool{}
	worked := false
	for _, way := range f.ways {
		more, wayErr := way()
		if wayErr != nil {
			err = wayErr
			continue
		}
		worked = true
		for _, p := range more {
			if id := (identity{p.PID, p.Start}); p.PID != f.self && !listed[id] {
				listed[id], f.known[id] = true, true
				list = append(list, p)
			}
		}
	}
	if !worked {
		return nil, err
	}
	for id := range f.known {
		if listed[id] {
			continue
		}
		if p, ok := f.inspect(id.pid); ok && p.Start == id.start {
			list = append(list, p)
		} else {
			delete(f.known, id)
		}
	}
	return list, nil
}
