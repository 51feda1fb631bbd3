//go:build amd64 || arm64

package local

import (
	"slices"

	"github.com/ptykeep/ptykeep/backend"
)

// running is the verdict on a group of which a thread runs.
func (w *waits) running(g *group) (verdict, bool) {
	for _, t := range w.threads[g.first:] {
		if t.wakes&onCPU != 0 {
			return verdict{wait: backend.WaitBusy, pid: w.leader(g), t: t}, true
		}
	}
	return verdict{}, false
}

// waiter returns the index, among the threads of the group, of the first that
// waits for the terminal, -1 if none does.
func (w *waits) waiter(g *group) int {
	return slices.IndexFunc(w.threads[g.first:], func(t thread) bool { return t.wakes&byTerminal != 0 })
}

// leader is the process that stands for the group when none waits.
func (w *waits) leader(g *group) int {
	if len(g.list) == 0 || slices.Contains(g.list, g.pgid) {
		return g.pgid
	}
	return g.list[0]
}

// decide judges the threads that were examined.
func (w *waits) decide(g *group) verdict {
	busy, runs := w.running(g)
	waiter := w.waiter(g)
	if runs && waiter < 0 {
		return busy
	}
	threads := w.threads[g.first:]
	if len(threads) == 0 {
		return w.nobody(g)
	}
	v := verdict{wait: backend.WaitNone, pid: w.leader(g), t: threads[0]}
	for _, t := range threads {
		switch {
		case t.wakes&denied != 0:
			v.wait, v.t = backend.WaitDenied, t
		case t.wakes&foreign != 0 && v.wait != backend.WaitDenied:
			v.wait, v.t = backend.WaitUnknown, t
		}
	}
	if v.wait != backend.WaitNone {
		return v
	}
	if waiter >= 0 {
		v.t = threads[waiter]
		v.pid = v.t.pid
	}
	st, err := w.proc.status(v.t.pid, v.t.tid)
	switch {
	case err != nil:
		v.wait = backend.WaitBusy
	case st.stopped():
		v.wait = backend.WaitStopped
	case waiter < 0:
	case st.tty == w.rdev && st.tpgid != g.pgid:
		v.wait = backend.WaitBusy // the foreground is another group by now
	case runs:
		// A shell with a job in its own group (fish fills its completions that
		// way at its first start), a REPL with a thread that computes.
		v.wait, v.cause = backend.WaitOpen, busy.t
	default:
		return w.weigh(g, v)
	}
	return v
}

// weigh judges a wait for the terminal by what else can end it.
func (w *waits) weigh(g *group, v verdict) verdict {
	var inner verdict
	known := g.list // processes whose doings are known
	relays := v.t.wakes&byMaster != 0
	if relays {
		var ok bool
		if inner, known, ok = w.innerGroup(g, v.t); !ok {
			v.wait, v.cause = backend.WaitOpen, v.t
			return v
		}
	}
	v.wait = backend.WaitExact
	for _, t := range w.threads[g.first:] {
		switch {
		case w.openFrom(t, v.t, known):
			v.wait, v.cause = backend.WaitOpen, t
			return v
		case t.wakes&byTimer != 0 && (t.wakes&byTerminal != 0 || t.limit < ignoreTimer):
			v.wait, v.cause = backend.WaitTimed, t
		}
	}
	if relays && inner.wait != backend.WaitExact {
		return inner
	}
	if v.wait != backend.WaitExact {
		return v
	}
	if g.early && !g.calm || !g.early && !w.settled(g) {
		v.wait = backend.WaitOpen
		return v
	}
	if !w.confirm(g) {
		v.wait = backend.WaitBusy
		return v
	}
	if relays {
		return inner
	}
	return v
}

// openFrom reports whether something outside the group can wake t.
func (w *waits) openFrom(t, waiter thread, known []int) bool {
	open := byOutside | atWork | byMaster | bySocket
	if t.tid == waiter.tid {
		open &^= byMaster
		if waiter.wakes&byMaster != 0 {
			// sudo speaks with the process that watches its inner session over
			// a socket, in the same poll.
			open &^= bySocket
		}
	}
	if t.wakes&open != 0 {
		return true
	}
	if t.wakes&(byPipe|byChild) == 0 {
		return false
	}
	outside, inside := w.outsiders(t.pid, known)
	// A shell that waits for a program of the group goes on waiting when some
	// other child of it ends.
	return outside && !(inside && t.wakes&byPipe == 0)
}
