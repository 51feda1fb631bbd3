package backendtest

import (
	"context"
	"sync"

	"github.com/ptykeep/ptykeep/backend"
)

// Backend starts Fakes. The zero value works. Set OnStart before the first
// Start.
type Backend struct {
	// OnStart, if set, is called by Start with the new terminal before that is
	// returned: the place for a first prompt, for an error, or to block until
	// ctx ends. After an error Start closes the terminal and returns the error.
	OnStart func(ctx context.Context, f *Fake) error

	mu      sync.Mutex // guards what follows
	started []*Fake
}

var _ backend.Backend = (*Backend)(nil)

// Start implements backend.Backend.
func (b *Backend) Start(ctx context.Context, spec backend.Spec) (backend.Terminal, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	f := NewFake(spec)
	b.mu.Lock()
	b.started = append(b.started, f)
	b.mu.Unlock()
	if b.OnStart != nil {
		if err := b.OnStart(ctx, f); err != nil {
			_ = f.Close() // never fails
			return nil, err
		}
	}
	return f, nil
}

// Terminals returns the terminals in the order of their Start, failed starts
// included.
func (b *Backend) Terminals() []*Fake {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]*Fake(nil), b.started...)
}

// Last returns the terminal that was started last, nil if none was.
func (b *Backend) Last() *Fake {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.started) == 0 {
		return nil
	}
	return b.started[len(b.started)-1]
}
