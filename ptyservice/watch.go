package ptyservice

import (
	"time"

	"github.com/ptykeep/ptykeep/ptyservice/screen"
	"github.com/ptykeep/ptykeep/readiness"
)

// watch is what has come since a write: evidence from before it never counts.
// Session.mu guards it.
type watch struct {
	since     time.Time // the write
	startLine int64     // the cursor's at the write
	typedLine int64     // the line that was typed on; -1 when nothing was typed
	starting  bool      // the session has not been ready yet
	typed     bool      // it followed a write
	line      bool      // a command line was typed at the shell's prompt

	past     string // end of what was told already; until is matched across it
	below    bool   // there was text below the cursor: the cursor is the end of what is new
	told     bool   // the rest of the text is in a result
	text     *collector
	output   bool // something was printed
	fresh    bool // a prompt or continuation mark came
	started  bool // a command started
	ran      bool // a command started and ended, with a status that is known
	exitCode int  // of the last that did
}

type watchOptions struct {
	since     time.Time
	from      screen.Pos // where the viewport begins
	echo      []string   // typed lines whose echo shall not count as output
	typedLine int64
	starting  bool
	line      bool
	past      string // what was told of the line at from
	waitsOn   bool   // for a command that was started before
	running   bool   // input goes to a command that was started before
}

// watch begins to follow the output, from o.from on also what has come already.
// Whoever calls it must call unwatch.
func (s *Session) watch(o watchOptions) *watch {
	w := &watch{
		since: o.since, typedLine: o.typedLine, starting: o.starting, typed: !o.starting && !o.waitsOn, line: o.line,
		text: newCollector(o.from, s.service.cfg.MaxReadBytes, o.echo),
	}
	w.text.past = o.past
	s.update(func() {
		s.screen.Lines(o.from.Line, s.screen.Last(), func(l screen.Line) bool {
			if !l.Live {
				w.text.add(l)
			}
			return !l.Live
		})
		w.output = w.starting && s.offset > 0
		w.startLine = s.screen.Pos().Line
		// Below the cursor stands what was there before.
		w.below = s.screen.Last() > s.screen.Pos().Line
		w.started = (o.waitsOn || o.running) && s.placeNow() == readiness.InCommand
		if o.waitsOn {
			w.ran, w.exitCode = s.untold, s.status // it may have ended between two calls
		}
		s.watches = append(s.watches, w)
	})
	return w
}

func (s *Session) unwatch(w *watch) {
	s.update(func() {
		for i, x := range s.watches {
			if x == w {
				s.watches = append(s.watches[:i], s.watches[i+1:]...)
				return
			}
		}
	})
}

// mark notes a mark that came since the write.
func (w *watch) mark(m screen.Mark) {
	switch m.Kind {
	case screen.PromptStart:
		w.fresh = true
		if w.started {
			w.started, w.ran, w.exitCode = false, m.Status >= 0, m.Status
		} else if w.line && m.Status >= 0 {
			// The shell took the line and started no command: it refused it (a
			// syntax error), or it does not mark the start.
			w.ran, w.exitCode = true, m.Status
		}
	case screen.PromptEnd:
		if w.started { // whoever would tell how it ended was taken away
			w.started, w.fresh = false, true
		}
	case screen.Continuation:
		w.fresh = true
	case screen.CommandStart:
		w.fresh, w.started, w.ran = false, true, false // the last one counts
	}
}

// current returns the text so far, live rows included. Session.mu is held.
func (s *Session) current(w *watch) Excerpt {
	c := w.text.clone()
	last := s.screen.Last()
	if w.below {
		last = min(last, s.screen.Pos().Line)
	}
	s.screen.Lines(c.next, last, func(l screen.Line) bool {
		if l.Number != last || len(l.Text) > 0 { // the row that the cursor waits on is no output
			c.add(l)
		}
		return true
	})
	return s.readable(c.excerpt())
}

// readable makes the gap of an excerpt begin where something can still be read.
// Session.mu is held.
func (s *Session) readable(e Excerpt) Excerpt {
	if first := s.screen.First(); e.Omitted > 0 && e.GapLine < first {
		e.GapLine, e.Lost = first, true
	}
	return e
}

// edited returns the text so far with all that the shell echoed. Session.mu is
// held.
func (s *Session) edited(w *watch) Excerpt {
	c := newCollector(w.text.from, s.service.cfg.MaxReadBytes, nil)
	s.screen.Lines(w.text.from.Line, s.screen.Last(), func(l screen.Line) bool {
		l.Hidden, l.Prompt = nil, false
		c.add(l)
		return true
	})
	return c.excerpt()
}
