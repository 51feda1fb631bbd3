package ptyservice

import (
	"fmt"
	"strings"
	"time"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/readiness"
)

// looks is what the probes of one wait have in common.
type looks struct {
	offset int64        // output at the last probe
	class  backend.Wait // seen by it
	same   int          // consecutive probes that saw the same without output between
	steady time.Time    // since when they did

	redraw redraw
	server server
}

func (l *looks) add(offset int64, class backend.Wait, unread bool, now time.Time) {
	if offset != l.offset || class != l.class || unread {
		l.offset, l.class, l.steady, l.same = offset, class, now, 0
	}
	l.same++
}

// redraw is a program that waits, draws what it shows anew, and waits again.
type redraw struct {
	since  time.Time // zero: no
	busy   time.Time // since when it was seen not to wait; zero: it waited when last seen
	offset int64     // output at since
	lines  int64     // of the terminal, at most, so far
}

// drawing bounds the time that one redraw takes: what is seen not to wait for
// longer than this does something else.
const drawing = 100 * time.Millisecond

// redrawn is how long the program has waited but for moments in which it drew,
// without a line more than before.
func (a *wait) redrawn(v view, class backend.Wait, now time.Time) time.Duration {
	r := &a.looks.redraw
	if !v.output {
		*r = redraw{}
		return 0
	}
	waits := class == backend.WaitTimed || v.alt && (class == backend.WaitOpen || class == backend.WaitNone)
	switch {
	case waits && (r.since.IsZero() || v.last > r.lines):
		*r = redraw{since: now, offset: v.offset, lines: v.last}
	case waits:
		r.busy = time.Time{}
	case r.busy.IsZero():
		r.busy = now
	case now.Sub(r.busy) > drawing:
		*r = redraw{}
	}
	if r.since.IsZero() || v.offset == r.offset {
		return 0
	}
	return now.Sub(r.since)
}

// server is a foreground program that may serve others.
type server struct {
	since  time.Time     // since when it listens, idle; zero: it does not
	used   time.Duration // CPU time at since
	offset int64         // output at since
	next   time.Time     // when to look again
}

const (
	// How long a program is silent before it is asked for its sockets: what
	// ends sooner is not worth it.
	serverPause = 20 * time.Millisecond
	// The share of the time, one in so many, that counts as no CPU time: loops
	// of idle servers wake now and then (Python's twice a second).
	serverShare = 500
)

// serving is how long the foreground group has had a listening socket, without
// output and without work.
func (a *wait) serving(v view, class backend.Wait, now time.Time) time.Duration {
	l, ok := a.s.term.(backend.Listener)
	r := &a.looks.server
	if !ok || class != backend.WaitNone || now.Sub(a.quietSince(v)) < serverPause {
		return 0
	}
	idle := a.s.service.cfg.IdleSilence
	if v.offset != r.offset {
		*r = server{offset: v.offset}
	}
	if now.Before(r.next) {
		return 0
	}
	yes, used, err := l.Listening()
	if err != nil || !yes {
		// The next probe reports what is wrong, if that lasts.
		r.since, r.next = time.Time{}, now.Add(idle/4)
		return 0
	}
	lasted := now.Sub(r.since)
	if r.since.IsZero() || (used-r.used).Abs() > max(lasted, idle/4)/serverShare {
		r.since, r.used, lasted = now, used, 0
	}
	r.next = now.Add(min(idle/4, max(idle-lasted, 0)))
	return lasted
}

// judge collects the facts in the order that package readiness asks for.
func (a *wait) judge(v view, now time.Time) (readiness.Verdict, error) {
	unread, err := a.s.unread()
	var p backend.Probe
	probed := false
	if err == nil {
		p, probed, err = a.s.probe()
	}
	if a.s.ending() {
		return readiness.Verdict{}, nil // the end of output is on its way
	} else if err != nil {
		return readiness.Verdict{}, fmt.Errorf("%w: %w", ErrSessionLost, err)
	}
	a.looks.add(v.offset, p.Wait, unread, now)
	changed := v.changed
	if changed.Before(a.w.since) {
		changed = a.w.since
	}
	a.facts = readiness.Facts{
		Now: p, Probed: probed, Looks: a.looks.same, Unread: unread, Starting: a.w.starting, Typed: a.w.typed,
		Elapsed: now.Sub(a.w.since), Quiet: now.Sub(a.quietSince(v)), Still: now.Sub(changed),
		Steady: now.Sub(a.looks.steady), Redrawn: a.redrawn(v, p.Wait, now), Serving: a.serving(v, p.Wait, now),
	}
	a.shown(v)
	return readiness.Decide(a.facts, a.s.service.cfg.limits()), nil
}

// shown puts into the facts what the screen shows.
func (a *wait) shown(v view) {
	f := &a.facts
	f.Exited, f.AltScreen, f.Output = v.exited, v.alt, v.output
	f.Marks = readiness.Marks{At: v.place, Fresh: v.fresh, Begun: v.begun}
	f.Row = readiness.Row{
		Text: v.row, New: v.line != a.w.startLine, Moved: a.w.typedLine < 0 || v.line != a.w.typedLine || v.alt,
		Known: a.s.knownPrompt(f.Now, v.row),
	}
}

// unread reports whether input waits that no program has read.
func (s *Session) unread() (bool, error) {
	if in, ok := s.term.(backend.Input); ok {
		return in.Unread()
	}
	return false, nil
}

// probe looks who holds the terminal.
func (s *Session) probe() (backend.Probe, bool, error) {
	if p, ok := s.term.(backend.Prober); ok {
		probe, err := p.Probe()
		return probe, err == nil, err
	}
	return backend.Probe{}, false, nil
}

// knownPrompt reports a row at which this program was typed to before, or the
// prompt of a REPL that is known by name.
func (s *Session) knownPrompt(p backend.Probe, row string) bool {
	if strings.TrimSpace(row) == "" {
		return false
	}
	if readiness.IsREPLPrompt(p.Command, row) {
		return s.isREPL(p.PID)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.prompts[p.Command+"\x00"+readiness.FoldPrompt(row)]
}

// maxPrompts bounds what is remembered of one session.
const maxPrompts = 64

// isREPL reports whether a program that could be a REPL or run a script was
// started as a REPL.
func (s *Session) isREPL(pid int) bool {
	d, ok := s.term.(backend.Describer)
	if !ok {
		return false
	}
	args, err := d.Args(pid)
	return err == nil && readiness.IsREPL(args)
}

// learnPrompt remembers the row at which input is typed, if the program was seen
// to wait there and nothing came since: a row of its work is no prompt.
func (s *Session) learnPrompt(command string) {
	s.update(func() {
		row := s.screen.Left()
		if s.waited != s.offset {
			return
		}
		if strings.TrimSpace(row) != "" && len(s.prompts) < maxPrompts {
			s.prompts[command+"\x00"+readiness.FoldPrompt(row)] = true
		}
	})
}
