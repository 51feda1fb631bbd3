package ptyservice

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/backend/backendtest"
	"github.com/ptykeep/ptykeep/readiness"
)

func TestOpenIsReadyAtThePrompt(t *testing.T) {
	bubble(t, func(r *rig) {
		r.backend.OnStart = func(_ context.Context, f *backendtest.Fake) error {
			f.Emit("welcome\r\n")
			(&shell{Fake: f, dir: "/home"}).prompt(0)
			return nil
		}
		o, err := r.Open(r.t.Context(), "me", OpenRequest{Name: "main"})
		if err != nil {
			r.t.Fatal(err)
		}
		if o.MOTD.text() != "welcome" || o.Reason != readiness.StdinRead {
			r.t.Errorf("motd %q, reason %s", o.MOTD.text(), o.Reason)
		}
		if len(o.Withheld) != 1 || o.Withheld[0] != "MY_TOKEN" {
			r.t.Errorf("withheld %v, want MY_TOKEN", o.Withheld)
		}
		if !regexp.MustCompile(`^pty-[a-z2-7]{10}$`).MatchString(o.Session.ID()) {
			r.t.Errorf("id %q", o.Session.ID())
		}
		i := o.Session.Info()
		if i.Name != "main" || i.Dir != "/home" || i.Foreground.State != readiness.Prompt || i.Status.Exited {
			r.t.Errorf("info %+v", i)
		}
	})
}

func TestOwnersSeeTheirOwnSessionsOnly(t *testing.T) {
	bubble(t, func(r *rig) {
		s, _ := r.open("x")
		if _, err := r.Session("you", s.ID()); !errors.Is(err, ErrForeignSession) {
			r.t.Errorf("another's id: %v", err)
		}
		if _, err := r.Session("me", "pty-aaaaaaaaaa"); !errors.Is(err, ErrNoSession) {
			r.t.Errorf("an unknown id: %v", err)
		}
		if l := r.List("you"); len(l) > 0 {
			r.t.Errorf("another owner's list: %d sessions", len(l))
		}
		if _, err := r.Open(r.t.Context(), "you", OpenRequest{Name: "x"}); err != nil {
			r.t.Errorf("the same name of another owner: %v", err)
		}
	})
}

func TestNameIsTakenUntilTheSessionIsClosed(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("x")
		sh.End(0)
		synctest.Wait()
		if _, err := r.Open(r.t.Context(), "me", OpenRequest{Name: "x"}); !errors.Is(err, ErrDuplicateName) {
			r.t.Errorf("name of an exited session: %v", err)
		}
		if _, err := s.Close(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
		if _, err := r.Open(r.t.Context(), "me", OpenRequest{Name: "x"}); err != nil {
			r.t.Errorf("after the close: %v", err)
		}
	})
}

func TestBadOpens(t *testing.T) {
	for _, test := range []struct {
		name string
		r    OpenRequest
		want error
		says string
	}{
		{"type", OpenRequest{Type: "ssh"}, ErrNoBackend, "ssh"},
		{"directory", OpenRequest{Dir: "missing"}, ErrInvalid, "cwd"},
		{"columns", OpenRequest{Cols: 19}, ErrInvalid, "cols"},
		{"rows", OpenRequest{Rows: 501}, ErrInvalid, "rows"},
		{"name", OpenRequest{Name: "a\nb"}, ErrInvalid, "name"},
		{"long name", OpenRequest{Name: strings.Repeat("é", 65)}, ErrInvalid, "name"},
		{"command", OpenRequest{Command: []string{}}, ErrInvalid, "command"},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				_, err := r.Open(r.t.Context(), "me", test.r)
				if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
					r.t.Errorf("error %v, want %v with %q", err, test.want, test.says)
				}
				if n := len(r.backend.Terminals()); n > 0 {
					r.t.Errorf("%d terminals were started", n)
				}
			})
		})
	}
}

func TestOpenThatIsNeverReadyLeavesNothing(t *testing.T) {
	bubble(t, func(r *rig) {
		r.backend.OnStart = func(_ context.Context, f *backendtest.Fake) error {
			f.UpdateProbe(func(p *backend.Probe) { p.Wait = backend.WaitNone })
			f.Emit("loading")
			return nil
		}
		_, err := r.Open(r.t.Context(), "me", OpenRequest{Timeout: after(10 * time.Second)})
		var failed *StartError
		if !errors.As(err, &failed) || !failed.Timeout || failed.Output != "loading" {
			r.t.Fatalf("error %v, want a start time-out with the output", err)
		}
		if f := r.backend.Last(); !f.Closed() || f.Counts().Terminates == 0 || len(r.List("me")) > 0 {
			r.t.Error("something is left of it")
		}
	})
}

func TestShellThatEndsWhileItStartsIsAFailure(t *testing.T) {
	bubble(t, func(r *rig) {
		r.backend.OnStart = func(_ context.Context, f *backendtest.Fake) error { f.Emit("no home\r\n"); f.End(9); return nil }
		_, err := r.Open(r.t.Context(), "me", OpenRequest{})
		var failed *StartError
		if !errors.As(err, &failed) || failed.Timeout || failed.Exit == nil || failed.Exit.Code != 9 || !strings.Contains(failed.Output, "no home") {
			r.t.Errorf("error %+v, want exit 9 and the output", err)
		}
	})
}

func TestCommandThatHasEndedIsASession(t *testing.T) {
	bubble(t, func(r *rig) {
		r.backend.OnStart = func(_ context.Context, f *backendtest.Fake) error { f.Emit("42\r\n"); f.End(0); return nil }
		o, err := r.Open(r.t.Context(), "me", OpenRequest{Command: []string{"calc"}})
		if err != nil || o.Reason != readiness.SessionExit || o.MOTD.text() != "42" {
			r.t.Fatalf("got %+v, error %v", o, err)
		}
		if l := r.List("me"); len(l) != 1 || !l[0].Status().Exited {
			r.t.Error("it is not listed as exited")
		}
	})
}

func TestCancelledOpenIsRolledBack(t *testing.T) {
	bubble(t, func(r *rig) {
		r.backend.OnStart = func(_ context.Context, f *backendtest.Fake) error {
			f.UpdateProbe(func(p *backend.Probe) { p.Wait = backend.WaitNone })
			return nil
		}
		ctx, cancel := context.WithCancelCause(r.t.Context())
		time.AfterFunc(time.Second, func() { cancel(ErrCancelled) })
		_, err := r.Open(ctx, "me", OpenRequest{Name: "x"})
		if !errors.Is(err, ErrCancelled) || !r.backend.Last().Closed() {
			r.t.Errorf("error %v, closed %v", err, r.backend.Last().Closed())
		}
		r.backend.OnStart = func(_ context.Context, f *backendtest.Fake) error { (&shell{Fake: f}).prompt(0); return nil }
		if _, err := r.Open(r.t.Context(), "me", OpenRequest{Name: "x"}); err != nil {
			r.t.Errorf("its name is still taken: %v", err)
		}
	})
}

func TestOwnerThatGoesTakesItsSessionsAndSpawns(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		_, other := r.open("other")
		yours, err := r.Open(r.t.Context(), "you", OpenRequest{})
		if err != nil {
			r.t.Fatal(err)
		}
		r.backend.OnStart = func(ctx context.Context, f *backendtest.Fake) error { <-ctx.Done(); return context.Cause(ctx) }
		spawned := make(chan error)
		go func() { _, err := r.Open(r.t.Context(), "me", OpenRequest{}); spawned <- err }()
		synctest.Wait()
		gone := make(chan error)
		go func() { gone <- r.CloseOwner(r.t.Context(), "me") }()
		if err := <-spawned; !errors.Is(err, ErrOwnerNotLive) {
			r.t.Errorf("the spawn under way: %v", err)
		}
		if err := <-gone; err != nil {
			r.t.Error(err)
		}
		if !sh.Closed() || !other.Closed() {
			r.t.Error("a session is left")
		}
		if _, err := r.Session("me", s.ID()); !errors.Is(err, ErrNoSession) {
			r.t.Errorf("its id: %v", err)
		}
		if _, err := r.Open(r.t.Context(), "me", OpenRequest{}); !errors.Is(err, ErrOwnerNotLive) {
			r.t.Errorf("a late open: %v", err)
		}
		if yours.Session.Status().Exited {
			r.t.Error("another owner's session was ended")
		}
	})
}

func TestSessionLimitOfAnOwner(t *testing.T) {
	bubble(t, func(r *rig) {
		r.cfg.MaxSessions = 1
		r.open("")
		if _, err := r.Open(r.t.Context(), "me", OpenRequest{}); !errors.Is(err, ErrResourceLimit) {
			r.t.Errorf("error %v, want ErrResourceLimit", err)
		}
	})
}

func TestFailedCloseCanBeRepeated(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		stuck := backend.Process{PID: 77, UID: 1, Command: "stuck"}
		sh.OnTerminate(func(context.Context) (backend.Report, error) {
			return backend.Report{Survivors: []backend.Process{stuck}}, nil
		})
		_, err := s.Close(r.t.Context())
		var failed *CleanupError
		if !errors.As(err, &failed) || !strings.Contains(err.Error(), "77 (stuck") {
			r.t.Fatalf("error %v, want the survivor by pid and command", err)
		}
		if len(r.List("me")) != 1 {
			r.t.Error("it is not listed any more")
		}
		sh.OnTerminate(nil)
		if c, err := s.Close(r.t.Context()); err != nil || !c.Killed {
			r.t.Errorf("the second close: %+v, %v", c, err)
		}
		if len(r.List("me")) != 0 {
			r.t.Error("it is still listed")
		}
	})
}

func TestConcurrentClosesAreOne(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		release := make(chan struct{})
		sh.OnTerminate(func(context.Context) (backend.Report, error) {
			<-release
			sh.End(0)
			return backend.Report{Ended: 1}, nil
		})
		closes := make(chan Closed)
		for range 2 {
			go func() {
				c, err := s.Close(r.t.Context())
				if err != nil {
					r.t.Error(err)
				}
				closes <- c
			}()
		}
		synctest.Wait()
		if _, err := r.send(s, "x"); !errors.Is(err, ErrSessionClosing) {
			r.t.Errorf("a send meanwhile: %v", err)
		}
		if _, err := s.Signal(syscall.SIGINT); !errors.Is(err, ErrSessionClosing) {
			r.t.Errorf("a signal meanwhile: %v", err)
		}
		close(release)
		a, b := <-closes, <-closes
		if a.Killed == b.Killed || a.AlreadyClosing == b.AlreadyClosing {
			r.t.Errorf("got %+v and %+v, want one that killed and one that joined", a, b)
		}
	})
}

func TestCloseEndsTheActiveSend(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.commands(never)
		sent := make(chan Result)
		go func() {
			got, err := r.send(s, "sleep 60")
			if err != nil {
				r.t.Error(err)
			}
			sent <- got
		}()
		synctest.Wait()
		if _, err := s.Close(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
		if got := <-sent; got.Reason != readiness.SessionExit || !got.Status.Exited {
			r.t.Errorf("got %s, %+v", got.Reason, got.Status)
		}
	})
}

func TestKillOfTheSessionsOwnProgramIsRefused(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		if _, err := s.Signal(syscall.SIGKILL); !errors.Is(err, ErrShellKillRefused) {
			r.t.Errorf("error %v, want ErrShellKillRefused", err)
		}
		sh.UpdateProbe(func(p *backend.Probe) { p.PGID = 0 })
		if _, err := s.Signal(syscall.SIGINT); !errors.Is(err, ErrNoForeground) {
			r.t.Errorf("error %v, want ErrNoForeground", err)
		}
		if len(sh.Signals()) > 0 {
			r.t.Errorf("signalled %v", sh.Signals())
		}
	})
}

func TestMarksOfANestedShellAreNotOurs(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.OnWrite(func([]byte) {
			sh.begin("bash")
			sh.Emit(sh.mark("D;7;555;/else") + "nested$ " + sh.mark("B;555"))
		})
		text := "bash"
		got, err := run(r.t.Context(), s, SendRequest{Text: &text, Submit: true, Timeout: after(time.Second)})
		if err != nil || got.ExitCode != nil || got.Dir != "/home" || got.Reason != readiness.Timeout {
			r.t.Errorf("got %s, exit code %v, cwd %s, error %v", got.Reason, got.ExitCode, got.Dir, err)
		}
	})
}
