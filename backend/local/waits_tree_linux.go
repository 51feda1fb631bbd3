//go:build amd64 || arm64

package local

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// node is a process below the session's guard.
type node struct {
	pid, parent   int // parent is an index into the tree, -1 at the top
	pgrp, session int
}

// maxNodes bounds a walk. With more processes than that, looks are misses.
const maxNodes = 1024

// top returns the process below which everything of the session is: the guard
// that started root and inherits its orphans, if there is one.
func (w *waits) top(root int) int {
	st, err := w.proc.status(root, root)
	if err != nil || st.ppid <= 1 || st.ppid == os.Getpid() {
		return root
	}
	return st.ppid
}

// walk reads the tree of the session's processes, in the order parents before
// children. It follows /proc/P/task/T/children: going through all of /proc
// takes milliseconds.
func (w *waits) walk() error {
	w.tree = w.tree[:0]
	if w.start == w.root {
		w.add(w.root, -1)
	} else if err := w.addGuards(); err != nil {
		return err
	}
	for i := 0; i < len(w.tree); i++ {
		if len(w.tree) > maxNodes {
			return errInconsistent
		}
		if err := w.addChildren(w.tree[i].pid, i); err != nil {
			return err
		}
	}
	return nil
}

// addChildren adds the children that all threads of a process started.
func (w *waits) addChildren(pid, parent int) error {
	var err error
	if w.ids, err = w.proc.tasks(pid, w.ids[:0]); err != nil {
		return ignoreGone(err)
	}
	for _, tid := range w.ids {
		if err := w.addThread(pid, tid, parent); ignoreGone(err) != nil {
			return err
		}
	}
	return nil
}

// addGuards adds the children of the guard, a program with half a dozen threads
// that seldom change: with as many as the last time, all of them alive, they
// are the same, which saves a third of the look's time.
func (w *waits) addGuards() error {
	dir, err := w.proc.stat(w.proc.at(w.start, 0, "/task"))
	if err != nil {
		return err
	}
	if int(dir.links) == len(w.guard)+2 {
		for _, tid := range w.guard {
			if err = w.addThread(w.start, tid, -1); err != nil {
				break
			}
		}
		if err == nil {
			return nil
		}
		w.tree = w.tree[:0]
	}
	if w.guard, err = w.proc.list(w.proc.at(w.start, 0, "/task"), w.guard[:0]); err != nil {
		return err
	}
	for _, tid := range w.guard {
		if err := w.addThread(w.start, tid, -1); ignoreGone(err) != nil {
			return err
		}
	}
	return nil
}

// addThread adds the children that one thread started.
func (w *waits) addThread(pid, tid, parent int) error {
	var err error
	w.kids, err = w.proc.children(pid, tid, w.kids[:0])
	for _, kid := range w.kids {
		w.add(kid, parent)
	}
	return err
}

func (w *waits) add(pid, parent int) {
	if pgrp, session, err := w.proc.group(pid); err == nil {
		w.tree = append(w.tree, node{pid: pid, parent: parent, pgrp: pgrp, session: session})
	}
}

func ignoreGone(err error) error {
	if gone(err) {
		return nil
	}
	return err
}

// find returns the index of a process in the tree, or -1.
func (w *waits) find(pid int) int {
	return slices.IndexFunc(w.tree, func(n node) bool { return n.pid == pid })
}

// below reports whether node i descends from the process top; 0 is above all.
func (w *waits) below(i, top int) bool {
	if top == 0 {
		return true
	}
	for i = w.tree[i].parent; i >= 0; i = w.tree[i].parent {
		if w.tree[i].pid == top {
			return true
		}
	}
	return false
}

// members appends the processes of the foreground group g.
func (w *waits) members(g *group, list []int) []int {
	for i, n := range w.tree {
		if n.pgrp == g.pgid && w.below(i, g.top) {
			list = append(list, n.pid)
		}
	}
	return list
}

// detached appends to list the descendants of its members that have left their
// session and have no controlling terminal: what "su -c" runs reads the
// terminal from there. Daemons that others started are none of the group's.
func (w *waits) detached(list []int) []int {
	if len(list) == 0 {
		return list
	}
	session := w.tree[w.find(list[0])].session
	for _, n := range w.tree {
		if n.parent < 0 || n.session == session || !slices.Contains(list, w.tree[n.parent].pid) {
			continue
		}
		if st, err := w.proc.status(n.pid, n.pid); err == nil && st.tty == 0 && !st.dead() {
			list = append(list, n.pid)
		}
	}
	return list
}

// outsiders reports whether a process has a live child that list does not
// have, and whether it has one that it has.
func (w *waits) outsiders(pid int, list []int) (outside, inside bool) {
	at := w.find(pid)
	for _, n := range w.tree {
		if n.parent < 0 || n.parent != at {
			continue
		}
		if slices.Contains(list, n.pid) {
			inside = true
		} else if st, err := w.proc.status(n.pid, n.pid); err == nil && !st.dead() && !w.held(n.pid) {
			outside = true
		}
	}
	return outside, inside
}

// held reports whether a tracer holds all threads of a process. It then does
// nothing until the tracer, gdb, lets it go on.
func (w *waits) held(pid int) bool {
	var err error
	if w.ids, err = w.proc.tasks(pid, w.ids[:0]); err != nil {
		return false
	}
	for _, tid := range w.ids {
		if st, err := w.proc.status(pid, tid); err != nil || st.state != 't' {
			return false
		}
	}
	return len(w.ids) > 0
}

// calm is settled for the group's leader alone, before there is a tree.
func (w *waits) calm(g *group) bool {
	st, err := w.proc.status(g.pgid, g.pgid)
	if err != nil {
		return false
	}
	return g.pgid == w.root || st.ppid == w.start || st.ppid == g.top || w.asleep(st.ppid)
}

// settled reports whether the parents of the group's processes, a shell as a
// rule, are asleep in some wait. A shell that is still starting a pipeline is
// not: its first program may read the terminal already while the others do not
// exist yet (dash hands the terminal over before it forks the second). Who asks
// has to count the processes after that, not before.
func (w *waits) settled(g *group) bool {
	done := 0
	for _, pid := range g.list {
		i := w.find(pid)
		if i < 0 {
			return false
		}
		if i = w.tree[i].parent; i < 0 {
			continue
		}
		parent := w.tree[i].pid
		if parent == done || parent == g.top || slices.Contains(g.list, parent) {
			continue
		}
		if !w.asleep(parent) {
			return false
		}
		done = parent
	}
	return true
}

// asleep reports whether all threads of a process are in some wait. A read is
// none: zsh, and Python's subprocess, read a pipe until the child that they have
// just forked is ready, and zsh's joins the group only then. Another user's
// process counts as asleep: it cannot be seen.
func (w *waits) asleep(pid int) bool {
	var err error
	if w.ids, err = w.proc.tasks(pid, w.ids[:0]); err != nil {
		return false
	}
	for _, tid := range w.ids {
		c, err := w.proc.call(pid, tid)
		if err == unix.EPERM || err == unix.EACCES {
			return true
		}
		if err != nil || c.running {
			return false
		}
		if o := w.numbers[c.number]; o == opOther || o == opRead {
			return false
		}
	}
	return true
}
