package ptyservice

import (
	"context"
	"io"
	"sync"
	"testing/synctest"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/backend/backendtest"
)

// hooked is a fake terminal whose calls a test looks into. A hook that is nil
// does nothing.
type hooked struct {
	*backendtest.Fake

	mu      sync.Mutex
	onProbe func() error // guarded by mu; before each look; an error is what Probe returns

	// Set before the terminal is opened, or while nothing moves.
	onRead    func() // after the Fake has given output, before it is returned
	readError error  // instead of the end of output
	onSettled func()
	write     func(f *backendtest.Fake, p []byte) (int, error) // instead of Write
}

func (h *hooked) Probe() (backend.Probe, error) {
	h.mu.Lock()
	hook := h.onProbe
	h.mu.Unlock()
	if hook != nil {
		if err := hook(); err != nil {
			return backend.Probe{}, err
		}
	}
	return h.Fake.Probe()
}

// look sets what happens before each look, from now on.
func (h *hooked) look(hook func() error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.onProbe = hook
}

func (h *hooked) Read(p []byte) (int, error) {
	n, err := h.Fake.Read(p)
	if err == io.EOF && h.readError != nil {
		err = h.readError
	}
	if h.onRead != nil {
		h.onRead()
	}
	return n, err
}

func (h *hooked) Settled() {
	h.Fake.Settled()
	if h.onSettled != nil {
		h.onSettled()
	}
}

func (h *hooked) Write(p []byte) (int, error) {
	if h.write != nil {
		return h.write(h.Fake, p)
	}
	return h.Fake.Write(p)
}

// wrapping starts terminals that wrap makes of Fakes.
type wrapping struct {
	*backendtest.Backend
	wrap func(*backendtest.Fake) backend.Terminal
}

func (w wrapping) Start(ctx context.Context, spec backend.Spec) (backend.Terminal, error) {
	t, err := w.Backend.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	return w.wrap(t.(*backendtest.Fake)), nil
}

// hook makes the terminals that r opens from now on hooked.
func (r *rig) hook(h *hooked) {
	r.backends["shell"] = wrapping{r.backend, func(f *backendtest.Fake) backend.Terminal {
		h.Fake = f
		return h
	}}
}

// stubborn makes terminals fail to end until release is called.
func stubborn(f *backendtest.Fake, err error) (release func()) {
	f.OnTerminate(func(context.Context) (backend.Report, error) { return backend.Report{}, err })
	return func() { f.OnTerminate(nil) }
}

// sending is a send that another goroutine runs.
type sending struct {
	done   chan struct{}
	result Result
	err    error
}

// sendIn sends text in the background of the test, and returns when nothing moves
// any more.
func (r *rig) sendIn(ctx context.Context, s *Session, text string) *sending {
	x := &sending{done: make(chan struct{})}
	go func() { // ends with the send
		x.result, x.err = run(ctx, s, SendRequest{Text: &text, Submit: true})
		close(x.done)
	}()
	synctest.Wait()
	return x
}
