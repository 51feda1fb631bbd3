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

func TestReadErrorLosesTheSession(t *testing.T) {
	bubble(t, func(r *rig) {
		r.hook(&hooked{readError: syscall.EIO})
		s, sh := r.open("")
		sh.commands(never)
		x := r.sendIn(r.t.Context(), s, "job")
		sh.EOF() // the read of the output fails
		if <-x.done; !errors.Is(x.err, ErrSessionLost) {
			r.t.Errorf("the active send: %s after %v, %v; want ErrSessionLost", x.result.Reason, x.result.Elapsed, x.err)
		}
		if _, err := r.send(s, "more"); !errors.Is(err, ErrSessionLost) {
			r.t.Errorf("a later send: %v, want ErrSessionLost", err)
		}
		if sh.Written() != "job\r" {
			r.t.Errorf("typed %q", sh.Written())
		}
	})
}

func TestCloseDuringTheWriteEndsTheSend(t *testing.T) {
	for range 20 {
		bubble(t, func(r *rig) {
			s, sh := r.open("")
			sh.Hold(10)
			x := r.sendIn(r.t.Context(), s, strings.Repeat("x", 100))
			if _, err := s.Close(r.t.Context()); err != nil {
				r.t.Error(err)
			}
			if <-x.done; x.err != nil || x.result.Reason != readiness.SessionExit {
				r.t.Errorf("the send: %q, %v; want session_exit", x.result.Reason, x.err)
			}
		})
	}
}

func TestCloseDuringTheLookBeforeTheWriteEndsTheSend(t *testing.T) {
	bubble(t, func(r *rig) {
		h := &hooked{}
		r.hook(h)
		s, sh := r.open("")
		look := make(chan struct{})
		h.look(func() error { <-look; return nil })
		x := r.sendIn(r.t.Context(), s, "first")
		closed := make(chan error, 1)
		go func() { _, err := s.Close(r.t.Context()); closed <- err }()
		synctest.Wait()
		close(look)
		if <-x.done; x.err != nil || x.result.Reason != readiness.SessionExit || sh.Written() != "" {
			r.t.Errorf("the send: %q, %v, typed %q; want session_exit, nothing typed", x.result.Reason, x.err, sh.Written())
		}
		if err := <-closed; err != nil {
			r.t.Error(err)
		}
	})
}

func TestCancelAfterReadyIsAborted(t *testing.T) {
	bubble(t, func(r *rig) {
		ctx, cancel := context.WithCancelCause(r.t.Context())
		r.hook(&hooked{onSettled: func() { cancel(ErrGone) }})
		if _, err := r.Open(ctx, "me", OpenRequest{}); !errors.Is(err, ErrAborted) {
			r.t.Errorf("error %v, want ErrAborted", err)
		}
	})
}

func TestUnfinishedCharacterAtTheEnd(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.OnWrite(func([]byte) { sh.begin("x"); sh.Emit("caf\xc3"); sh.End(0) })
		got, err := r.send(s, "x")
		if want := "caf\ufffd"; err != nil || got.Viewport.text() != want {
			r.t.Errorf("got %q, error %v; want %q", got.Viewport.text(), err, want)
		}
	})
}

func TestPageOfALongLine(t *testing.T) {
	bubble(t, func(r *rig) {
		r.cfg.MaxReadBytes = 64
		s, sh := r.open("")
		sh.Emit("\r\n" + strings.Repeat("0123456789", 100) + "\r\n")
		synctest.Wait()
		for _, q := range []ReadRequest{{Count: 10}, {From: 2, Count: 1}} {
			p, err := s.Read(q)
			if err != nil || len(p.Text) > 64 {
				r.t.Errorf("%+v: %d bytes, truncated %v, %v; want at most 64", q, len(p.Text), p.Truncated, err)
			}
		}
	})
}

func TestSearchOfALongLine(t *testing.T) {
	bubble(t, func(r *rig) {
		r.cfg.MaxReadBytes = 64
		s, sh := r.open("")
		sh.Emit("\r\n" + strings.Repeat("0123456789", 100) + "\r\n")
		synctest.Wait()
		p, err := s.Read(ReadRequest{Count: 10, Search: re("123")})
		if err != nil || len(p.Text) > 64 {
			r.t.Errorf("%d bytes, truncated %v, %v; want at most 64", len(p.Text), p.Truncated, err)
		}
	})
}

// plain is a terminal with no power at all.
type plain struct{ backend.Terminal }

func (p plain) Close() error {
	p.Terminal.(*backendtest.Fake).End(0)
	return p.Terminal.Close()
}

func TestTerminalWithoutPowersCanBeClosed(t *testing.T) {
	bubble(t, func(r *rig) {
		r.backends["shell"] = wrapping{r.backend, func(f *backendtest.Fake) backend.Terminal { return plain{f} }}
		o, err := r.Open(r.t.Context(), "me", OpenRequest{Command: []string{"x"}, Timeout: after(0)})
		if err != nil {
			r.t.Fatal(err)
		}
		if _, err := o.Session.Close(r.t.Context()); err != nil {
			r.t.Error(err)
		}
	})
}

func TestBackgroundSendOfBadTextIsRefused(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		text := "a\x03"
		if _, err := s.StartTask(SendRequest{Text: &text, Submit: true}); !errors.Is(err, ErrInvalid) {
			r.t.Errorf("error %v, want ErrInvalid", err)
		}
		sh.UpdateProbe(func(p *backend.Probe) { p.Flags.Canonical, p.Flags.LineMax = true, 4095 })
		synctest.Wait()
		long := strings.Repeat("x", 5000)
		if _, err := s.StartTask(SendRequest{Text: &long, Submit: true}); !errors.Is(err, ErrLineTooLong) {
			r.t.Errorf("error %v, want ErrLineTooLong", err)
		}
	})
}

func TestCancelDuringALookThatFailsStillInterrupts(t *testing.T) {
	bubble(t, func(r *rig) {
		h := &hooked{}
		r.hook(h)
		s, sh := r.open("")
		sh.commands(never)
		ctx, cancel := context.WithCancelCause(r.t.Context())
		first := r.sendIn(ctx, s, "first")
		look := make(chan struct{})
		h.look(func() error { <-look; return errors.New("no terminal") })
		time.Sleep(time.Second)
		cancel(ErrCancelled)
		synctest.Wait()
		close(look)
		if <-first.done; !errors.Is(first.err, ErrAborted) || len(sh.Signals()) != 1 {
			r.t.Errorf("the first: %v, signals %v; want ErrAborted and an interrupt", first.err, sh.Signals())
		}
	})
}

func TestExitBeforeTheLook(t *testing.T) {
	bubble(t, func(r *rig) {
		h := &hooked{}
		r.hook(h)
		s, sh := r.open("")
		h.look(func() error { sh.End(3); synctest.Wait(); return errors.New("process done") })
		got, err := r.send(s, "x")
		if !errors.Is(err, ErrSessionExited) && (err != nil || got.Reason != readiness.SessionExit) {
			r.t.Errorf("got %s, %v; want session_exit or ErrSessionExited", got.Reason, err)
		}
	})
}

func TestKilledBeforeTheWrite(t *testing.T) {
	bubble(t, func(r *rig) {
		h := &hooked{}
		r.hook(h)
		s, sh := r.open("")
		look := make(chan struct{})
		looks := 0
		h.look(func() error {
			if looks++; looks > 1 { // the first decides whether the text is refused
				<-look
			}
			return nil
		})
		text := "job"
		task, err := s.StartTask(SendRequest{Text: &text, Submit: true})
		if err != nil {
			r.t.Fatal(err)
		}
		synctest.Wait()
		if out, err := task.Output(r.t.Context(), 0); err != nil || out.Status != TaskRunning {
			r.t.Errorf("%+v, %v", out, err)
		}
		if !task.Kill() {
			r.t.Error("had ended")
		}
		close(look)
		out, err := task.Output(r.t.Context(), time.Minute)
		if err != nil || out.Status != TaskKilled || sh.Written() != "" || len(sh.Signals()) > 0 {
			r.t.Errorf("got %+v, %v, typed %q, signals %v", out, err, sh.Written(), sh.Signals())
		}
	})
}

func re(s string) *regexp.Regexp { return regexp.MustCompile(s) }
