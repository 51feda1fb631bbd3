package ptyservice

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/ptyservice/screen"
	"github.com/ptykeep/ptykeep/readiness"
)

// waitOptions bound a wait.
type waitOptions struct {
	deadline   time.Time
	until      *regexp.Regexp
	background bool // nothing that is only inferred ends the wait
}

// outcome is how a wait ended and what was known then.
type outcome struct {
	reason   readiness.Reason
	state    readiness.State
	evidence readiness.Evidence
	probe    backend.Probe
	excerpt  Excerpt
	view     view
}

// view is what one locked look at a session gives, with the channel that is
// closed at the next change: nothing can happen between the two unseen.
type view struct {
	wake    <-chan struct{}
	offset  int64
	lastOut time.Time
	changed time.Time
	place   readiness.Place
	begun   bool // a prompt, and not ended
	row     string
	line    int64
	last    int64 // line of the terminal
	alt     bool
	exited  bool // and all output has been read
	lost    error
	closing bool

	fresh, output, ran bool
	starts             bool // the shell marks where commands start
	exitCode           int

	answers   int  // given to queries so far
	answering bool // one is on its way
	held      bool // one waits for a program that reads
}

func (s *Session) look(w *watch) view {
	s.mu.Lock()
	defer s.mu.Unlock()
	return view{
		wake: s.wake, offset: s.offset, lastOut: s.lastOut, changed: s.changed,
		place: s.placeNow(), begun: s.begun, row: s.screen.Left(), line: s.screen.Pos().Line, last: s.screen.Last(), alt: s.screen.Alt(),
		exited: s.exited && s.allRead(), lost: s.lost,
		closing: s.closing != nil,
		fresh:   w.fresh, output: w.output, ran: w.ran, starts: s.starts, exitCode: w.exitCode,
		answers: s.answers, answering: s.answering, held: len(s.replies) > 0,
	}
}

// allRead reports whether what the ended program wrote has been taken.
// Session.mu is held; Produced does not block.
func (s *Session) allRead() bool {
	if s.drained {
		return true
	}
	d, ok := s.term.(backend.Drainer)
	if !ok {
		return false
	}
	offset, more, err := d.Produced()
	return err == nil && !more && s.offset >= offset
}

// wait is the state of one await.
type wait struct {
	s    *Session
	w    *watch
	o    waitOptions
	pace readiness.Pace

	seen  int64 // output at the last turn
	due   time.Time
	looks looks
	facts readiness.Facts
}

// await waits until the terminal is ready, until matches, the deadline passes
// or ctx ends; then the error is abortError(ctx).
func (s *Session) await(ctx context.Context, w *watch, o waitOptions) (outcome, error) {
	a := &wait{s: s, w: w, o: o, seen: -1, looks: looks{offset: -1}}
	for {
		v := s.look(w)
		if out, done := a.ended(v); done {
			return out, nil
		}
		if v.lost != nil {
			return outcome{}, fmt.Errorf("%w: %w", ErrSessionLost, v.lost)
		}
		if ctx.Err() != nil {
			return outcome{}, abortError(ctx)
		}
		now := time.Now()
		a.pacing(v, now)
		var verdict readiness.Verdict
		if !now.Before(a.due) {
			var err error
			if verdict, err = a.judge(v, now); err != nil {
				if ctx.Err() != nil { // which asks for an interrupt all the same
					err = abortError(ctx)
				}
				return outcome{}, err
			}
			if o.background && verdict.Reason == readiness.InferredIdle {
				verdict.Reason = ""
			}
			if verdict.Reason != "" {
				fresh, same := a.settle(ctx, v)
				if out, done := a.ended(fresh); done {
					return out, nil
				}
				if fresh.held {
					s.reply()
					fresh = s.look(w)
				}
				if fresh.answering || fresh.answers != v.answers || fresh.held && !a.facts.Now.Flags.Canonical {
					// What it waited for may have been the answer to its
					// query, which was typed after the look or is about to
					// be (pump may be at it).
					a.due = time.Time{}
					continue
				}
				// A wait that nothing else can end stays one whatever came
				// before it. Other verdicts rest on what was shown.
				if same || verdict.Reason == readiness.StdinRead && a.facts.Now.Wait == backend.WaitExact {
					return a.outcome(fresh, verdict), nil
				}
				continue
			}
			a.due = now.Add(a.next(v, verdict, now))
		}
		if !time.Now().Before(o.deadline) {
			verdict, _ = a.judge(v, time.Now()) // say what is in front now, if that can be seen
			verdict.Reason = readiness.Timeout
			return a.outcome(s.look(w), verdict), nil
		}
		a.sleep(ctx, v)
	}
}

// ended reports the ends that need no judgement.
func (a *wait) ended(v view) (outcome, bool) {
	switch {
	case v.exited:
		return a.outcome(v, readiness.Verdict{Reason: readiness.SessionExit}), true
	case a.o.until != nil && v.offset != a.seen && a.matches():
		verdict, _ := a.judge(v, time.Now()) // as for a time-out
		verdict.Reason = readiness.Matched
		return a.outcome(v, verdict), true
	}
	return outcome{}, false
}

// matchWindow is how much of the newest output until is matched against at each
// step, in bytes. A guess: longer than any screen.
const matchWindow = 64 << 10

func (a *wait) matches() bool {
	a.s.mu.Lock()
	text := a.w.past + a.s.current(a.w).text()
	row := a.s.screen.Left()
	a.s.mu.Unlock()
	if end := strings.TrimRight(row, " "); end != "" && strings.HasSuffix(text, end) {
		text += row[len(end):] // the cursor waits behind blanks: "name: "
	}
	// Without text nothing came out yet.
	return text != "" && a.o.until.MatchString(tailOf(text))
}

// tailOf returns what of text is matched against.
func tailOf(text string) string {
	if len(text) > matchWindow {
		text = trimBroken(text[len(text)-matchWindow:])
	}
	return text
}

// pacing moves the next look after output.
func (a *wait) pacing(v view, now time.Time) {
	if v.offset == a.seen {
		return
	}
	first := a.seen < 0
	a.seen = v.offset
	a.pace.Output(now.Sub(a.w.since))
	switch {
	case first, v.fresh && v.place != readiness.InCommand:
		a.due = now // a prompt was drawn: who drew it is about to wait
	default:
		a.due = now.Add(a.pace.Next(0, a.s.service.cfg.PollInterval))
	}
}

// next is how long nothing needs to be looked at.
func (a *wait) next(v view, verdict readiness.Verdict, now time.Time) time.Duration {
	d := a.pace.Next(now.Sub(a.quietSince(v)), a.s.service.cfg.PollInterval)
	if verdict.Recheck > 0 {
		d = min(d, verdict.Recheck)
	}
	return d
}

// quietSince is when the silence began that counts: at the write at most.
func (a *wait) quietSince(v view) time.Time {
	if v.lastOut.After(a.w.since) {
		return v.lastOut
	}
	return a.w.since
}

// settle waits until everything has been taken that the program wrote before it
// went to sleep, and reports whether nothing new came.
func (a *wait) settle(ctx context.Context, v view) (view, bool) {
	before := v.offset
	a.s.drain(ctx)
	v = a.s.look(a.w)
	return v, v.offset == before
}

// sleep waits for a change, the next look, the deadline or the end of ctx.
func (a *wait) sleep(ctx context.Context, v view) {
	d := min(time.Until(a.due), time.Until(a.o.deadline))
	if d <= 0 {
		return
	}
	if n, ok := a.s.term.(backend.Napper); ok && d < napLimit {
		n.Nap(d)
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-v.wake:
	case <-t.C:
	case <-ctx.Done():
	}
}

// napLimit is below what Go's timers can do on Linux: 1.1 ms measured for any
// shorter wait.
const napLimit = time.Millisecond

// outcome fixes what is known at the end of a wait.
func (a *wait) outcome(v view, verdict readiness.Verdict) outcome {
	a.shown(v) // output that was drained after the last look may tell more
	if v.exited {
		a.facts.Now = backend.Probe{} // whoever was there is gone
	}
	f := a.facts
	if verdict.Reason != readiness.InferredIdle && (verdict.Reason != readiness.StdinRead || f.Now.Wait == backend.WaitExact) {
		if s, e := readiness.Describe(f); s != readiness.Unknown || verdict.State == "" {
			verdict.State, verdict.Evidence = s, e
		}
	}
	if at := verdict.State; !v.starts && at != readiness.Prompt && at != readiness.Continuation {
		v.ran = false // a later line of what was typed may run: nobody marks its start
	}
	out := outcome{reason: verdict.Reason, state: verdict.State, evidence: verdict.Evidence, probe: f.Now, view: v}
	s := a.s
	s.update(func() { s.conclude(a.w, v, verdict, &out) })
	return out
}

// conclude takes the text of a result, and remembers what it tells. s.mu is held.
func (s *Session) conclude(w *watch, v view, verdict readiness.Verdict, out *outcome) {
	out.excerpt = s.current(w)
	w.told = true
	if w.line && !v.fresh {
		s.dirTold = false // the marks may be lost
	}
	if w.line && !v.fresh && out.state == readiness.Prompt {
		// No command ran and no prompt came: the line is still being edited,
		// perhaps because the shell did not accept it (fish).
		out.state = readiness.WaitingInput
		out.excerpt = s.edited(w)
	}
	s.shown, s.shownLeft = s.screen.Pos(), ""
	s.screen.Lines(s.shown.Line, s.shown.Line, func(l screen.Line) bool {
		s.shownLeft = string(l.Text[:min(s.shown.Off, len(l.Text))])
		return false
	})
	s.waited = -1
	if verdict.Reason == readiness.StdinRead || verdict.Reason == readiness.InferredIdle {
		s.waited = s.offset
	}
	if v.ran {
		s.untold = false
	}
	if out.state == readiness.Prompt && verdict.Reason == readiness.StdinRead {
		s.screen.Hide(false) // what comes now is nobody's echo
	}
}

// drainBytes bounds the wait for output that was written before a moment: more
// than the kernel holds of a terminal's output (64 KiB and a line discipline's
// buffer). What comes beyond was written later, by something else that keeps
// printing.
const drainBytes = 256 << 10

// drain waits until all output has been taken that was written before the call.
// It ends, since pump takes what is there without waiting for anybody.
func (s *Session) drain(ctx context.Context) {
	d, ok := s.term.(backend.Drainer)
	if !ok {
		return
	}
	for first := int64(-1); ctx.Err() == nil; {
		s.mu.Lock()
		wake, offset, done := s.wake, s.offset, s.drained || s.closing != nil
		s.mu.Unlock()
		produced, more, err := d.Produced()
		if first < 0 {
			first = offset
		}
		if err != nil || done || !more && offset >= produced || offset-first > drainBytes {
			return
		}
		select {
		case <-wake:
		case <-ctx.Done():
		}
	}
}

// abortError says why ctx ended the call.
func abortError(ctx context.Context) error {
	return fmt.Errorf("%w: %w", ErrAborted, context.Cause(ctx))
}
