package ptyservice

import (
	"context"
	"log/slog"

	"github.com/ptykeep/ptykeep/backend"
)

// closing is one attempt to close a session. Whoever comes later joins it.
type closing struct {
	done   chan struct{} // closed when the attempt is over
	report backend.Report
	err    error
}

// Closed is how a close went.
type Closed struct {
	Killed         bool // this call ended the session
	AlreadyClosing bool // another call did, and this one waited for it
	Status         Status
	Report         backend.Report
}

// Close ends the session and its whole process tree, and forgets it. A failed
// close leaves it as it is, and a further call tries again; the error is then a
// *CleanupError. It is not abandoned when ctx ends: half a teardown helps nobody.
func (s *Session) Close(ctx context.Context) (Closed, error) {
	return s.close(context.WithoutCancel(ctx), s.service.remove)
}

// close is Close; forget is called once the session is gone, before whoever
// joined is told.
func (s *Session) close(ctx context.Context, forget func(*Session)) (Closed, error) {
	c := &closing{done: make(chan struct{})}
	var other *closing
	s.update(func() {
		if other = s.closing; other == nil {
			s.closing = c
		}
	})
	if other != nil {
		<-other.done // bounded as the attempt is
		return Closed{AlreadyClosing: true, Status: s.Status(), Report: other.report}, other.err
	}
	if t, ok := s.term.(backend.Terminator); ok {
		c.report, c.err = t.Terminate(ctx)
	}
	s.logClose(c)
	if c.err != nil || len(c.report.Survivors) > 0 {
		c.err = &CleanupError{Report: c.report, Err: c.err}
		s.update(func() { s.closing = nil })
		close(c.done)
		return Closed{Report: c.report, Status: s.Status()}, c.err
	}
	err := s.term.Close() // ends a program that could not be terminated
	<-s.reaped
	<-s.pumped       // Close has unblocked it
	s.running.Wait() // the end of the program ends what waits for it
	if err != nil {
		s.log.Warn("closing the terminal", "error", err)
	}
	forget(s)
	close(c.done)
	return Closed{Killed: true, Status: s.Status(), Report: c.report}, nil
}

// logClose says how an attempt went.
func (s *Session) logClose(c *closing) {
	r := c.report
	level, facts := slog.LevelInfo, []any{"ended", r.Ended, "killed", r.Forced, "elapsed", r.Elapsed}
	if r.Partial {
		facts = append(facts, "partial", true)
	}
	if c.err != nil || len(r.Survivors) > 0 {
		level = slog.LevelWarn
		facts = append(facts, "survivors", r.Survivors, "why", r.Why, "error", c.err)
	}
	s.log.Log(context.Background(), level, "closed", facts...)
}
