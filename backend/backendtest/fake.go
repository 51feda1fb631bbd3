// Package backendtest has what tests of and above a backend need: [Fake], a
// terminal without a program, [Backend], which starts such terminals, and [Run],
// the suite that every real backend passes.
package backendtest

import (
	"context"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/ptykeep/ptykeep/backend"
)

// Fake is a terminal whose program is the test. It has every power of package
// backend. It blocks on channels only, so it works in a synctest bubble, and its
// time is virtual there. All methods may be called concurrently.
//
// A new Fake has a program that reads all input at once, in the foreground
// group 100, which is also its own pid, with the flags of a cooked terminal.
type Fake struct {
	spec backend.Spec
	done chan struct{}

	mu       sync.Mutex    // guards what follows
	changed  chan struct{} // closed and replaced when anything changes
	output   []byte        // emitted, not read yet
	produced int64
	eof      bool
	written  []byte // everything that was written
	unread   int    // how much of its end no program has read
	capacity int    // how much may be unread before Write blocks; -1: all is read at once
	deadline time.Time
	exit     backend.Exit
	exited   bool
	isClosed bool
	probe    backend.Probe
	probeErr error
	probes   int
	forced   *bool // the answer of Unread, when a test forces one
	serves   func() (yes bool, used time.Duration)
	onWrite  func(p []byte)
	onSignal func(sig syscall.Signal) error
	onEnd    func(ctx context.Context) (backend.Report, error)
	signals  []syscall.Signal
	sizes    []backend.Size
	settled  int
	discards int
	ends     int
}

var (
	_ backend.Terminal   = (*Fake)(nil)
	_ backend.Terminator = (*Fake)(nil)
	_ backend.Signaller  = (*Fake)(nil)
	_ backend.Prober     = (*Fake)(nil)
	_ backend.Listener   = (*Fake)(nil)
	_ backend.Input      = (*Fake)(nil)
	_ backend.Drainer    = (*Fake)(nil)
	_ backend.Resizer    = (*Fake)(nil)
	_ backend.Settler    = (*Fake)(nil)
	_ backend.Napper     = (*Fake)(nil)
	_ backend.Identifier = (*Fake)(nil)
)

// FakePID is the number of a Fake's own program, and of its group.
const FakePID = 100

// NewFake returns a running terminal.
func NewFake(spec backend.Spec) *Fake {
	return &Fake{
		spec: spec, done: make(chan struct{}), changed: make(chan struct{}), capacity: -1,
		sizes: []backend.Size{spec.Size},
		probe: backend.Probe{
			PGID: FakePID, PID: FakePID, Command: "fake", Own: true, Wait: backend.WaitNone,
			Flags: backend.Flags{Canonical: true, Echo: true, Signals: true, CRNL: true, Erase: 0x7f, LineMax: 4095},
		},
	}
}

// change runs f under the lock and wakes whoever waits.
func (f *Fake) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
	close(f.changed)
	f.changed = make(chan struct{})
}

// Emit writes to the terminal as its program would. It never blocks.
func (f *Fake) Emit(output string) { f.change(func() { f.output = append(f.output, output...) }) }

// EOF ends the output: Read returns io.EOF after what was emitted.
func (f *Fake) EOF() { f.change(func() { f.eof = true }) }

// Finish ends the program; the output goes on until EOF. Only the first call
// counts.
func (f *Fake) Finish(e backend.Exit) {
	f.change(func() {
		if !f.exited {
			f.exited, f.exit = true, e
			close(f.done)
		}
	})
}

// End is Finish with an exit code, and EOF.
func (f *Fake) End(code int) {
	f.Finish(backend.Exit{Code: code})
	f.EOF()
}

// SetProbe sets what Probe returns.
func (f *Fake) SetProbe(p backend.Probe, err error) {
	f.change(func() { f.probe, f.probeErr = p, err })
}

// UpdateProbe changes what Probe returns.
func (f *Fake) UpdateProbe(update func(p *backend.Probe)) { f.change(func() { update(&f.probe) }) }

// OnListening sets what Listening answers; without it nothing listens.
func (f *Fake) OnListening(h func() (yes bool, used time.Duration)) {
	f.change(func() { f.serves = h })
}

// SetUnread forces the answer of Unread until Hold, Release or Consume.
func (f *Fake) SetUnread(unread bool) { f.change(func() { f.forced = &unread }) }

// Hold stops the program from reading. The terminal takes capacity more bytes,
// then Write blocks.
func (f *Fake) Hold(capacity int) {
	f.change(func() { f.capacity, f.unread, f.forced = max(capacity, 0), 0, nil })
}

// Consume has a held program read up to n bytes.
func (f *Fake) Consume(n int) {
	f.change(func() { f.unread, f.forced = max(f.unread-n, 0), nil })
}

// Release has the program read what is there and all that comes.
func (f *Fake) Release() { f.change(func() { f.capacity, f.unread, f.forced = -1, 0, nil }) }

// OnWrite has h called after each piece of input that the terminal took, by the
// writer and with no lock held: the place to echo or to answer. p is h's own.
func (f *Fake) OnWrite(h func(p []byte)) { f.change(func() { f.onWrite = h }) }

// OnSignal has h called for each signal, with no lock held; an error is what
// Signal returns.
func (f *Fake) OnSignal(h func(sig syscall.Signal) error) { f.change(func() { f.onSignal = h }) }

// OnTerminate replaces what Terminate does, which is to end the program with
// SIGHUP, and the output, and to report one process if it still ran. For a
// failure return an error or Survivors.
func (f *Fake) OnTerminate(h func(ctx context.Context) (backend.Report, error)) {
	f.change(func() { f.onEnd = h })
}

// Spec returns what the terminal was started with.
func (f *Fake) Spec() backend.Spec { return f.spec }

// Written returns everything that was written to the terminal.
func (f *Fake) Written() string { return look(f, func() string { return string(f.written) }) }

// Signals returns the signals that were sent.
func (f *Fake) Signals() []syscall.Signal {
	return look(f, func() []syscall.Signal { return slices.Clone(f.signals) })
}

// Sizes returns the sizes that the terminal had, the first one included.
func (f *Fake) Sizes() []backend.Size {
	return look(f, func() []backend.Size { return slices.Clone(f.sizes) })
}

// Counts returns how often the terminal was probed, settled, discarded input and
// was terminated.
func (f *Fake) Counts() Counts {
	return look(f, func() Counts {
		return Counts{Probes: f.probes, Settled: f.settled, Discards: f.discards, Terminates: f.ends}
	})
}

// Counts is how often the methods of a Fake were called.
type Counts struct{ Probes, Settled, Discards, Terminates int }

// Closed reports whether Close was called.
func (f *Fake) Closed() bool { return look(f, func() bool { return f.isClosed }) }

func look[T any](f *Fake, get func() T) T {
	f.mu.Lock()
	defer f.mu.Unlock()
	return get()
}
