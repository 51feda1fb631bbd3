package local

import (
	"context"
	"strings"
	"syscall"
	"time"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/teardown"
)

// strayPause lies between two looks at what a lost guard left. A guess.
const strayPause = 5 * time.Millisecond

// strays is what can be found of a session whose guard is gone: what is on its
// terminal, and what descends from that. Daemons that left the terminal and lost
// their parent cannot be told from other processes. It implements
// teardown.Target.
type strays struct {
	session int // the program led it
	rdev    uint64
	known   map[identity]bool // seen before, alive when last looked at
}

// identity is a process number and what tells it from its later uses.
type identity struct {
	pid   int
	start uint64
}

// endStrays ends what a lost guard left, as far as it can be found.
func (t *Terminal) endStrays() (report backend.Report, err error) {
	switch {
	case t.orphanage != nil:
		report, err = teardown.End(context.Background(), adopted{t.orphanage, t.tag}, t.grace)
		report.Partial = t.orphanage.shared
	// The terminal must be open: its number is another's after Close.
	case t.program.PID != 0 && t.afterSlave() == nil:
		s := strays{session: t.program.PID, rdev: t.rdev, known: make(map[identity]bool)}
		report, err = teardown.End(context.Background(), s, t.grace)
		report.Partial = true
	default:
		report.Partial = true
	}
	// Last, what could not be found or signalled, if anything held it together.
	if (err != nil || report.Partial || len(report.Survivors) > 0) && t.fence.kill() {
		gone := report.Survivors
		err = nil // all that was in the fence is gone
		report.Partial, report.Survivors, report.Why = false, nil, ""
		for _, p := range gone {
			if now, ok := teardown.Inspect(p.PID); ok && now.Start == p.Start { // it had left the fence
				report.Survivors = append(report.Survivors, p)
				report.Why = "it left the session's control group"
			}
		}
		report.Ended += len(gone) - len(report.Survivors)
		report.Forced += len(gone) - len(report.Survivors)
	}
	t.log.Warn("guard was lost", "session", t.name, "ended", report.Ended, "survivors", len(report.Survivors))
	return report, err
}

// tagOf returns the entry of env that marks what belongs to a session.
func tagOf(env []string) (tag string) {
	for _, kv := range env {
		if strings.HasPrefix(kv, "PTYKEEP_SESSION=") {
			tag = kv
		}
	}
	return tag
}

// Processes implements teardown.Target.
func (s strays) Processes() ([]backend.Process, error) {
	list, err := teardown.OnTerminal(s.session, s.rdev)
	if err != nil {
		return nil, err
	}
	listed := make(map[identity]bool, len(list))
	for _, p := range list {
		id := identity{p.PID, p.Start}
		listed[id] = true
		s.known[id] = true
	}
	// One that is about to end, or was orphaned, is on no terminal any more.
	for id := range s.known {
		if listed[id] {
			continue
		}
		if p, ok := teardown.Inspect(id.pid); ok && p.Start == id.start {
			list = append(list, p)
		} else {
			delete(s.known, id)
		}
	}
	return list, nil
}

// Children implements teardown.Target. Nothing here is ours to reap: these are
// killed by identity.
func (s strays) Children() ([]backend.Process, error) { return s.Processes() }

// Signal implements teardown.Target.
func (s strays) Signal(p backend.Process, sig syscall.Signal) error { return teardown.Send(p, sig) }

// Reap implements teardown.Target. Whoever adopted the processes reaps them.
func (s strays) Reap(ctx context.Context) (empty bool, err error) {
	list, err := s.Processes()
	if err != nil || len(list) == 0 {
		return err == nil, err
	}
	select {
	case <-ctx.Done():
	case <-time.After(strayPause):
	}
	return false, nil
}
