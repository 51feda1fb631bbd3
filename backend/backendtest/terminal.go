package backendtest

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/ptykeep/ptykeep/backend"
)

// Read implements backend.Terminal.
func (f *Fake) Read(p []byte) (int, error) {
	for {
		f.mu.Lock()
		n := copy(p, f.output)
		f.output = f.output[n:]
		f.produced += int64(n)
		changed, eof, closed := f.changed, f.eof, f.isClosed
		f.mu.Unlock()
		switch {
		case closed:
			return 0, os.ErrClosed
		case n > 0 || len(p) == 0:
			return n, nil
		case eof:
			return 0, io.EOF
		}
		<-changed
	}
}

// Write implements backend.Terminal.
func (f *Fake) Write(p []byte) (n int, err error) {
	for {
		took, h, changed, deadline, err := f.take(p[n:])
		if took > 0 && h != nil {
			h(slices.Clone(p[n : n+took]))
		}
		n += took
		if err != nil || n == len(p) {
			return n, err
		}
		if !await(changed, deadline) {
			return n, os.ErrDeadlineExceeded
		}
	}
}

// take puts as much of p into the input as there is room for.
func (f *Fake) take(p []byte) (n int, h func([]byte), changed <-chan struct{}, deadline time.Time, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.isClosed:
		return 0, nil, nil, time.Time{}, os.ErrClosed
	case f.exited:
		return 0, nil, nil, time.Time{}, fmt.Errorf("writing to terminal: %w", os.ErrProcessDone)
	case !f.deadline.IsZero() && !time.Now().Before(f.deadline):
		return 0, nil, nil, time.Time{}, os.ErrDeadlineExceeded
	}
	n = len(p)
	if f.capacity >= 0 {
		n = max(min(n, f.capacity-f.unread), 0)
		f.unread += n
	}
	f.written = append(f.written, p[:n]...)
	return n, f.onWrite, f.changed, f.deadline, nil
}

// await waits for changed and reports whether it came before the deadline.
func await(changed <-chan struct{}, deadline time.Time) bool {
	var expired <-chan time.Time
	if !deadline.IsZero() {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-changed:
		return true
	case <-expired:
		return false
	}
}

// Close implements backend.Terminal.
func (f *Fake) Close() error {
	f.change(func() { f.isClosed = true })
	return nil
}

// SetWriteDeadline implements backend.Terminal.
func (f *Fake) SetWriteDeadline(d time.Time) error {
	f.change(func() { f.deadline = d })
	return nil
}

// Done implements backend.Terminal.
func (f *Fake) Done() <-chan struct{} { return f.done }

// Exit implements backend.Terminal.
func (f *Fake) Exit() backend.Exit { return look(f, func() backend.Exit { return f.exit }) }

// Terminate implements backend.Terminator.
func (f *Fake) Terminate(ctx context.Context) (backend.Report, error) {
	var report backend.Report
	var h func(context.Context) (backend.Report, error)
	f.change(func() {
		f.ends++
		if h = f.onEnd; h == nil && !f.exited {
			report.Ended = 1
		}
	})
	if h != nil {
		return h(ctx)
	}
	f.Finish(backend.Exit{Signal: syscall.SIGHUP})
	f.EOF()
	return report, nil
}

// Signal implements backend.Signaller. The group is the probe's.
func (f *Fake) Signal(sig syscall.Signal) (pgid int, err error) {
	pgid, h, err := f.signal(sig)
	if err == nil && h != nil {
		err = h(sig)
	}
	return pgid, err
}

func (f *Fake) signal(sig syscall.Signal) (pgid int, h func(syscall.Signal) error, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.isClosed:
		return 0, nil, os.ErrClosed
	case f.exited:
		return 0, nil, fmt.Errorf("signalling foreground group: %w", os.ErrProcessDone)
	case f.probe.PGID == 0:
		return 0, nil, backend.ErrNoForeground
	case sig == syscall.SIGKILL && f.probe.Own:
		return f.probe.PGID, nil, backend.ErrOwnProgram
	}
	f.signals = append(f.signals, sig)
	return f.probe.PGID, f.onSignal, nil
}

// Probe implements backend.Prober.
func (f *Fake) Probe() (backend.Probe, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.probes++
	if f.isClosed {
		return backend.Probe{}, os.ErrClosed
	}
	return f.probe, f.probeErr
}

// Listening implements backend.Listener.
func (f *Fake) Listening() (yes bool, used time.Duration, err error) {
	h := look(f, func() func() (bool, time.Duration) { return f.serves })
	if h == nil {
		return false, 0, nil
	}
	yes, used = h()
	return yes, used, nil
}

// Unread implements backend.Input.
func (f *Fake) Unread() (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.isClosed:
		return false, os.ErrClosed
	case f.forced != nil:
		return *f.forced, nil
	default:
		return f.unread > 0, nil
	}
}

// Queued implements backend.Input.
func (f *Fake) Queued() (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.isClosed {
		return 0, os.ErrClosed
	}
	return f.unread, nil
}

// Discard implements backend.Input.
func (f *Fake) Discard() (err error) {
	f.change(func() {
		if f.isClosed {
			err = os.ErrClosed
			return
		}
		f.discards++
		f.unread, f.forced = 0, nil
	})
	return err
}

// Produced implements backend.Drainer.
func (f *Fake) Produced() (offset int64, more bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.isClosed {
		return f.produced, false, os.ErrClosed
	}
	return f.produced, len(f.output) > 0, nil
}

// Resize implements backend.Resizer.
func (f *Fake) Resize(s backend.Size) (err error) {
	f.change(func() {
		if f.isClosed {
			err = os.ErrClosed
			return
		}
		f.sizes = append(f.sizes, s)
	})
	return err
}

// Settled implements backend.Settler.
func (f *Fake) Settled() { f.change(func() { f.settled++ }) }

// Nap implements backend.Napper. In a synctest bubble it takes exactly d.
func (f *Fake) Nap(d time.Duration) { time.Sleep(min(d, time.Millisecond)) }

// PID implements backend.Identifier.
func (f *Fake) PID() int { return FakePID }
