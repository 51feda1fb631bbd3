package ptyservice

import (
	"context"
	"errors"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/readiness"
)

func TestDisposalTriesEverySessionAndTellsAll(t *testing.T) {
	bubble(t, func(r *rig) {
		first, a := r.open("")
		_, b := r.open("")
		second, c := r.open("")
		stuckA, stuckC := errors.New("a is stuck"), errors.New("c is stuck")
		releaseA, releaseC := stubborn(a.Fake, stuckA), stubborn(c.Fake, stuckC)
		err := r.CloseOwner(r.t.Context(), "me")
		if !errors.Is(err, stuckA) || !errors.Is(err, stuckC) {
			r.t.Errorf("disposal: %v, want both failures", err)
		}
		if !b.Closed() || a.Closed() || c.Closed() {
			r.t.Errorf("closed: %v %v %v, want only the one between", a.Closed(), b.Closed(), c.Closed())
		}
		if l := r.List("me"); len(l) != 2 || l[0] != first || l[1] != second {
			r.t.Errorf("%d sessions are listed, want the two that are left, in order", len(l))
		}
		releaseA()
		releaseC()
		if err := r.CloseOwner(r.t.Context(), "me"); err != nil {
			r.t.Errorf("the second disposal: %v", err)
		}
		if a, b, c := a.Counts().Terminates, b.Counts().Terminates, c.Counts().Terminates; a != 2 || b != 1 || c != 2 {
			r.t.Errorf("ended %d, %d, %d times, want 2, 1, 2", a, b, c)
		}
	})
}

func TestDisposalJoinsACloseThatFails(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		stuck, fail := errors.New("stuck"), make(chan struct{})
		sh.OnTerminate(func(context.Context) (backend.Report, error) { <-fail; return backend.Report{}, stuck })
		errs := make(chan error, 2)
		go func() { _, err := s.Close(r.t.Context()); errs <- err }()
		go func() { errs <- r.CloseOwner(r.t.Context(), "me") }()
		synctest.Wait()
		close(fail)
		for range 2 {
			if err := <-errs; !errors.Is(err, stuck) {
				r.t.Errorf("error %v, want %v", err, stuck)
			}
		}
		if n := sh.Counts().Terminates; n != 1 {
			r.t.Errorf("%d attempts, want one for both", n)
		}
		sh.OnTerminate(nil)
		if _, err := s.Close(r.t.Context()); err != nil {
			r.t.Errorf("a later close: %v", err)
		}
	})
}

func TestReadWorksWhileASessionCloses(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.Emit("\r\nkept\r\n")
		release := make(chan struct{})
		sh.OnTerminate(func(context.Context) (backend.Report, error) { <-release; sh.End(0); return backend.Report{}, nil })
		closed := make(chan error, 1)
		go func() { _, err := s.Close(r.t.Context()); closed <- err }()
		synctest.Wait()
		if p, err := s.Read(ReadRequest{Count: 5}); err != nil || !strings.Contains(p.Text, "kept") || len(r.List("me")) != 1 {
			r.t.Errorf("read %q, %v; %d sessions listed", p.Text, err, len(r.List("me")))
		}
		close(release)
		if err := <-closed; err != nil {
			r.t.Error(err)
		}
	})
}

func TestClosedSessionRefusesEverything(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		if c, err := s.Close(r.t.Context()); err != nil || !c.Killed {
			r.t.Errorf("closed: %+v, %v", c, err)
		}
		if c, err := s.Close(r.t.Context()); err != nil || c.Killed {
			r.t.Errorf("closed again: %+v, %v", c, err)
		}
		if _, err := r.send(s, "x"); !errors.Is(err, ErrSessionClosing) {
			r.t.Errorf("a send: %v", err)
		}
		if _, err := s.Signal(syscall.SIGINT); err == nil || len(sh.Signals()) > 0 {
			r.t.Errorf("a signal: %v, sent %v", err, sh.Signals())
		}
		if _, err := r.Session("me", s.ID()); !errors.Is(err, ErrNoSession) {
			r.t.Errorf("its id: %v, want ErrNoSession", err)
		}
		if n := sh.Counts().Terminates; n != 1 {
			r.t.Errorf("ended %d times", n)
		}
	})
}

func TestCloseDuringALookEndsTheSend(t *testing.T) {
	bubble(t, func(r *rig) {
		h := &hooked{}
		r.hook(h)
		s, sh := r.open("")
		sh.commands(never)
		first := r.sendIn(r.t.Context(), s, "first")
		look, looked := make(chan struct{}), make(chan struct{})
		var once sync.Once
		h.look(func() error { once.Do(func() { close(looked); <-look }); return nil })
		<-looked
		closed := make(chan error, 1)
		go func() { _, err := s.Close(r.t.Context()); closed <- err }()
		synctest.Wait()
		close(look)
		if <-first.done; first.err != nil || first.result.Reason != readiness.SessionExit {
			r.t.Errorf("the send: %s, %v; want session_exit", first.result.Reason, first.err)
		}
		if err := <-closed; err != nil {
			r.t.Error(err)
		}
	})
}

// The program has ended, its output has not: what it left behind holds the
// terminal. Closing ends that, too.
func TestCloseEndsWhatOutlivedTheProgram(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.Finish(backend.Exit{Code: 4})
		synctest.Wait()
		sh.OnTerminate(func(context.Context) (backend.Report, error) { sh.EOF(); return backend.Report{Ended: 1}, nil })
		c, err := s.Close(r.t.Context())
		if err != nil || !c.Killed || c.Report.Ended != 1 || c.Status.Exit.Code != 4 {
			r.t.Errorf("closed: %+v, %v; want 1 process ended, exit code 4", c, err)
		}
	})
}

func TestSessionWhoseReadFailedCanBeClosed(t *testing.T) {
	bubble(t, func(r *rig) {
		r.hook(&hooked{readError: syscall.EIO})
		s, sh := r.open("")
		sh.EOF()
		synctest.Wait()
		if c, err := s.Close(r.t.Context()); err != nil || !c.Killed || !sh.Closed() {
			r.t.Errorf("closed: %+v, %v", c, err)
		}
	})
}

func TestCloseEndsAStalledWrite(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.Hold(10)
		x := r.sendIn(r.t.Context(), s, strings.Repeat("x", 100))
		began := time.Now()
		if _, err := s.Close(r.t.Context()); err != nil {
			r.t.Error(err)
		}
		<-x.done
		if took := time.Since(began); took > time.Millisecond || !sh.Closed() || sh.Written() != "xxxxxxxxxx" {
			r.t.Errorf("took %v, closed %v, typed %q; want it at once, and no more typed", took, sh.Closed(), sh.Written())
		}
	})
}

func TestCloseBeforeTheWriteWritesNothing(t *testing.T) {
	bubble(t, func(r *rig) {
		h := &hooked{}
		r.hook(h)
		s, sh := r.open("")
		look := make(chan struct{})
		h.look(func() error { <-look; return nil })
		x := r.sendIn(r.t.Context(), s, "rm -rf x")
		closed := make(chan error, 1)
		go func() { _, err := s.Close(r.t.Context()); closed <- err }()
		synctest.Wait()
		close(look)
		<-x.done
		if err := <-closed; err != nil || sh.Written() != "" || len(sh.Signals()) > 0 {
			r.t.Errorf("closed: %v, typed %q, signalled %v; want nothing of either", err, sh.Written(), sh.Signals())
		}
	})
}
