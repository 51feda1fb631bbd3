// Package teardown says how a process tree ends: the plan ([End]), which knows
// nothing of an operating system, and the ways to list, identify and signal
// processes that it is carried out with ([Descendants], [Send]).
//
// A process is always a [backend.Process], number and start time, and every
// signal goes to that identity: a number that was used again is never hit.
package teardown

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"time"

	"github.com/ptykeep/ptykeep/backend"
)

// Target is a tree that can be listed, signalled and reaped. [End] calls it
// from one goroutine.
type Target interface {
	// Processes lists what is alive in the tree, parents before their children.
	Processes() ([]backend.Process, error)
	// Children lists those that nothing else in the tree can reap. Whoever
	// kills only these needs no snapshot of a tree that changes meanwhile: an
	// orphan becomes one of them.
	Children() ([]backend.Process, error)
	// Signal sends sig to that very process. One that is gone is no error.
	Signal(p backend.Process, sig syscall.Signal) error
	// Reap collects what has ended and reports whether the tree is empty. When
	// it is not, it first waits until something ends or ctx does; the end of
	// ctx is no error.
	Reap(ctx context.Context) (empty bool, err error)
}

const (
	// nudgeFirst is how long a silent tree is left alone before its programs are
	// sent a SIGWINCH, which does nothing to a program that does not handle it;
	// the pause doubles. Between looking for signals and reading the terminal
	// bash misses a HUP until the next signal interrupts it: 6 of 150, closed
	// right at the prompt, lasted until the kill without this. A second HUP
	// would make others give up saving.
	nudgeFirst = 4 * time.Millisecond

	// killBound is how long killing goes on. 370 hostile processes took 95 ms
	// at most; beyond this something cannot be killed.
	killBound = 10 * time.Second

	// freezeBound is how long stopping goes on. Two or three looks do; one takes
	// 10 ms with 370 processes. Whoever still forks then, forks into the kill.
	freezeBound = time.Second

	// killPause lies between two rounds of kills when nothing was reaped
	// meanwhile. A guess: shorter than anyone notices.
	killPause = 2 * time.Millisecond

	// deniedBound is how long processes that must not be signalled (EPERM) are
	// awaited when nothing else is left. A guess.
	deniedBound = 300 * time.Millisecond

	// MaxKilled bounds Report.Killed.
	MaxKilled = 64
)

// End ends the whole of t. What runs is asked to (SIGHUP, SIGTERM and SIGCONT,
// children first), has until grace to do so, and is then stopped, so that it
// cannot fork any more, and killed until nothing is left. End returns as soon as the tree is empty, or when what is left does
// not go, with Survivors, or when ctx ends, with its cause. The report is valid
// also beside an error.
func End(ctx context.Context, t Target, grace time.Duration) (backend.Report, error) {
	e := &ending{target: t, seen: make(map[identity]struct{}), killed: make(map[identity]bool), began: time.Now()}
	err := e.run(ctx, grace)
	e.report.Ended = len(e.seen) - len(e.report.Survivors)
	e.report.Elapsed = time.Since(e.began)
	return e.report, err
}

// identity is what tells a process from a later one with the same number.
type identity struct {
	pid   int
	start uint64
}

// ending is one run of the plan.
type ending struct {
	target Target
	began  time.Time
	seen   map[identity]struct{} // every process that was seen alive
	report backend.Report

	killed  map[identity]bool // what SIGKILL was sent to
	refused bool              // it could not be sent to something
}

func (e *ending) run(ctx context.Context, grace time.Duration) error {
	if err := e.ask(); err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	for pause := nudgeFirst; ; {
		// Before the first look at the clock, so that an empty tree is never
		// waited for.
		wait, stop := context.WithTimeout(limit, pause)
		empty, err := e.target.Reap(wait)
		silent := wait.Err() != nil
		stop()
		switch {
		case empty || err != nil:
			return err
		case ctx.Err() != nil:
			return errors.Join(context.Cause(ctx), e.survey())
		case limit.Err() != nil:
			return e.kill(ctx)
		case silent:
			if err := e.signal(syscall.SIGWINCH); err != nil {
				return err
			}
			pause *= 2
		}
	}
}

// ask sends every process of the tree the signals that end a program in order.
// HUP comes first: an interactive shell ignores TERM. CONT lets the stopped ones
// act on them.
func (e *ending) ask() error {
	return e.signal(syscall.SIGHUP, syscall.SIGTERM, syscall.SIGCONT)
}

// signal sends each process of the tree the signals, children first.
func (e *ending) signal(signals ...syscall.Signal) error {
	list, err := e.target.Processes()
	if err != nil {
		return err
	}
	e.note(list)
	for _, p := range slices.Backward(list) {
		for _, sig := range signals {
			// A refusal shows again, and counts, when p is to be killed.
			_ = e.target.Signal(p, sig)
		}
	}
	return nil
}

// kill kills whatever nothing else can reap, again and again: each kill makes
// orphans, and these come to the same place. It ends with an empty tree or with
// e.report.Survivors.
func (e *ending) kill(ctx context.Context) error {
	if err := e.freeze(ctx); err != nil {
		return err
	}
	bound, cancel := context.WithTimeout(ctx, killBound)
	defer cancel()
	var denied time.Time // since when nothing but refusals is left
	for {
		progress, err := e.round()
		if err != nil {
			return err
		}
		switch {
		case progress:
			denied = time.Time{}
		case denied.IsZero():
			denied = time.Now()
		case time.Since(denied) >= deniedBound:
			return e.survey()
		}
		pause, stop := context.WithTimeout(bound, killPause)
		empty, err := e.target.Reap(pause)
		stop()
		if empty || err != nil {
			return err
		}
		if bound.Err() != nil {
			return errors.Join(context.Cause(ctx), e.survey())
		}
	}
}

// freeze stops everything, until a look shows nothing new: what forks faster than
// it is killed would outrun the kill. The stop is not waited for: the kernel
// lets no process with a pending SIGSTOP finish a fork (fork(2), ERESTARTNOINTR).
func (e *ending) freeze(ctx context.Context) error {
	stopped := make(map[identity]bool)
	for began := time.Now(); ctx.Err() == nil && time.Since(began) < freezeBound; {
		list, err := e.target.Processes()
		if err != nil {
			return err
		}
		e.note(list)
		fresh := false
		for _, p := range list {
			id := identity{p.PID, p.Start}
			if stopped[id] {
				continue
			}
			stopped[id], fresh = true, true
			// A refusal shows again, and counts, when p is to be killed.
			_ = e.target.Signal(p, syscall.SIGSTOP)
		}
		if !fresh {
			return nil
		}
	}
	return nil
}

// round sends one SIGKILL to each child, and to everything below when a child
// refuses it: one survivor must not keep the rest alive. It reports whether
// anything that may be signalled was there.
func (e *ending) round() (progress bool, err error) {
	list, err := e.target.Children()
	if err != nil {
		return false, err
	}
	refused := false
	for _, p := range list {
		ok := e.killOne(p)
		progress, refused = progress || ok, refused || !ok
	}
	if !refused {
		return true, nil
	}
	if list, err = e.target.Processes(); err != nil {
		return false, err
	}
	for _, p := range list {
		if e.killOne(p) {
			progress = true
		}
	}
	return progress, nil
}

func (e *ending) killOne(p backend.Process) bool {
	e.note([]backend.Process{p})
	if e.target.Signal(p, syscall.SIGKILL) != nil {
		e.refused = true
		return false
	}
	if id := (identity{p.PID, p.Start}); !e.killed[id] {
		e.killed[id] = true
		e.report.Forced++
		if len(e.report.Killed) < MaxKilled {
			e.report.Killed = append(e.report.Killed, p)
		}
	}
	return true
}

// survey puts what is left into the report, and takes it out of what was killed.
func (e *ending) survey() error {
	list, err := e.target.Processes()
	if err != nil {
		return err
	}
	e.note(list)
	e.report.Survivors = list
	left := make(map[identity]bool, len(list))
	for _, p := range list {
		id := identity{p.PID, p.Start}
		left[id] = true
		if e.killed[id] {
			e.report.Forced--
		}
	}
	e.report.Killed = slices.DeleteFunc(e.report.Killed, func(p backend.Process) bool { return left[identity{p.PID, p.Start}] })
	e.report.Why = e.why(list)
	return nil
}

func (e *ending) why(left []backend.Process) string {
	switch {
	case len(left) == 0:
		return ""
	case e.refused:
		return "another user's programs may not be signalled"
	case len(e.killed) > 0:
		return "killed, but they do not end: the kernel keeps them"
	}
	return "the attempt was given up"
}

func (e *ending) note(list []backend.Process) {
	for _, p := range list {
		e.seen[identity{p.PID, p.Start}] = struct{}{}
	}
}
