package ptyservice

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/backend/backendtest"
)

// TestRandomInterleavings lets owners open, send, cancel, signal and close at
// random until they go, and holds what must be true whatever the order.
func TestRandomInterleavings(t *testing.T) {
	seeds := 30
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newStorm(t, uint64(seed)).run() })
		})
	}
}

// storm is one run: a service, owners that do things, and what they must not do.
type storm struct {
	*Service
	t       *testing.T
	seed    uint64
	backend *backendtest.Backend

	mu        sync.Mutex // guards what follows
	cancelled []string   // texts that were cancelled before their send began
}

func newStorm(t *testing.T, seed uint64) *storm {
	b := &backendtest.Backend{}
	r := rand.New(rand.NewPCG(seed, 0))
	var mu sync.Mutex // guards r
	b.OnStart = func(ctx context.Context, f *backendtest.Fake) error {
		mu.Lock()
		kind := r.Uint64()
		mu.Unlock()
		return erratic(ctx, f, kind)
	}
	c := DefaultConfig()
	c.WorkspaceRoot, c.MaxSessions = t.TempDir(), 4
	s, err := New(c, Options{Backends: map[string]backend.Backend{"shell": b}})
	if err != nil {
		t.Fatal(err)
	}
	return &storm{Service: s, t: t, seed: seed, backend: b}
}

// erratic plays a shell that is slow, fails, exits, stops reading or cannot be
// ended at the first try, as its seed says.
func erratic(ctx context.Context, f *backendtest.Fake, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 1))
	sh := &shell{Fake: f, dir: "/"}
	if r.IntN(4) == 0 {
		select {
		case <-time.After(time.Duration(r.IntN(3000)) * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	var mu sync.Mutex // r and writing belong to several goroutines
	writing := 0
	sh.OnWrite(func(p []byte) {
		mu.Lock()
		if writing++; writing > 1 {
			panic("two writes at a time")
		}
		kind, pause := r.IntN(8), time.Duration(r.IntN(2000))*time.Millisecond
		mu.Unlock()
		line := strings.TrimSuffix(string(p), "\r")
		sh.begin(line)
		time.Sleep(time.Millisecond)
		mu.Lock()
		writing--
		mu.Unlock()
		switch kind {
		case 0:
			sh.End(1)
		case 1: // never answers
		case 2:
			time.AfterFunc(pause, func() { sh.Emit("late\r\n"); sh.prompt(0) })
		default:
			sh.Emit(line + "\r\n")
			sh.prompt(0)
		}
	})
	sh.OnSignal(func(syscall.Signal) error { sh.prompt(130); return nil })
	if r.IntN(5) == 0 {
		tries := 0
		sh.OnTerminate(func(context.Context) (backend.Report, error) {
			mu.Lock()
			defer mu.Unlock()
			if tries++; tries == 1 {
				return backend.Report{}, errors.New("cannot be ended yet")
			}
			sh.End(0)
			return backend.Report{Ended: 1}, nil
		})
	}
	if r.IntN(6) == 0 {
		sh.Hold(r.IntN(20))
	}
	sh.prompt(0)
	return nil
}

func (s *storm) run() {
	var wg sync.WaitGroup
	for i := range 3 {
		owner := fmt.Sprintf("owner%d", i)
		for j := range 3 {
			wg.Go(func() { s.act(owner, rand.New(rand.NewPCG(s.seed, uint64(10*i+j+100)))) })
		}
		wg.Go(func() {
			time.Sleep(time.Duration(20+10*i) * time.Second)
			for s.CloseOwner(s.t.Context(), owner) != nil { // a failed close is tried again
				time.Sleep(time.Second)
			}
		})
	}
	wg.Wait()
	for s.Close(s.t.Context()) != nil {
		time.Sleep(time.Second)
	}
	s.check()
}

// act does 60 random things to the sessions of owner.
func (s *storm) act(owner string, r *rand.Rand) {
	for i := range 60 {
		time.Sleep(time.Duration(r.IntN(800)) * time.Millisecond)
		list := s.List(owner)
		if len(list) == 0 || r.IntN(6) == 0 {
			ctx, cancel := context.WithTimeoutCause(s.t.Context(), time.Duration(r.IntN(3000))*time.Millisecond, ErrCancelled)
			_, _ = s.Open(ctx, owner, OpenRequest{Name: fmt.Sprint("n", r.IntN(3)), Timeout: after(2 * time.Second)}) // may fail in any way
			cancel()
			continue
		}
		session := list[r.IntN(len(list))]
		s.invariants(session)
		switch r.IntN(10) {
		case 0:
			_, _ = session.Close(s.t.Context()) // likewise
		case 1:
			_, _ = session.Signal(syscall.SIGINT)
		case 2:
			if task, err := session.StartTask(SendRequest{Text: new(string), Submit: true}); err == nil && r.IntN(2) == 0 {
				task.Kill()
			}
		default:
			s.send(session, fmt.Sprintf("%s-%d-%d", owner, r.IntN(1e9), i), r)
		}
	}
}

// send types text, with a context that ends before, during or after.
func (s *storm) send(session *Session, text string, r *rand.Rand) {
	causes := []error{ErrCancelled, ErrDetached, ErrGone}
	ctx, cancel := context.WithCancelCause(s.t.Context())
	defer cancel(nil)
	switch r.IntN(4) {
	case 0:
		cancel(causes[r.IntN(3)])
		s.mu.Lock()
		s.cancelled = append(s.cancelled, text)
		s.mu.Unlock()
	case 1:
		cause := causes[r.IntN(3)]
		stop := time.AfterFunc(time.Duration(r.IntN(1500))*time.Millisecond, func() { cancel(cause) })
		defer stop.Stop()
	}
	_, _ = run(ctx, session, SendRequest{Text: &text, Submit: true, Timeout: after(time.Duration(r.IntN(4000)) * time.Millisecond)})
}

// invariants holds at any moment: whoever follows a session holds its slot.
func (s *storm) invariants(x *Session) {
	x.mu.Lock()
	defer x.mu.Unlock()
	// A session that is listed is open: nobody but a send follows it.
	if len(x.watches) > 1 || len(x.watches) == 1 && !x.sending {
		s.t.Errorf("%d sends wait, slot taken: %v", len(x.watches), x.sending)
	}
}

// check holds at the end: nothing is left, and what was cancelled first was
// never typed.
func (s *storm) check() {
	s.Service.mu.Lock()
	defer s.Service.mu.Unlock()
	if len(s.sessions) > 0 || len(s.tasks) > 0 {
		s.t.Errorf("%d sessions and %d tasks are left", len(s.sessions), len(s.tasks))
	}
	for id, o := range s.owners {
		if len(o.sessions) > 0 || len(o.names) > 0 || len(o.spawns) > 0 || o.running != 0 {
			s.t.Errorf("%s has %d sessions, names %v, %d spawns, %d tasks", id, len(o.sessions), o.names, len(o.spawns), o.running)
		}
	}
	for _, f := range s.backend.Terminals() {
		if !f.Closed() {
			s.t.Error("a terminal is not closed")
		}
		for _, text := range s.cancelled {
			if strings.Contains(f.Written(), text) {
				s.t.Errorf("%q was typed after its cancellation", text)
			}
		}
	}
}
