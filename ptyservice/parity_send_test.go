package ptyservice

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/backend/backendtest"
	"github.com/ptykeep/ptykeep/readiness"
)

func TestOutputBeforeTheWaitIsPartOfTheResult(t *testing.T) {
	bubble(t, func(r *rig) {
		h := &hooked{}
		r.hook(h)
		s, sh := r.open("")
		h.onRead = func() { time.Sleep(10 * time.Millisecond) } // the reader is slower than the program
		sh.commands(func(string) (string, int, bool) { return "first\r\nlast", 0, true })
		got, err := r.send(s, "x")
		if err != nil || got.Viewport.text() != "first\nlast" {
			r.t.Errorf("got %q, error %v; want all that was written before the wait", got.Viewport.text(), err)
		}
	})
}

func TestPromptDuringTheLookBeforeTheWriteDoesNotSettle(t *testing.T) {
	bubble(t, func(r *rig) {
		h := &hooked{}
		r.hook(h)
		s, sh := r.open("")
		h.look(func() error {
			h.look(nil)
			sh.prompt(3) // of an earlier command, drawn late
			return nil
		})
		sh.OnWrite(func([]byte) {
			sh.begin("x")
			time.AfterFunc(2*time.Second, func() { sh.Emit("mine\r\n"); sh.prompt(0) })
		})
		got, err := r.send(s, "x")
		if err != nil || got.Elapsed < 2*time.Second || got.Viewport.text() != "mine" || got.ExitCode == nil || *got.ExitCode != 0 {
			r.t.Errorf("got %q, exit code %v after %v, error %v; want mine, 0 after 2s", got.Viewport.text(), got.ExitCode, got.Elapsed, err)
		}
	})
}

func TestSilenceOfAProgramThatCannotBeSeenIsIdle(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.OnWrite(func([]byte) {
			sh.begin("x")
			sh.UpdateProbe(func(p *backend.Probe) { p.Wait = backend.WaitUnknown })
			sh.Emit("out\r\n")
		})
		got, err := r.send(s, "x")
		if err != nil || got.Reason != readiness.InferredIdle || got.Foreground.Evidence != readiness.BySilence || got.Elapsed < r.cfg.IdleSilence || got.Elapsed > r.cfg.IdleSilence+time.Second {
			r.t.Errorf("got %s by %s after %v, error %v; want inferred_idle by silence after %v", got.Reason, got.Foreground.Evidence, got.Elapsed, err, r.cfg.IdleSilence)
		}
	})
}

// A shell that cannot be seen and has drawn its prompt, while another group is
// still in front.
func TestHandoffGraceIsAddedAfterAPromptMark(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.OnWrite(func([]byte) {
			sh.begin("x")
			sh.prompt(0)
			sh.UpdateProbe(func(p *backend.Probe) { p.PGID, p.PID, p.Own, p.Wait = 200, 200, false, backend.WaitUnknown })
		})
		got, err := r.send(s, "x")
		want := r.cfg.IdleSilence + r.cfg.HandoffGrace
		if err != nil || got.Reason != readiness.InferredIdle || got.Elapsed < want || got.Elapsed > want+time.Second {
			r.t.Errorf("got %s after %v, error %v; want inferred_idle after %v", got.Reason, got.Elapsed, err, want)
		}
	})
}

func TestPromptCountsOnceTheShellIsInFront(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.OnWrite(func([]byte) {
			sh.begin("x")
			sh.prompt(0)
			job := func(p *backend.Probe) { p.PGID, p.PID, p.Own, p.Wait = 200, 200, false, backend.WaitNone }
			sh.UpdateProbe(job)
			time.AfterFunc(5*time.Second, func() { sh.prompt(0) })
		})
		got, err := r.send(s, "x")
		if err != nil || got.Reason != readiness.StdinRead || got.Foreground.State != readiness.Prompt || got.Elapsed < 5*time.Second {
			r.t.Errorf("got %s, %s after %v, error %v; want stdin_read at the prompt after 5s", got.Reason, got.Foreground.State, got.Elapsed, err)
		}
	})
}

func TestWriteErrorFailsTheSendAndFreesTheSlot(t *testing.T) {
	bubble(t, func(r *rig) {
		h := &hooked{}
		r.hook(h)
		s, sh := r.open("")
		h.write = func(*backendtest.Fake, []byte) (int, error) { return 0, syscall.EIO }
		if _, err := r.send(s, "x"); !errors.Is(err, ErrSessionLost) || !errors.Is(err, syscall.EIO) {
			r.t.Errorf("error %v, want ErrSessionLost with EIO", err)
		}
		if len(sh.Signals()) > 0 {
			r.t.Errorf("signalled %v", sh.Signals())
		}
		h.write = nil
		sh.commands(echo)
		if got, err := r.send(s, "again"); err != nil || got.Viewport.text() != "again" {
			r.t.Errorf("the next send: %q, %v", got.Viewport.text(), err)
		}
	})
}

func TestCancelDuringTheLookBeforeTheWriteWritesNothing(t *testing.T) {
	bubble(t, func(r *rig) {
		h := &hooked{}
		r.hook(h)
		s, sh := r.open("")
		ctx, cancel := context.WithCancelCause(r.t.Context())
		h.look(func() error { cancel(ErrCancelled); return nil })
		text := "rm -rf x"
		if _, err := run(ctx, s, SendRequest{Text: &text, Submit: true}); !errors.Is(err, ErrAborted) {
			r.t.Errorf("error %v, want ErrAborted", err)
		}
		if sh.Written() != "" || len(sh.Signals()) > 0 {
			r.t.Errorf("typed %q, signalled %v; want neither", sh.Written(), sh.Signals())
		}
	})
}

func TestLookThatFailsLosesTheSession(t *testing.T) {
	for _, test := range []struct {
		name string
		look int // that fails
	}{{"before the write", 1}, {"while it waits", 3}} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				h := &hooked{}
				r.hook(h)
				s, sh := r.open("")
				sh.commands(never)
				fault, looks := errors.New("no terminal"), 0
				h.look(func() error {
					if looks++; looks == test.look {
						return fault
					}
					return nil
				})
				if _, err := r.send(s, "x"); !errors.Is(err, ErrSessionLost) || !errors.Is(err, fault) {
					r.t.Errorf("error %v, want ErrSessionLost with %v", err, fault)
				}
				if typed := sh.Written() != ""; typed != (test.look > 1) {
					r.t.Errorf("typed %q", sh.Written())
				}
				if _, err := run(r.t.Context(), s, SendRequest{Timeout: after(0)}); err != nil {
					r.t.Errorf("the slot is not free: %v", err)
				}
			})
		})
	}
}

func TestSlotIsKeptUntilTheInterruptIsDelivered(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.commands(never)
		delivered := make(chan struct{})
		sh.OnSignal(func(syscall.Signal) error { <-delivered; return nil })
		ctx, cancel := context.WithCancelCause(r.t.Context())
		first := r.sendIn(ctx, s, "first")
		cancel(ErrCancelled)
		time.Sleep(time.Minute) // also beyond the time-out of the send
		if _, err := r.send(s, "second"); !errors.Is(err, ErrSendActive) {
			r.t.Errorf("while the interrupt is on its way: %v, want ErrSendActive", err)
		}
		close(delivered)
		if <-first.done; !errors.Is(first.err, ErrAborted) {
			r.t.Errorf("the first: %v, want ErrAborted", first.err)
		}
		sh.commands(echo)
		if got, err := r.send(s, "third"); err != nil || got.Viewport.text() != "third" {
			r.t.Errorf("after it: %q, %v", got.Viewport.text(), err)
		}
		if sh.Written() != "first\rthird\r" || len(sh.Signals()) != 1 {
			r.t.Errorf("typed %q, signalled %v", sh.Written(), sh.Signals())
		}
	})
}

func TestCancelDuringALook(t *testing.T) {
	bubble(t, func(r *rig) {
		h := &hooked{}
		r.hook(h)
		s, sh := r.open("")
		sh.commands(never)
		ctx, cancel := context.WithCancelCause(r.t.Context())
		first := r.sendIn(ctx, s, "first")
		look, looked := make(chan struct{}), make(chan struct{})
		var once sync.Once
		h.look(func() error { once.Do(func() { close(looked); <-look }); return nil })
		<-looked
		cancel(ErrCancelled)
		synctest.Wait()
		if _, err := r.send(s, "second"); !errors.Is(err, ErrSendActive) {
			r.t.Errorf("meanwhile: %v, want ErrSendActive", err)
		}
		if len(sh.Signals()) > 0 {
			r.t.Errorf("signalled %v before the look was over", sh.Signals())
		}
		close(look)
		if <-first.done; !errors.Is(first.err, ErrAborted) || !slices.Equal(slices.Compact(sh.Signals()), []syscall.Signal{syscall.SIGINT}) {
			r.t.Errorf("the first: %v, signals %v; want ErrAborted and an interrupt, again for one that did not heed it", first.err, sh.Signals())
		}
		sh.commands(echo)
		if got, err := r.send(s, "third"); err != nil || got.Reason != readiness.StdinRead {
			r.t.Errorf("after it: %s, %v", got.Reason, err)
		}
	})
}

func TestInterruptComesAfterTheWrite(t *testing.T) {
	bubble(t, func(r *rig) {
		var mu sync.Mutex
		var log []string
		note := func(what string) { mu.Lock(); defer mu.Unlock(); log = append(log, what) }
		h := &hooked{write: func(f *backendtest.Fake, p []byte) (int, error) {
			n, err := f.Write(p)
			note("written")
			return n, err
		}}
		r.hook(h)
		s, sh := r.open("")
		sh.Hold(10)
		sh.OnSignal(func(syscall.Signal) error { note("signal"); return nil })
		ctx, cancel := context.WithCancelCause(r.t.Context())
		first := r.sendIn(ctx, s, strings.Repeat("x", 100))
		cancel(ErrCancelled)
		if <-first.done; !errors.Is(first.err, ErrAborted) {
			r.t.Errorf("error %v, want ErrAborted", first.err)
		}
		if got := strings.Join(log, " "); got != "written signal" {
			r.t.Errorf("got %q, want one write and then one signal", got)
		}
		if n, err := sh.Queued(); n != 0 || err != nil {
			r.t.Errorf("%d bytes are left unread, %v", n, err)
		}
		sh.Release()
		sh.commands(echo)
		if _, err := r.send(s, "next"); err != nil {
			r.t.Errorf("the next send: %v", err)
		}
		if got := sh.Written(); got != "xxxxxxxxxxnext\r" {
			r.t.Errorf("typed %q: more after the cancel", got)
		}
	})
}

func TestCancelledWriteThatTookNothingSignalsNobody(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.Hold(0)
		ctx, cancel := context.WithCancelCause(r.t.Context())
		first := r.sendIn(ctx, s, "x")
		cancel(ErrCancelled)
		if <-first.done; !errors.Is(first.err, ErrAborted) {
			r.t.Errorf("error %v, want ErrAborted", first.err)
		}
		if len(sh.Signals()) > 0 || sh.Written() != "" {
			r.t.Errorf("signalled %v, typed %q; want neither", sh.Signals(), sh.Written())
		}
		sh.Release()
		sh.commands(echo)
		if got, err := r.send(s, "next"); err != nil || got.Viewport.text() != "next" {
			r.t.Errorf("the next send: %q, %v", got.Viewport.text(), err)
		}
	})
}

func TestSlotIsKeptWhileTheWriteIsStalled(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.Hold(10)
		first := r.sendIn(r.t.Context(), s, strings.Repeat("x", 100))
		time.Sleep(29 * time.Second)
		if _, err := r.send(s, "second"); !errors.Is(err, ErrSendActive) {
			r.t.Errorf("meanwhile: %v, want ErrSendActive", err)
		}
		<-first.done
		var stalled *StalledError
		if !errors.As(first.err, &stalled) || stalled.Read != 0 || stalled.Total != 101 {
			r.t.Errorf("error %v, want 0 of 101 bytes", first.err)
		}
		sh.Release()
		sh.commands(echo)
		if got, err := r.send(s, "third"); err != nil || got.Viewport.text() != "third" {
			r.t.Errorf("after it: %q, %v", got.Viewport.text(), err)
		}
	})
}

func TestExitDuringTheInterrupt(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.commands(never)
		sh.OnSignal(func(syscall.Signal) error { sh.End(1); return nil })
		ctx, cancel := context.WithCancelCause(r.t.Context())
		first := r.sendIn(ctx, s, "first")
		cancel(ErrCancelled)
		if <-first.done; !errors.Is(first.err, ErrAborted) {
			r.t.Errorf("error %v, want ErrAborted", first.err)
		}
		synctest.Wait()
		looks := sh.Counts().Probes
		if _, err := r.send(s, "more"); !errors.Is(err, ErrSessionExited) {
			r.t.Errorf("after it: %v, want ErrSessionExited", err)
		}
		if time.Sleep(time.Minute); sh.Counts().Probes != looks {
			r.t.Errorf("looked %d times after the exit", sh.Counts().Probes-looks)
		}
	})
}

func TestInterruptThatFailsIsTold(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.commands(never)
		fault := errors.New("no permission")
		sh.OnSignal(func(syscall.Signal) error { return fault })
		ctx, cancel := context.WithCancelCause(r.t.Context())
		first := r.sendIn(ctx, s, "first")
		cancel(ErrCancelled)
		if <-first.done; !errors.Is(first.err, ErrAborted) || !errors.Is(first.err, fault) {
			r.t.Errorf("error %v, want ErrAborted with %v", first.err, fault)
		}
		if sh.Counts().Discards == 0 {
			r.t.Error("nothing was taken back")
		}
	})
}

func TestSignalGoesToTheForegroundGroup(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.commands(never)
		x := r.sendIn(r.t.Context(), s, "job")
		pgid, err := s.Signal(syscall.SIGTERM)
		if err != nil || pgid != 200 || !slices.Equal(sh.Signals(), []syscall.Signal{syscall.SIGTERM}) {
			r.t.Errorf("group %d, signals %v, error %v; want SIGTERM to 200", pgid, sh.Signals(), err)
		}
		if strings.Contains(sh.Written(), "\x03") {
			r.t.Errorf("typed %q instead", sh.Written())
		}
		sh.prompt(143)
		<-x.done
	})
}
