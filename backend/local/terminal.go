package local

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/backend/local/guard"
	"github.com/ptykeep/ptykeep/teardown"
)

// sameDir reports whether two names lead to the same directory.
func sameDir(a, b string) bool {
	if b == "" {
		return false
	}
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// Terminal is the server's side of a terminal: every power that package backend
// knows. All methods may be called concurrently.
//
// Locks: none of them is held while another is taken, except readMu, under
// which the slave is closed.
type Terminal struct {
	// Fixed at creation.
	log    *slog.Logger
	name   string
	grace  time.Duration
	master *os.File // non-blocking; Fd must never be called on it
	slave  *os.File // our own, blocking and not watched by the poller; closed early
	rdev   uint64   // device number of the slave
	tag    string   // of the session, in the environment: "NAME=value"

	orphanage *orphanage // where the tree of a lost guard goes; nil for none
	// Set once, before Start returns.
	fence   *fence  // the guard began in; nil for none
	startup string  // private directory of the start-up files, "" for none
	warden  *warden // nil only if the guard could not be started
	program backend.Process

	// The program's end. exit is written before done is closed.
	finishOnce sync.Once
	done       chan struct{}
	exit       backend.Exit

	closeOnce   sync.Once
	closed      chan struct{}
	settledOnce sync.Once

	readMu   sync.Mutex // guards the next two, together with the read itself
	produced int64
	ended    bool // the program has: the slave goes when output runs dry

	deadlineMu sync.Mutex // guards the next one, and orders changes of the deadline
	unwritable bool

	probeMu sync.Mutex // guards waits: its methods are called one at a time
	waits   *waits     // nil before the program runs and after Close

	attemptMu sync.Mutex // guards attempt
	attempt   *attempt
}

var (
	_ backend.Terminal   = (*Terminal)(nil)
	_ backend.Terminator = (*Terminal)(nil)
	_ backend.Signaller  = (*Terminal)(nil)
	_ backend.Prober     = (*Terminal)(nil)
	_ backend.Listener   = (*Terminal)(nil)
	_ backend.Input      = (*Terminal)(nil)
	_ backend.Drainer    = (*Terminal)(nil)
	_ backend.Resizer    = (*Terminal)(nil)
	_ backend.Settler    = (*Terminal)(nil)
	_ backend.Napper     = (*Terminal)(nil)
	_ backend.Identifier = (*Terminal)(nil)
	_ backend.Locator    = (*Terminal)(nil)
	_ backend.Describer  = (*Terminal)(nil)
)

func newTerminal(p pair, spec backend.Spec, log *slog.Logger) *Terminal {
	return &Terminal{
		log: log, name: spec.Name, grace: spec.Grace,
		master: p.master, slave: p.own, rdev: p.rdev, tag: tagOf(spec.Env),
		done: make(chan struct{}), closed: make(chan struct{}),
	}
}

// begin records that the program runs.
func (t *Terminal) begin(program backend.Process) {
	t.program = program
	t.probeMu.Lock()
	defer t.probeMu.Unlock()
	t.waits = newWaits(program.PID, t.rdev)
}

// finish records the program's end; only the first call counts.
func (t *Terminal) finish(e backend.Exit) {
	t.finishOnce.Do(func() {
		t.exit = e
		close(t.done)
		t.stopWrites()
		t.releaseSlave()
	})
}

// Done implements backend.Terminal.
func (t *Terminal) Done() <-chan struct{} { return t.done }

// Exit implements backend.Terminal.
func (t *Terminal) Exit() backend.Exit {
	select {
	case <-t.done:
		return t.exit
	default:
		return backend.Exit{}
	}
}

// PID implements backend.Identifier.
func (t *Terminal) PID() int { return t.program.PID }

// Settled implements backend.Settler.
func (t *Terminal) Settled() {
	t.settledOnce.Do(func() {
		if t.startup == "" {
			return
		}
		if err := os.RemoveAll(t.startup); err != nil {
			t.log.Warn("removing start-up directory", "session", t.name, "err", err)
		}
	})
}

// Close implements backend.Terminal. If Terminate has not ended the tree, the
// guard does so now, with the grace of the Spec, and nobody waits for it.
func (t *Terminal) Close() error {
	t.closeOnce.Do(func() {
		close(t.closed)
		// Nothing was buffered, so there is nothing to lose; the slave may be
		// closed already.
		_ = t.master.Close()
		_ = t.slave.Close()
		if t.warden != nil {
			t.warden.hangUp()
		}
		t.fence.remove() // or survive does, if the guard lives
		t.Settled()
		t.probeMu.Lock()
		defer t.probeMu.Unlock()
		if t.waits != nil {
			t.waits.close()
			t.waits = nil
		}
	})
	return nil
}

// survive waits for the end of the guard and ends what a lost one leaves: the
// session is over, whether or not somebody closes it.
func (t *Terminal) survive() {
	<-t.warden.gone
	if t.warden.lost() {
		_, _ = t.Terminate(context.Background()) // logs what is left
	}
	t.fence.remove()
}

// attempt is one run of Terminate, shared by its callers. report and err are
// valid once done is closed.
type attempt struct {
	done   chan struct{}
	report backend.Report
	err    error
}

func (a *attempt) failed() bool {
	select {
	case <-a.done:
		return a.err != nil || len(a.report.Survivors) > 0
	default:
		return false
	}
}

// Terminate implements backend.Terminator. After it has succeeded, further calls
// return the same report. It goes on when ctx ends; the next call joins it.
//
// If the guard is gone, it ends what that left: all of it after Adopt, else what
// can still be found, the session on this terminal and its descendants. The
// report is Partial then.
func (t *Terminal) Terminate(ctx context.Context) (backend.Report, error) {
	t.attemptMu.Lock()
	a := t.attempt
	if a == nil || a.failed() {
		a = &attempt{done: make(chan struct{})}
		t.attempt = a
		// Ends with the guard's report or the guard, both within the grace and
		// the bounds of package teardown.
		go t.end(a)
	}
	t.attemptMu.Unlock()
	select {
	case <-a.done:
		return a.report, a.err
	case <-ctx.Done():
		return backend.Report{}, context.Cause(ctx)
	}
}

func (t *Terminal) end(a *attempt) {
	defer close(a.done)
	early := t.endForeign()
	defer func() { a.report.Ended += early }()
	report, lost := t.warden.terminate(t.grace)
	if !lost && len(report.Survivors) > 0 {
		if t.fence.kill() {
			// With the guard, which has nothing left to do.
			<-t.warden.gone
			a.report, a.err = t.endStrays()
			a.report = merge(report.Report, a.report)
			a.report.Forced += len(report.Survivors) - len(a.report.Survivors)
			t.Settled()
			return
		}
		// The last means; whatever it helps is over soon.
		t.hangUp()
		var more guard.Report
		if more, lost = t.warden.terminate(0); !lost {
			more.Report = merge(report.Report, more.Report)
			report = more
		}
	}
	if lost {
		strays, err := t.endStrays()
		a.report, a.err = merge(report.Report, strays), err
		t.Settled()
		return
	}
	a.report = report.Report
	if report.Err != "" {
		a.err = errors.New("ending process tree: " + report.Err)
	}
	if a.err == nil && len(a.report.Survivors) == 0 {
		// The guard has nothing left to do.
		t.warden.hangUp()
		<-t.warden.gone
		t.Settled()
	}
}

// merge adds what a second run over the survivors of the first one came to.
func merge(first, second backend.Report) backend.Report {
	gone := max(len(first.Survivors)-len(second.Survivors), 0)
	second.Ended = first.Ended + max(second.Ended, gone)
	second.Forced += first.Forced
	second.Killed = append(first.Killed, second.Killed...)
	second.Killed = second.Killed[:min(len(second.Killed), teardown.MaxKilled)]
	second.Elapsed += first.Elapsed
	return second
}
