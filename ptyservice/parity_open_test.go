package ptyservice

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/backend/backendtest"
)

// working plays a program that never gets ready.
func working(_ context.Context, f *backendtest.Fake) error {
	f.UpdateProbe(func(p *backend.Probe) { p.Wait = backend.WaitNone })
	return nil
}

// atPrompt plays a shell at its prompt.
func atPrompt(_ context.Context, f *backendtest.Fake) error {
	(&shell{Fake: f, dir: "/home"}).prompt(0)
	return nil
}

func TestServiceNeedsABackend(t *testing.T) {
	c := DefaultConfig()
	c.WorkspaceRoot = t.TempDir()
	if _, err := New(c, Options{}); err == nil {
		t.Error("got a service without a backend")
	}
}

func TestOpenWithAnEndedContextStartsNothing(t *testing.T) {
	bubble(t, func(r *rig) {
		ctx, cancel := context.WithCancelCause(r.t.Context())
		cancel(ErrCancelled)
		if _, err := r.Open(ctx, "me", OpenRequest{Name: "x"}); !errors.Is(err, ErrAborted) || !errors.Is(err, ErrCancelled) {
			r.t.Errorf("error %v, want ErrAborted with its cause", err)
		}
		if n := len(r.backend.Terminals()); n > 0 {
			r.t.Errorf("%d terminals were started", n)
		}
		r.open("x") // the name is free
	})
}

func TestNameOfASpawnIsTaken(t *testing.T) {
	bubble(t, func(r *rig) {
		release := make(chan struct{})
		r.backend.OnStart = func(ctx context.Context, f *backendtest.Fake) error { <-release; return atPrompt(ctx, f) }
		opened := make(chan error)
		go func() { _, err := r.Open(r.t.Context(), "me", OpenRequest{Name: "x"}); opened <- err }()
		synctest.Wait()
		if _, err := r.Open(r.t.Context(), "me", OpenRequest{Name: "x"}); !errors.Is(err, ErrDuplicateName) {
			r.t.Errorf("error %v, want ErrDuplicateName", err)
		}
		close(release)
		if err := <-opened; err != nil {
			r.t.Errorf("the first: %v", err)
		}
	})
}

func TestSpawnsUnderDifferentNamesRunTogether(t *testing.T) {
	bubble(t, func(r *rig) {
		release := make(chan struct{})
		r.backend.OnStart = func(ctx context.Context, f *backendtest.Fake) error { <-release; return atPrompt(ctx, f) }
		opened := make(chan error)
		for _, name := range []string{"a", "b"} {
			go func() { _, err := r.Open(r.t.Context(), "me", OpenRequest{Name: name}); opened <- err }()
		}
		synctest.Wait()
		if n := len(r.backend.Terminals()); n != 2 {
			r.t.Errorf("%d starts at a time, want 2", n)
		}
		close(release)
		for range 2 {
			if err := <-opened; err != nil {
				r.t.Error(err)
			}
		}
		if n := len(r.List("me")); n != 2 {
			r.t.Errorf("%d sessions, want 2", n)
		}
	})
}

func TestFailureOfTheBackendIsTold(t *testing.T) {
	bubble(t, func(r *rig) {
		fault := errors.New("no such machine")
		r.backend.OnStart = func(context.Context, *backendtest.Fake) error { return fault }
		_, err := r.Open(r.t.Context(), "me", OpenRequest{Name: "x"})
		var failed *StartError
		if !errors.As(err, &failed) || !errors.Is(err, fault) {
			r.t.Errorf("error %v, want a StartError with %v", err, fault)
		}
		r.backend.OnStart = atPrompt
		r.open("x") // the name is free
	})
}

func TestStartThatFailsBecauseOfTheCancelTellsTheCause(t *testing.T) {
	bubble(t, func(r *rig) {
		r.backend.OnStart = func(ctx context.Context, _ *backendtest.Fake) error {
			<-ctx.Done()
			return errors.New("fork failed")
		}
		ctx, cancel := context.WithCancelCause(r.t.Context())
		time.AfterFunc(time.Second, func() { cancel(ErrCancelled) })
		_, err := r.Open(ctx, "me", OpenRequest{})
		if !errors.Is(err, ErrAborted) || !errors.Is(err, ErrCancelled) || strings.Contains(err.Error(), "fork") {
			r.t.Errorf("error %v, want the cause of the cancel", err)
		}
	})
}

func TestCancelDuringStartUpWithoutForegroundTellsTheCause(t *testing.T) {
	bubble(t, func(r *rig) {
		r.backend.OnStart = func(_ context.Context, f *backendtest.Fake) error {
			f.UpdateProbe(func(p *backend.Probe) { p.PGID, p.PID, p.Own, p.Wait = 0, 0, false, backend.WaitNone })
			return nil
		}
		ctx, cancel := context.WithCancelCause(r.t.Context())
		time.AfterFunc(time.Second, func() { cancel(ErrCancelled) })
		if _, err := r.Open(ctx, "me", OpenRequest{}); !errors.Is(err, ErrCancelled) || errors.Is(err, ErrNoForeground) {
			r.t.Errorf("error %v, want the cause of the cancel", err)
		}
		if f := r.backend.Last(); !f.Closed() || len(r.List("me")) > 0 {
			r.t.Error("something is left of it")
		}
	})
}

func TestSessionThatIsReadyTooLateIsRolledBack(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(r *rig, cancel context.CancelCauseFunc)
		want error
	}{
		{"cancelled", func(_ *rig, cancel context.CancelCauseFunc) { cancel(ErrCancelled) }, ErrCancelled},
		{"owner gone", func(r *rig, _ context.CancelCauseFunc) {
			r.later(func() error { return r.CloseOwner(r.t.Context(), "me") })
		}, ErrOwnerNotLive},
		{"stopped", func(r *rig, _ context.CancelCauseFunc) { r.later(func() error { return r.Close(r.t.Context()) }) }, ErrDisposing},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				ctx, cancel := context.WithCancelCause(r.t.Context())
				defer cancel(nil)
				r.hook(&hooked{onSettled: func() { test.end(r, cancel) }}) // it is ready, but nobody knows it yet
				_, err := r.Open(ctx, "me", OpenRequest{Name: "x"})
				if !errors.Is(err, test.want) {
					r.t.Errorf("error %v, want %v", err, test.want)
				}
				if f := r.backend.Last(); !f.Closed() || f.Counts().Terminates != 1 || len(r.List("me")) > 0 {
					r.t.Errorf("closed %v, ended %d times, %d sessions listed", f.Closed(), f.Counts().Terminates, len(r.List("me")))
				}
			})
		})
	}
}

// later starts a disposal that waits for the open it is called from, and returns
// when that has been told.
func (r *rig) later(dispose func() error) {
	go func() { // ends with the open
		if err := dispose(); err != nil {
			r.t.Errorf("disposal: %v", err)
		}
	}()
	time.Sleep(time.Millisecond)
}

func TestDisposalWaitsForTheRollback(t *testing.T) {
	for _, test := range []struct {
		name    string
		dispose func(r *rig) error
		want    error
	}{
		{"owner", func(r *rig) error { return r.CloseOwner(r.t.Context(), "me") }, ErrOwnerNotLive},
		{"service", func(r *rig) error { return r.Service.Close(r.t.Context()) }, ErrDisposing},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.backend.OnStart = func(ctx context.Context, _ *backendtest.Fake) error {
					<-ctx.Done()
					time.Sleep(7 * time.Second) // what a backend needs to clean up
					return context.Cause(ctx)
				}
				opened := make(chan error, 1)
				go func() { _, err := r.Open(r.t.Context(), "me", OpenRequest{}); opened <- err }()
				synctest.Wait()
				began := time.Now()
				if err := test.dispose(r); err != nil {
					r.t.Error(err)
				}
				if took := time.Since(began); took != 7*time.Second {
					r.t.Errorf("disposal took %v, want 7s, the time of the rollback", took)
				}
				if err := <-opened; !errors.Is(err, test.want) {
					r.t.Errorf("the open: %v, want %v", err, test.want)
				}
				if _, err := r.Open(r.t.Context(), "me", OpenRequest{}); !errors.Is(err, test.want) {
					r.t.Errorf("a later open: %v, want %v", err, test.want)
				}
			})
		})
	}
}

// A cancelled open whose rollback fails is kept, so that the disposal of its
// owner tries again and tells.
func TestRollbackThatFailedIsTriedAgainByDisposal(t *testing.T) {
	for _, test := range []struct {
		name    string
		dispose func(r *rig) error
	}{
		{"owner", func(r *rig) error { return r.CloseOwner(r.t.Context(), "me") }},
		{"service", func(r *rig) error { return r.Service.Close(r.t.Context()) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				stuck := errors.New("stuck")
				release := func() {}
				r.backend.OnStart = func(ctx context.Context, f *backendtest.Fake) error {
					release = stubborn(f, stuck)
					return working(ctx, f)
				}
				ctx, cancel := context.WithCancelCause(r.t.Context())
				time.AfterFunc(time.Second, func() { cancel(ErrCancelled) })
				if _, err := r.Open(ctx, "me", OpenRequest{Name: "x"}); !errors.Is(err, ErrCancelled) {
					r.t.Errorf("the open: %v, want ErrCancelled", err)
				}
				r.backend.OnStart = atPrompt
				r.open("x") // the name is free
				var failed *CleanupError
				if err := test.dispose(r); !errors.As(err, &failed) || !errors.Is(err, stuck) {
					r.t.Errorf("the first disposal: %v, want a CleanupError with %v", err, stuck)
				}
				release()
				if err := test.dispose(r); err != nil {
					r.t.Errorf("the second disposal: %v", err)
				}
				for i, f := range r.backend.Terminals() {
					if !f.Closed() {
						r.t.Errorf("terminal %d is not closed", i)
					}
				}
			})
		})
	}
}

func TestRollbackFailureIsToldToTheOpenAndTheDisposal(t *testing.T) {
	bubble(t, func(r *rig) {
		stuck := errors.New("stuck")
		release := func() {}
		r.backend.OnStart = func(ctx context.Context, f *backendtest.Fake) error {
			release = stubborn(f, stuck)
			return working(ctx, f)
		}
		opened := make(chan error, 1)
		go func() { _, err := r.Open(r.t.Context(), "me", OpenRequest{}); opened <- err }()
		synctest.Wait()
		if err := r.Service.Close(r.t.Context()); !errors.Is(err, stuck) {
			r.t.Errorf("disposal: %v, want %v", err, stuck)
		}
		if err := <-opened; !errors.Is(err, stuck) || !errors.Is(err, ErrDisposing) {
			r.t.Errorf("the open: %v, want %v and ErrDisposing", err, stuck)
		}
		release() // for the end of the test
	})
}

// A start-up that failed and could not be cleaned up tells both.
func TestFailedStartTellsAlsoItsRollback(t *testing.T) {
	bubble(t, func(r *rig) {
		stuck := errors.New("stuck")
		release := func() {}
		r.backend.OnStart = func(ctx context.Context, f *backendtest.Fake) error {
			release = stubborn(f, stuck)
			return working(ctx, f)
		}
		_, err := r.Open(r.t.Context(), "me", OpenRequest{Timeout: after(time.Second)})
		var start *StartError
		var cleanup *CleanupError
		if !errors.As(err, &start) || !start.Timeout || !errors.As(err, &cleanup) || !errors.Is(err, stuck) {
			r.t.Errorf("error %v, want the time-out and %v", err, stuck)
		}
		if len(r.List("me")) != 1 {
			r.t.Error("what could not be ended is not listed")
		}
		release()
	})
}

func TestStoppedServiceOpensNothing(t *testing.T) {
	bubble(t, func(r *rig) {
		_, mine := r.open("")
		yours, err := r.Open(r.t.Context(), "you", OpenRequest{})
		if err != nil {
			r.t.Fatal(err)
		}
		if err := r.Service.Close(r.t.Context()); err != nil {
			r.t.Error(err)
		}
		if !mine.Closed() || !yours.Session.Status().Exited {
			r.t.Error("a session is left")
		}
		if _, err := r.Open(r.t.Context(), "she", OpenRequest{}); !errors.Is(err, ErrDisposing) {
			r.t.Errorf("error %v, want ErrDisposing", err)
		}
	})
}

func TestSilentStartIsNotReady(t *testing.T) {
	bubble(t, func(r *rig) {
		r.backend.OnStart = func(_ context.Context, f *backendtest.Fake) error {
			f.UpdateProbe(func(p *backend.Probe) { p.Wait = backend.WaitUnknown })
			return nil
		}
		_, err := r.Open(r.t.Context(), "me", OpenRequest{})
		var failed *StartError
		if !errors.As(err, &failed) || !failed.Timeout {
			r.t.Errorf("error %v, want a start time-out: silence proves nothing", err)
		}
	})
}

// withoutPID is a terminal whose program is no process of this host.
type withoutPID struct {
	backend.Terminal
	backend.Terminator
	backend.Prober
}

func TestTerminalOfAnotherHostHasNoPID(t *testing.T) {
	bubble(t, func(r *rig) {
		r.backends["shell"] = wrapping{r.backend, func(f *backendtest.Fake) backend.Terminal { return withoutPID{f, f, f} }}
		s, _ := r.open("")
		if pid := s.Info().PID; pid != 0 {
			r.t.Errorf("pid %d, want none", pid)
		}
	})
}

// The marks and the prompt of one shell may come in any pieces.
func TestPromptInPiecesIsWaitedFor(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.OnWrite(func([]byte) {
			sh.begin("x")
			sh.UpdateProbe(func(p *backend.Probe) { p.PGID, p.PID, p.Own, p.Command = 100, 100, true, "bash" })
			sh.Emit(sh.mark("D;0;100;/home"))
			time.AfterFunc(300*time.Millisecond, func() { sh.Emit("$ ") })
			time.AfterFunc(600*time.Millisecond, func() {
				sh.UpdateProbe(func(p *backend.Probe) { p.Wait = backend.WaitExact })
				sh.Emit(sh.mark("B;100"))
			})
		})
		got, err := r.send(s, "x")
		if err != nil || got.Elapsed < 600*time.Millisecond || got.Viewport.Len() > 0 || got.ExitCode == nil {
			r.t.Errorf("got %q, exit code %v after %v, error %v; want nothing but the prompt, after 600ms", got.Viewport.text(), got.ExitCode, got.Elapsed, err)
		}
	})
}
