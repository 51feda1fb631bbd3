// Package ptyservice keeps terminal sessions for owners: it opens them, types
// into them, waits until they are ready, reads them back, signals and closes
// them, and lets nobody reach what another opened.
//
// A Service holds the table; a Session is one terminal, with two goroutines of
// its own: pump, the only reader of its output, and reap, which waits for its
// program. All a session knows is changed in Session.update, which wakes
// whoever waits. Package screen turns bytes into text, package readiness decides
// when a program waits for input, package backend runs it.
package ptyservice

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/ptykeep/ptykeep/backend"
)

// Service keeps the sessions of all owners. Its methods may be called
// concurrently. Whoever made it must call Close.
type Service struct {
	cfg      Config
	backends map[string]backend.Backend
	environ  []string // the server's own environment
	log      *slog.Logger

	sandbox    *backend.Sandbox // of all sessions; nil: none
	sandboxErr error            // why none can be opened

	// mu guards what follows. It is held for look-ups only, never while a
	// session is talked to; no other lock is taken under it.
	mu        sync.Mutex
	owners    map[string]*owner
	sessions  map[string]*Session
	tasks     map[string]*Task // running ones, and ended ones of open sessions
	disposing bool
}

// Options are what a Service needs besides its settings.
type Options struct {
	Backends map[string]backend.Backend // by the type that terminal_open names
	Environ  []string                   // the environment children start from
	Log      *slog.Logger               // nil discards
}

// owner is whoever opens sessions: a connection, a principal.
type owner struct {
	sessions []*Session          // published, in the order of opening
	names    map[string]bool     // taken by published sessions and by spawns
	spawns   map[*spawn]struct{} // under way
	gone     bool                // no further session may be opened
	running  int                 // tasks
}

// spawn is a session that is being opened.
type spawn struct {
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when it is published or rolled back
}

// New returns a Service without sessions. It copies c and o.
func New(c Config, o Options) (*Service, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if len(o.Backends) == 0 {
		return nil, errors.New("a service needs a backend")
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	sandbox, sandboxErr := c.sandbox(o.Environ)
	if sandboxErr != nil {
		log.Warn("no terminal can be opened", "error", sandboxErr)
	}
	return &Service{
		cfg: c, backends: maps.Clone(o.Backends), environ: slices.Clone(o.Environ), log: log,
		sandbox: sandbox, sandboxErr: sandboxErr,
		owners: map[string]*owner{}, sessions: map[string]*Session{}, tasks: map[string]*Task{},
	}, nil
}

// Config returns the settings.
func (s *Service) Config() Config { return s.cfg }

// Session returns the session id of an owner. The id is looked up before the
// owner is compared, so that ErrNoSession and ErrForeignSession tell them apart.
func (s *Service) Session(ownerID, id string) (*Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session := s.sessions[id]
	switch {
	case session == nil:
		return nil, fmt.Errorf("%q: %w", id, ErrNoSession)
	case session.owner != ownerID:
		return nil, fmt.Errorf("%q: %w", id, ErrForeignSession)
	}
	return session, nil
}

// List returns the owner's sessions in the order of opening, exited ones
// included.
func (s *Service) List(ownerID string) []*Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.owners[ownerID]; o != nil {
		return slices.Clone(o.sessions)
	}
	return nil
}

// reserve admits a spawn under name and returns it with the context it runs in.
func (s *Service) reserve(ctx context.Context, ownerID, typ, name string) (context.Context, *spawn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.disposing {
		return nil, nil, ErrDisposing
	}
	o := s.owners[ownerID]
	if o == nil {
		o = &owner{names: map[string]bool{}, spawns: map[*spawn]struct{}{}}
		s.owners[ownerID] = o
	}
	switch {
	case o.gone:
		return nil, nil, ErrOwnerNotLive
	case s.backends[typ] == nil:
		return nil, nil, fmt.Errorf("type %q (there are: %v): %w", typ, slices.Sorted(maps.Keys(s.backends)), ErrNoBackend)
	case name != "" && o.names[name]:
		return nil, nil, fmt.Errorf("%q: %w", name, ErrDuplicateName)
	case len(o.sessions)+len(o.spawns) >= s.cfg.MaxSessions:
		return nil, nil, fmt.Errorf("%d sessions are open: %w", len(o.sessions)+len(o.spawns), ErrResourceLimit)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	sp := &spawn{cancel: cancel, done: make(chan struct{})}
	o.spawns[sp] = struct{}{}
	if name != "" {
		o.names[name] = true
	}
	return ctx, sp, nil
}

// publish makes session known to its owner, unless the spawn was cancelled
// meanwhile; then it returns why.
func (s *Service) publish(ctx context.Context, session *Session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return abortError(ctx)
	}
	s.admit(session)
	return nil
}

// admit enters session in the tables. s.mu is held.
func (s *Service) admit(session *Session) {
	s.sessions[session.id] = session
	o := s.owners[session.owner]
	o.sessions = append(o.sessions, session)
}

// settle ends a spawn. A name without a session becomes free.
func (s *Service) settle(ownerID string, sp *spawn, name string, published bool) {
	s.mu.Lock()
	o := s.owners[ownerID]
	delete(o.spawns, sp)
	if !published && name != "" {
		delete(o.names, name)
	}
	s.mu.Unlock()
	sp.cancel(nil)
	close(sp.done)
}

// remove forgets a session that has been closed.
func (s *Service) remove(session *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, session.id)
	s.dropTasks(session)
	o := s.owners[session.owner]
	o.sessions = slices.DeleteFunc(o.sessions, func(x *Session) bool { return x == session })
	if session.name != "" {
		delete(o.names, session.name)
	}
}

// CloseOwner ends an owner: it can open nothing more, its spawns are cancelled
// and awaited, and all its sessions are closed. The error joins the closes that
// failed; those sessions stay, and a further call tries them again.
func (s *Service) CloseOwner(ctx context.Context, ownerID string) error {
	return s.dispose(ctx, ownerID, ErrOwnerNotLive)
}

// Close ends all owners, and the service with them.
func (s *Service) Close(ctx context.Context) error {
	s.mu.Lock()
	s.disposing = true
	owners := slices.Collect(maps.Keys(s.owners))
	s.mu.Unlock()
	return each(owners, func(id string) error { return s.dispose(ctx, id, ErrDisposing) })
}

func (s *Service) dispose(ctx context.Context, ownerID string, why error) error {
	s.mu.Lock()
	o := s.owners[ownerID]
	if o == nil {
		o = &owner{}
		s.owners[ownerID] = o // so that a late open is refused
	}
	o.gone = true
	spawns := slices.Collect(maps.Keys(o.spawns))
	s.mu.Unlock()
	for _, sp := range spawns {
		sp.cancel(why)
	}
	for _, sp := range spawns {
		<-sp.done // ends: a cancelled start awaits its own rollback, which is bounded
	}
	return each(s.List(ownerID), func(session *Session) error {
		_, err := session.Close(ctx)
		return err
	})
}

// each runs f for all items at once and joins the errors.
func each[T any](items []T, f func(T) error) error {
	errs := make([]error, len(items))
	var wg sync.WaitGroup
	for i, item := range items {
		wg.Go(func() { errs[i] = f(item) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
