package ptyservice

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/ptyservice/screen"
	"github.com/ptykeep/ptykeep/readiness"
)

// SendRequest is one terminal_send.
type SendRequest struct {
	Text    *string  // nil: type nothing, wait on
	Submit  bool     // press Enter after the text
	Keys    []string // instead of text: names of keys (screen.EncodeKey)
	Until   *regexp.Regexp
	Resize  *backend.Size
	Timeout *time.Duration // nil = configured
}

// types reports whether the send types anything.
func (r SendRequest) types() bool { return r.Text != nil || len(r.Keys) > 0 }

// Result is what came of a send.
type Result struct {
	Viewport   Excerpt
	Reason     readiness.Reason
	Status     Status
	Foreground Foreground
	ExitCode   *int   // of the last shell command that this send ran, when known
	Dir        string // working directory, when known
	DirChanged bool   // it is another than the last result said
	Missed     int64  // lines that came between the last result and this send
	MissedFrom int64  // number of the first of them
	Unread     int    // bytes of input that no program has read
	Elapsed    time.Duration
	Screen     *screen.Snapshot // what is shown, when a full-screen program is in front
}

// Status says whether the session's own program runs.
type Status struct {
	Exited bool
	Exit   backend.Exit // once Exited
}

// Foreground is who holds the terminal.
type Foreground struct {
	PID, PGID int
	Command   string
	Own       bool // the session's own program
	State     readiness.State
	Evidence  readiness.Evidence
}

// forever is longer than any session: the bound of a wait that has none.
const forever = 100 * 365 * 24 * time.Hour

// Send is a send that holds its session's slot. Run must be called.
type Send struct {
	s          *Session
	r          SendRequest
	timeout    time.Duration
	background bool   // only what was observed ends it
	missed     int64  // lines that came between the last result and the write
	missedFrom int64  // number of the first of them
	following  *watch // once it waits; Session.mu guards it
}

// Begin takes the send slot. It does nothing else, so that callers that come
// in the order of their requests get it in that order.
func (s *Session) Begin(r SendRequest) (*Send, error) { return s.begin(r, false) }

func (s *Session) begin(r SendRequest, background bool) (*Send, error) {
	snd := &Send{s: s, r: r, timeout: s.service.cfg.Timeout, background: background}
	if r.Timeout != nil {
		snd.timeout = *r.Timeout
	}
	if r.Resize != nil {
		if err := checkSize(r.Resize.Cols, r.Resize.Rows); err != nil {
			return nil, fmt.Errorf("resize: %w", err)
		}
	}
	var err error
	s.update(func() {
		switch {
		case s.closing != nil:
			err = ErrSessionClosing
		case s.sending:
			err = ErrSendActive
		case s.lost != nil:
			err = fmt.Errorf("%w: %w", ErrSessionLost, s.lost)
		case s.exited && (r.types() || r.Resize != nil):
			err = fmt.Errorf("%w (%s)", ErrSessionExited, describeExit(s.exit))
		default:
			s.sending = true
			if background {
				s.running.Add(1)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return snd, nil
}

// Run types what was asked for and waits. It returns when the terminal is ready
// again, Until matches, the time is over or ctx ends; the error is then
// ErrAborted with the cause of ctx, and what that cause asks for is done.
func (snd *Send) Run(ctx context.Context) (Result, error) {
	s := snd.s
	defer s.update(func() { s.sending = false })
	began := time.Now()
	deadline := began.Add(snd.timeout)
	if snd.background && snd.r.Timeout == nil {
		deadline = began.Add(forever)
	}
	if r := snd.r.Resize; r != nil {
		if err := s.resize(*r); err != nil {
			return Result{}, err
		}
	}
	if !snd.r.types() {
		from, past := s.lastShown()
		w := s.watch(watchOptions{since: began, from: from, past: past, typedLine: -1, waitsOn: true})
		defer s.unwatch(w)
		s.update(func() { snd.following = w })
		return snd.finish(ctx, w, deadline, began)
	}
	return snd.typeAndWait(ctx, began, deadline)
}

// typeAndWait is the send with input.
func (snd *Send) typeAndWait(ctx context.Context, began, deadline time.Time) (Result, error) {
	s := snd.s
	in, err := snd.prepare()
	var w *watch
	if err == nil {
		if w, err = snd.typeText(ctx, in, deadline); w != nil {
			defer s.unwatch(w)
		}
		s.reply() // to queries that came while the text was written
	}
	switch {
	case errors.Is(err, errEnding): // nothing more can be typed; tell how it ends
		if w == nil {
			w = s.watch(watchOptions{since: began, from: s.pos(), typedLine: -1})
			defer s.unwatch(w)
		}
	case err != nil:
		return Result{}, err
	}
	s.update(func() { snd.following = w })
	return snd.finish(ctx, w, deadline, began)
}

// errEnding is a program that has ended, or is being ended, before or while it
// was typed to.
var errEnding = errors.New("the program is ending")

// input is what a send types, and whom it meets.
type input struct {
	before backend.Probe
	pieces [][]byte // written with a pause between them
	pause  pause
	typed  []string // the lines, whose echo is to be expected
}

// prepare looks who is in front and makes the bytes to type. It refuses what
// may not or cannot be typed.
func (snd *Send) prepare() (in input, err error) {
	s := snd.s
	if in.before, _, err = s.probe(); err != nil {
		if s.ending() {
			return in, errEnding
		}
		return in, fmt.Errorf("%w: %w", ErrSessionLost, err)
	}
	s.mu.Lock()
	modes := s.screen.Modes()
	s.mu.Unlock()
	if snd.r.Text == nil {
		in.pause = afterEscape
		in.pieces, err = encodeKeys(snd.r.Keys, modes, in.before.Flags)
		return in, err
	}
	data, typed, err := encode(*snd.r.Text, snd.r.Submit, in.before, modes)
	if err != nil {
		return in, err
	}
	in.typed = typed
	in.pieces, in.pause = [][]byte{data}, afterPaste
	if i := bytes.LastIndex(data, []byte(pasteEnd)); i >= 0 && snd.r.Submit && !in.before.Own {
		i += len(pasteEnd)
		in.pieces = [][]byte{data[:i], data[i:]} // the paste, and Enter
	}
	return in, s.checkLines(data, in.before.Flags)
}

// ending reports a program that has ended or is being ended.
func (s *Session) ending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exited || s.closing != nil
}

// pos returns where output goes now.
func (s *Session) pos() screen.Pos {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.screen.Pos()
}

// writeFloor is the least time a write gets, so that timeoutMs 0 still writes
// what fits.
const writeFloor = 20 * time.Millisecond

// typeText writes data and begins the watch of what follows.
func (snd *Send) typeText(ctx context.Context, in input, deadline time.Time) (*watch, error) {
	s := snd.s
	s.writing.Lock()
	defer s.writing.Unlock()
	s.drain(ctx) // what came before belongs to before
	if ctx.Err() != nil {
		return nil, abortError(ctx)
	}
	if snd.r.Text != nil && snd.r.Submit { // a key for a full screen answers no prompt
		s.learnPrompt(in.before.Command)
	}
	w := snd.follow(in.before, in.typed)
	for i, piece := range in.pieces {
		s.rest(ctx, in.pause, i > 0)
		if floor := time.Now().Add(writeFloor); deadline.Before(floor) {
			deadline = floor
		}
		n, err := s.write(ctx, piece, deadline)
		s.update(func() { s.wrote(piece[:n], in.before.Flags) })
		if errors.Is(err, errEnding) {
			return w, err
		} else if err != nil {
			return w, snd.stopped(ctx, err, n, piece)
		}
	}
	return w, nil
}

// follow begins the watch of a write that is about to happen, and counts the
// lines that came since the last result.
func (snd *Send) follow(before backend.Probe, typed []string) *watch {
	s := snd.s
	submits := snd.r.Text != nil && snd.r.Submit
	var from screen.Pos
	var atPrompt bool
	s.update(func() {
		from = s.screen.Pos()
		atPrompt = before.Own && (s.placeNow() == readiness.AtPrompt || s.placeNow() == readiness.AtContinuation)
		snd.missed, snd.missedFrom = s.missed(s.shown, from), s.shown.Line
		s.untold = false // the next status is another command's
		if !atPrompt {
			return
		}
		// The shell's own echo is no output, up to the mark of the command. A
		// shell without that mark has its echo recognised by the text.
		// Nor is there one where even the prompt was not drawn (exec 2>/dev/null).
		hide := s.starts && s.screen.Drawn()
		s.screen.Hide(hide)
		if hide {
			typed = nil
		} else if submits {
			s.place = readiness.InCommand // nobody else will say so
		}
	})
	if before.Flags.Canonical && !before.Flags.Echo {
		typed = nil // the same text is the program's own
	}
	if !before.Flags.Canonical && !atPrompt && !submits {
		typed = nil // keys for a full screen have no echo to speak of
	}
	line := int64(-1)
	if submits {
		line = from.Line
	}
	return s.watch(watchOptions{since: time.Now(), from: from, echo: typed, typedLine: line,
		line: atPrompt && submits && isCommand(*snd.r.Text), running: !atPrompt})
}

// missed counts the lines of output between two places. s.mu is held.
func (s *Session) missed(from, to screen.Pos) int64 {
	if to.Line <= from.Line {
		return 0
	}
	const exact = 1000 // lines that are looked at one by one; beyond, prompts count too
	if to.Line-from.Line > exact {
		return to.Line - from.Line
	}
	n := int64(0)
	s.screen.Lines(from.Line, to.Line-1, func(l screen.Line) bool {
		off := 0
		if l.Number == from.Line {
			off = min(from.Off, len(l.Text))
		}
		if len(visible(l, off)) > 0 || l.Number > from.Line && !l.Prompt && len(l.Hidden) == 0 {
			n++
		}
		return true
	})
	return n
}

// finish waits and makes the result.
func (snd *Send) finish(ctx context.Context, w *watch, deadline, began time.Time) (Result, error) {
	s := snd.s
	out, err := s.await(ctx, w, waitOptions{deadline: deadline, until: snd.r.Until, background: snd.background})
	if errors.Is(err, ErrAborted) {
		aborted := snd.abort(ctx, w)
		err = errors.Join(err, aborted)
		if errors.Is(context.Cause(ctx), errKilled) { // tell how it ended
			out, err = s.await(context.WithoutCancel(ctx), w, waitOptions{deadline: time.Now().Add(killSettle)})
			err = errors.Join(err, aborted)
		}
	}
	if err != nil {
		return Result{}, err
	}
	r := Result{
		Viewport: out.excerpt, Reason: out.reason, Status: s.Status(),
		Foreground: foregroundOf(out.probe, out.state, out.evidence),
		Missed:     snd.missed, MissedFrom: snd.missedFrom, Unread: s.queued(), Elapsed: time.Since(began),
	}
	if out.view.ran {
		r.ExitCode = &out.view.exitCode
	}
	if out.state == readiness.Fullscreen {
		shown := s.Screen()
		r.Screen = &shown
		r.Viewport = Excerpt{Head: strings.TrimRight(strings.Join(shown.Rows, "\n"), "\n")}
	}
	r.Dir, r.DirChanged = s.tellDir()
	return r, nil
}

func (s *Session) resize(size backend.Size) error {
	t, ok := s.term.(backend.Resizer)
	if !ok {
		return fmt.Errorf("%w: resize: this type of terminal cannot", ErrInvalid)
	}
	if err := t.Resize(size); err != nil {
		return fmt.Errorf("%w: resizing: %w", ErrSessionLost, err)
	}
	s.update(func() { s.screen.Resize(size.Cols, size.Rows) })
	return nil
}

// isCommand reports text that is more to a shell than an empty line or a comment,
// which leave the status as it was.
func isCommand(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && !strings.HasPrefix(text, "#")
}

func (s *Session) lastShown() (at screen.Pos, left string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown, s.shownLeft
}
