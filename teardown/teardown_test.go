package teardown

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ptykeep/ptykeep/backend"
)

// fakeTree is a tree under a guard with the number 1. It records the signals.
type fakeTree struct {
	procs  []*fakeProc
	log    []string
	ended  bool // something did since the last Reap
	onEach func(p *fakeProc, sig syscall.Signal)
}

type fakeProc struct {
	backend.Process
	deaf   bool          // HUP and TERM do nothing
	nudge  bool          // ends with SIGWINCH only
	denied bool          // no signal may be sent
	forks  bool          // has a child at each look, until it is stopped
	takes  time.Duration // from a signal to the end
	due    time.Time     // when it ends, if a signal came
	dead   bool
}

func newFakeTree(procs ...*fakeProc) *fakeTree {
	for _, p := range procs {
		p.Start = uint64(p.PID)
	}
	return &fakeTree{procs: procs}
}

func proc(pid, ppid int) *fakeProc {
	return &fakeProc{Process: backend.Process{PID: pid, PPID: ppid}}
}

func (f *fakeTree) alive() (list []*fakeProc) {
	for _, p := range f.procs {
		if !p.dead {
			list = append(list, p)
		}
	}
	return list
}

func (f *fakeTree) Processes() ([]backend.Process, error) {
	var list []backend.Process
	for _, p := range f.alive() {
		if p.forks {
			child := proc(100+len(f.procs), p.PID)
			child.Start, child.deaf, child.forks = 1, true, true
			f.procs = append(f.procs, child)
		}
	}
	for _, p := range f.alive() {
		list = append(list, p.Process)
	}
	return list, nil
}

func (f *fakeTree) Children() ([]backend.Process, error) {
	list, err := f.Processes()
	return slices.DeleteFunc(list, func(p backend.Process) bool { return p.PPID != 1 }), err
}

func (f *fakeTree) Signal(target backend.Process, sig syscall.Signal) error {
	f.log = append(f.log, fmt.Sprintf("%d %v", target.PID, sig))
	for _, p := range f.alive() {
		switch {
		case p.PID != target.PID || p.Start != target.Start:
		case p.denied:
			return syscall.EPERM
		case sig == syscall.SIGSTOP:
			p.forks = false
		case sig == syscall.SIGKILL || p.nudge && sig == syscall.SIGWINCH,
			sig == syscall.SIGHUP && !p.deaf && !p.nudge:
			if f.onEach != nil {
				f.onEach(p, sig)
			}
			f.end(p)
		}
	}
	return nil
}

// end ends p, after a while if p.takes: its children go to the guard.
func (f *fakeTree) end(p *fakeProc) {
	if p.takes > 0 {
		if p.due.IsZero() {
			p.due = time.Now().Add(p.takes)
		}
		return
	}
	p.dead = true
	f.ended = true
	for _, child := range f.procs {
		if child.PPID == p.PID {
			child.PPID = 1
		}
	}
}

func (f *fakeTree) Reap(ctx context.Context) (bool, error) {
	for !f.ended && len(f.alive()) > 0 && ctx.Err() == nil {
		var next *fakeProc
		for _, p := range f.alive() {
			if !p.due.IsZero() && (next == nil || p.due.Before(next.due)) {
				next = p
			}
		}
		if next == nil {
			<-ctx.Done()
			break
		}
		select {
		case <-time.After(time.Until(next.due)):
			next.takes = 0
			f.end(next)
		case <-ctx.Done():
		}
	}
	f.ended = false
	return len(f.alive()) == 0, nil
}

func end(t *testing.T, f *fakeTree, grace time.Duration) backend.Report {
	t.Helper()
	r, err := End(t.Context(), f, grace)
	if err != nil {
		t.Errorf("End: %v", err)
	}
	return r
}

func TestEmptyTreeEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if r := end(t, newFakeTree(), time.Second); r.Ended != 0 || r.Elapsed != 0 {
			t.Errorf("report: got %+v, want nothing ended in no time", r)
		}
	})
}

func TestChildrenAreAskedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeTree(proc(2, 1), proc(3, 2))
		if r := end(t, f, time.Second); r.Ended != 2 || r.Elapsed != 0 || len(r.Killed) != 0 {
			t.Errorf("report: got %+v, want 2 ended at once, none killed", r)
		}
		want := "3 hangup, 3 terminated, 3 continued, 2 hangup, 2 terminated, 2 continued"
		if got := strings.Join(f.log, ", "); got != want {
			t.Errorf("signals: got %s, want %s", got, want)
		}
	})
}

func TestGraceIsOverWhenTheTreeIsEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := proc(2, 1)
		slow.takes = 300 * time.Millisecond
		if r := end(t, newFakeTree(slow), time.Second); r.Elapsed != 300*time.Millisecond || len(r.Killed) != 0 {
			t.Errorf("report: got %+v, want 300ms, none killed", r)
		}
	})
}

// bash does so when a signal comes just before it reads.
func TestProcessThatMissedTheHangupIsNudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shell := proc(2, 1)
		shell.nudge = true
		r := end(t, newFakeTree(shell), time.Second)
		if r.Elapsed != nudgeFirst || len(r.Killed) != 0 {
			t.Errorf("report: got %+v, want %v, none killed", r, nudgeFirst)
		}
	})
}

func TestDeafProcessesAreKilledFromTheTop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeTree(proc(2, 1), proc(3, 2), proc(4, 3))
		for _, p := range f.procs {
			p.deaf = true
		}
		r := end(t, f, time.Second)
		if r.Ended != 3 || len(r.Killed) != 3 || r.Elapsed < time.Second || r.Elapsed > time.Second+10*killPause {
			t.Errorf("report: got %+v, want 3 killed soon after 1s", r)
		}
		kills := slices.DeleteFunc(f.log, func(s string) bool { return !strings.HasSuffix(s, " killed") })
		if want := []string{"2 killed", "3 killed", "4 killed"}; !slices.Equal(kills, want) {
			t.Errorf("kills: got %v, want %v", kills, want)
		}
	})
}

func TestProcessesThatForkMeanwhileAreKilledToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := proc(2, 1)
		first.deaf = true
		f := newFakeTree(first)
		f.onEach = func(p *fakeProc, _ syscall.Signal) {
			if p.PID < 50 { // each leaves a child behind
				child := proc(p.PID+1, p.PID)
				child.Start, child.deaf = 7, true
				f.procs = append(f.procs, child)
			}
		}
		if r := end(t, f, 0); r.Ended != 49 || r.Forced != 49 {
			t.Errorf("report: got %d ended, %d killed, want 49", r.Ended, len(r.Killed))
		}
	})
}

// Without the stop each round of kills would meet twice as many.
func TestProcessesThatForkByThemselvesAreStoppedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := proc(2, 1)
		first.deaf, first.forks = true, true
		f := newFakeTree(first)
		if r := end(t, f, 0); len(r.Survivors) != 0 || r.Ended != len(f.procs) || r.Ended > 16 {
			t.Errorf("report: got %+v of %d, want all of a few ended", r, len(f.procs))
		}
		last := ""
		for _, line := range f.log {
			if strings.HasSuffix(line, "stopped (signal)") && strings.HasSuffix(last, "killed") {
				t.Errorf("signals: %s after %s, want no stop after a kill", line, last)
			}
			last = line
		}
	})
}

func TestSurvivorDoesNotKeepTheRestAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root, below, beside := proc(2, 1), proc(3, 2), proc(4, 1)
		root.denied, below.deaf, beside.deaf = true, true, true
		root.Command, root.UID = "sudo", 7
		r := end(t, newFakeTree(root, below, beside), time.Second)
		if len(r.Survivors) != 1 || r.Survivors[0] != root.Process {
			t.Errorf("survivors: got %v, want %v", r.Survivors, root.Process)
		}
		if r.Ended != 2 || len(r.Killed) != 2 || r.Forced != 2 || !strings.Contains(r.Why, "another user") {
			t.Errorf("report: got %+v, want 2 ended and killed, and why one is left", r)
		}
		if want := time.Second + deniedBound; r.Elapsed < want || r.Elapsed > want+10*killPause {
			t.Errorf("elapsed: got %v, want %v", r.Elapsed, want)
		}
	})
}

func TestKillingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := proc(2, 1) // in an uninterruptible sleep
		stuck.deaf, stuck.takes = true, time.Hour
		r := end(t, newFakeTree(stuck), time.Second)
		if len(r.Survivors) != 1 || r.Ended != 0 || len(r.Killed) != 0 || r.Forced != 0 || !strings.Contains(r.Why, "kernel") {
			t.Errorf("report: got %+v, want one survivor and why, nothing ended or killed", r)
		}
		if r.Elapsed != time.Second+killBound {
			t.Errorf("elapsed: got %v, want %v", r.Elapsed, time.Second+killBound)
		}
	})
}

func TestContextEndsTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errStop := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errStop) })
		deaf := proc(2, 1)
		deaf.deaf = true
		r, err := End(ctx, newFakeTree(deaf), time.Minute)
		if !errors.Is(err, errStop) || len(r.Survivors) != 1 || r.Elapsed != time.Second {
			t.Errorf("End: got %+v, %v, want one survivor after 1s and the cause", r, err)
		}
	})
}
