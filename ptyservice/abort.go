package ptyservice

import (
	"bytes"
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/ptyservice/screen"
	"github.com/ptykeep/ptykeep/readiness"
)

// abort does what the end of ctx asks for, after the text was written.
func (snd *Send) abort(ctx context.Context, w *watch) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ErrDetached) || errors.Is(cause, ErrGone) || !snd.r.types() && !errors.Is(cause, errKilled) {
		return nil
	}
	s := snd.s
	sig, ok := s.term.(backend.Signaller)
	if !ok {
		return s.takeBack()
	}
	pgid, err := sig.Signal(syscall.SIGINT)
	err = errors.Join(ignoreNobody(err), s.takeBack())
	if err != nil || w == nil || errors.Is(cause, errKilled) {
		return err
	}
	// A shell that is about to start the command keeps the signal to itself, and
	// the command runs: then it is another group's turn. Its child, new-born, may
	// not heed it either.
	early := time.Since(w.since) < newBorn
	for range interrupts {
		if next := snd.interrupted(w); next == 0 || next == pgid && !early {
			return nil
		} else if next == pgid {
			early = false
		}
		if pgid, err = sig.Signal(syscall.SIGINT); err != nil {
			return ignoreNobody(err)
		}
	}
	return nil
}

const (
	// How often an interrupt is sent to what a shell starts after it.
	interrupts = 3
	// How soon after the write a program may not have been born yet.
	newBorn = 20 * time.Millisecond
	// How long a cancelled send waits for its interrupt to be heard. A shell needs
	// a few milliseconds; a program that does not heed it is not waited for.
	interruptSettle = 200 * time.Millisecond
)

// interrupted waits until the program that was interrupted waits for input, and
// returns 0; else the group that is in front after a while.
func (snd *Send) interrupted(w *watch) (pgid int) {
	s := snd.s
	var shown screen.Pos
	var left string
	s.update(func() { shown, left = s.shown, s.shownLeft })
	out, err := s.await(context.Background(), w, waitOptions{deadline: time.Now().Add(interruptSettle)})
	s.update(func() { s.shown, s.shownLeft = shown, left }) // nobody is told what came
	if err != nil || out.reason != readiness.Timeout {
		return 0 // the next call says what is wrong
	}
	return out.probe.PGID
}

// ignoreNobody is err, unless it says that nobody was there to be signalled.
func ignoreNobody(err error) error {
	if errors.Is(err, backend.ErrNoForeground) {
		return nil
	}
	return err
}

// stopped says what became of a write that did not go through, after taking
// back what no program has read, so that none of it reaches what reads next.
func (snd *Send) stopped(ctx context.Context, err error, written int, data []byte) error {
	s := snd.s
	left := s.queued()
	if back := s.takeBack(); back != nil {
		err = errors.Join(err, back)
	}
	if written > 0 && bytes.HasPrefix(data, []byte(pasteStart)) {
		s.endPaste()
	}
	if left > 0 {
		left = max(left, queueSize) // most of it waits where it is not counted
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &StalledError{Read: max(written-left, 0), Total: len(data)}
	case errors.Is(err, ErrAborted) && written > 0:
		return errors.Join(err, snd.abort(ctx, nil))
	}
	return err
}
