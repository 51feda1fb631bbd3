package readiness

import (
	"regexp"
	"strings"
	"time"

	"github.com/ptykeep/ptykeep/backend"
)

// How long a terminal must have stayed the same before weaker evidence counts.
// Chosen against some sixty programs, not tuned further.
const (
	// A prompt that this program drew before, while a timer or a socket could
	// also wake it (node, irb, ssh): one more look, to pass the moment between
	// drawing and a late answer.
	knownLooks = 2
	knownPause = time.Millisecond
	// A row that looks like a prompt for the first time. Programs write prompt
	// and wait in one go; what follows later than this is another output.
	likePause = 25 * time.Millisecond
	// The same over a network, where a pause of this length inside one answer
	// is ordinary.
	likePauseOpen = 400 * time.Millisecond
	// A full screen whose program waits on the terminal and on a timer (vim).
	// A redraw is one burst; bursts of one redraw are closer than this.
	screenPause = 120 * time.Millisecond
	// A full screen of which no thread in sight waits (tmux: its server reads).
	screenPauseBlind = 500 * time.Millisecond
	// A password question of another user's program, known by the flags alone.
	// getpass switches echo off and prints the question within this time.
	flagsPause = 10 * time.Millisecond
)

// settle judges facts about a foreground that has read everything typed.
func settle(f Facts, l Limits, v *Verdict) {
	switch f.Now.Wait {
	case backend.WaitExact:
		v.Reason = StdinRead
	case backend.WaitTimed, backend.WaitOpen:
		shared(f, l, v)
	case backend.WaitDenied:
		denied(f, l, v)
	case backend.WaitUnknown:
		blind(f, l, v)
	case backend.WaitNone:
		unasked(f, l, v)
	}
}

// unasked judges a foreground that does not wait for the terminal. It is ready
// only if what shows is all that it will do unasked: a full screen that has
// settled, a server that waits for its clients.
func unasked(f Facts, l Limits, v *Verdict) {
	switch {
	case f.AltScreen && f.Redrawn >= l.IdleSilence:
		v.set(InferredIdle, Fullscreen, ByScreen)
	case f.AltScreen:
		v.after(screenPauseBlind, f.Still, InferredIdle, Fullscreen, ByScreen)
	case f.Serving > 0:
		v.after(l.IdleSilence, f.Serving, InferredIdle, Running, Kernel)
	}
}

// shared judges a wait on the terminal that something else could end as well.
func shared(f Facts, l Limits, v *Verdict) {
	switch {
	case f.AltScreen && f.Redrawn >= l.IdleSilence:
		v.set(InferredIdle, Fullscreen, ByScreen)
	case f.AltScreen:
		v.after(screenPause, min(f.Still, f.Steady), InferredIdle, Fullscreen, ByScreen)
	case v.State == Prompt || v.State == Continuation, f.Row.Known && f.Row.Moved:
		state := WaitingInput
		if v.State != Unknown {
			state = v.State
		}
		if f.Looks >= knownLooks {
			v.set(StdinRead, state, KernelPrompt)
			return
		}
		v.Recheck = knownPause
	case promptLike(f.Row) && f.Now.Wait == backend.WaitTimed:
		v.after(likePause, f.Steady, InferredIdle, WaitingInput, KernelPrompt)
	case promptLike(f.Row):
		v.after(likePauseOpen, f.Steady, InferredIdle, WaitingInput, KernelPrompt)
	case f.Redrawn >= l.IdleSilence:
		v.set(InferredIdle, WaitingInput, ByScreen)
	case !silent(f):
		v.after(l.IdleSilence, f.Steady, InferredIdle, WaitingInput, BySilence)
	}
}

// denied judges a program of another user, which cannot be looked into.
func denied(f Facts, l Limits, v *Verdict) {
	if hidden(f) {
		question(f, l, v)
		return
	}
	blind(f, l, v)
}

// question judges the flags of a password question. A program keeps them for a
// while after an answer or an interrupt, so that after a write they count at once
// only with a question that was printed since.
func question(f Facts, l Limits, v *Verdict) {
	pause := l.IdleSilence
	if !f.Typed || f.Row.New && strings.TrimSpace(f.Row.Text) != "" {
		pause = flagsPause
	}
	v.after(pause, f.Steady, InferredIdle, WaitingHiddenInput, ByFlags)
}

// blind judges where waits cannot be seen: other platforms, other users.
func blind(f Facts, l Limits, v *Verdict) {
	switch {
	case v.State == Prompt && f.Marks.Fresh, v.State == Continuation && f.Marks.Fresh:
		// The shell drew its prompt after the write, all input was read and
		// the shell is in front: what is left is the moment until it reads.
		v.Reason = StdinRead
	case f.AltScreen:
		v.after(screenPauseBlind, f.Still, InferredIdle, Fullscreen, ByScreen)
	case hidden(f) && !f.Now.Own:
		question(f, l, v)
	case !silent(f):
		limit := l.IdleSilence
		if f.Marks.Fresh {
			limit += l.HandoffGrace
		}
		v.after(limit, f.Quiet, InferredIdle, v.State, BySilence)
	}
}

// silent reports a program that has printed nothing since it was started:
// then its silence says nothing.
func silent(f Facts) bool { return f.Starting && !f.Output }

// percentage is the end of a row that tells how far something has come.
var percentage = regexp.MustCompile(`\d%$`)

// promptLike reports a row that ends the way prompts do: text, then one of the
// usual last characters. It is a hint for how long to watch, never a proof.
func promptLike(r Row) bool {
	t := strings.TrimRight(r.Text, " ")
	if t == "" || !r.Moved || percentage.MatchString(t) {
		return false
	}
	for _, end := range []string{"$", "#", "%", ">", ":", "?", "]", ")", "}", "»", "❯", "➜", "λ", "›"} {
		if strings.HasSuffix(t, end) {
			return true
		}
	}
	return false
}

// after ends the wait once what was seen has lasted for pause, and until then
// asks for a look when it will have.
func (v *Verdict) after(pause, lasted time.Duration, r Reason, s State, e Evidence) {
	if lasted >= pause {
		v.set(r, s, e)
		return
	}
	v.Recheck = pause - lasted
}

func (v *Verdict) set(r Reason, s State, e Evidence) { v.Reason, v.State, v.Evidence = r, s, e }
