package ptyservice

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/ptyservice/screen"
)

// enterFor is what the Enter key sends: CR, which the line discipline turns into a
// line feed (ICRNL) and raw programs expect as it is; a line feed itself where the
// terminal reads by lines and does not turn it.
func enterFor(f backend.Flags) string {
	if f.Canonical && !f.CRNL {
		return "\n"
	}
	return "\r"
}

// Bracketed paste, xterm ctlseqs: text between these is data, not keys.
const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// encode turns text into the bytes to write, and into the typed lines, whose
// echo is to be expected. With submit false text is written as it is.
//
// A paste to the session's own shell loses a line end at its end, which is the
// Enter; other programs get it: in the REPL of Python 3.13 it ends the block.
func encode(text string, submit bool, before backend.Probe, m screen.Modes) (data []byte, typed []string, err error) {
	enter := enterFor(before.Flags)
	if !submit {
		return []byte(text), []string{text}, nil
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if i := strings.IndexFunc(text, control); i >= 0 {
		r, _ := utf8.DecodeRuneInString(text[i:])
		return nil, nil, fmt.Errorf("%w: text: control character %q at byte %d; use keys (C-c, Escape, ...), or submit: false, which writes text as it is",
			ErrInvalid, r, i)
	}
	typed = strings.Split(text, "\n")
	if m.BracketedPaste && strings.ContainsAny(text, "\n\t") {
		if before.Own {
			text = strings.TrimSuffix(text, "\n")
		}
		return []byte(pasteStart + text + pasteEnd + enter), typed, nil
	}
	return []byte(strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", enter) + enter), typed, nil
}

// encodeKeys turns key names into pieces to write. An Escape ends a piece: with
// what follows in the same burst it would be taken for a Meta key or a sequence.
func encodeKeys(names []string, m screen.Modes, f backend.Flags) (pieces [][]byte, err error) {
	var piece []byte
	for _, name := range names {
		b, err := screen.EncodeKey(name, m, f.Erase)
		if err != nil {
			return nil, fmt.Errorf("%w: keys: %w", ErrInvalid, err)
		}
		if string(b) == "\r" {
			b = []byte(enterFor(f))
		}
		piece = append(piece, b...)
		if string(b) == esc {
			pieces, piece = append(pieces, piece), nil
		}
	}
	if len(piece) > 0 {
		pieces = append(pieces, piece)
	}
	return pieces, nil
}

const esc = "\x1b"

// pause is what lies between two pieces of input.
type pause uint8

const (
	// afterEscape: programs wait 10 to 50 ms for the rest of a sequence that an
	// Escape may begin (vim's ttimeoutlen, curses' ESCDELAY is longer but for
	// sequences it knows).
	afterEscape pause = iota
	// afterPaste: some programs take an Enter that comes with the end of a
	// paste for its last line (Python 3.14). It waits until the paste was read
	// and nothing was drawn for a moment.
	afterPaste
)

const (
	escapePause = 60 * time.Millisecond
	pasteQuiet  = 20 * time.Millisecond
	pasteLimit  = 500 * time.Millisecond // of all the waiting after a paste; a guess
)

// rest waits before a piece of input: between pieces as p says, and before the
// first until an Escape that was typed last stands alone.
func (s *Session) rest(ctx context.Context, p pause, between bool) {
	s.mu.Lock()
	until := s.escape.Add(escapePause)
	s.mu.Unlock()
	if between && p == afterPaste {
		s.afterPaste(ctx)
		return
	}
	sleep(ctx, time.Until(until))
}

func (s *Session) afterPaste(ctx context.Context) {
	end := time.Now().Add(pasteLimit)
	for time.Now().Before(end) && ctx.Err() == nil {
		waiting, err := s.unread()
		s.mu.Lock()
		quiet := time.Since(s.lastOut)
		s.mu.Unlock()
		if err != nil || !waiting && quiet >= pasteQuiet {
			return
		}
		sleep(ctx, max(pasteQuiet-quiet, time.Millisecond))
	}
}

func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// muteTime is how long queries stay unanswered after an interrupt: a program
// that is gone by then would leave the answer to the shell. A guess.
const muteTime = 200 * time.Millisecond

// wrote notes what was typed. s.mu is held.
func (s *Session) wrote(data []byte, f backend.Flags) {
	now := time.Now()
	s.lastUse, s.escape = now, time.Time{}
	s.partial = unfinished(data, s.partial, f)
	if bytes.HasSuffix(data, []byte(esc)) {
		s.escape = now
	}
	if f.Signals && bytes.ContainsAny(data, "\x03\x1a\x1c") { // VINTR, VSUSP, VQUIT as they are by default
		s.mute = now.Add(muteTime)
	}
}

// control reports what is a key rather than text.
func control(r rune) bool {
	return r < 0x20 && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0
}

// checkLines refuses a line that canonical mode would cut: the kernel keeps
// LineMax bytes of it and drops the rest without a word (n_tty.c). While earlier
// input waits nobody knows in which mode this will be read, so that the limit
// holds then, too.
func (s *Session) checkLines(data []byte, f backend.Flags) error {
	queued := s.queued()
	if !f.Canonical && queued == 0 || f.LineMax == 0 {
		return nil
	}
	s.mu.Lock()
	queued = max(queued, s.partial)
	s.mu.Unlock()
	for i, line := range bytes.Split(bytes.ReplaceAll(data, []byte{'\r'}, []byte{'\n'}), []byte{'\n'}) {
		n := len(line)
		if i == 0 {
			n += queued
		}
		if n > f.LineMax {
			return fmt.Errorf("line %d has %d bytes, the program reads by lines of at most %d: %w", i+1, n, f.LineMax, ErrLineTooLong)
		}
	}
	return nil
}

// unfinished is how much of a line waits without its end after data was typed
// on top of earlier bytes. The kernel does not tell: a line without its end is
// not readable.
func unfinished(data []byte, earlier int, f backend.Flags) int {
	if !f.Canonical {
		return 0
	}
	const eof = 4 // VEOF, ^D, hands over what is there
	if i := bytes.LastIndexAny(data, "\r\n"+string(rune(eof))); i >= 0 {
		return len(data) - i - 1
	}
	return earlier + len(data)
}

// queueSize is how much input a terminal may hold that no program reads: writes
// stall after 12 to 20 KB (measured), of which the kernel counts what the line
// discipline has already taken.
const queueSize = 20 << 10

// endPaste finishes a bracketed paste that was cut: its reader takes everything
// for text until the end comes, and would be deaf to all that follows. It waits
// until that was read, so that a signal does not overtake it.
func (s *Session) endPaste() {
	const patience = 200 * time.Millisecond // a guess: who asks for pastes reads at once
	end := time.Now().Add(patience)
	if s.term.SetWriteDeadline(end) != nil {
		return // gone, and so is its reader
	}
	if _, err := s.term.Write([]byte(pasteEnd)); err != nil {
		s.log.Debug("ending a cut paste", "error", err)
		return
	}
	for time.Now().Before(end) {
		if waiting, err := s.unread(); err != nil || !waiting {
			return
		}
		sleep(context.Background(), time.Millisecond)
	}
}

// write types data, and returns how much of it the terminal took. It stops when
// ctx ends or at the deadline. s.writing is held.
func (s *Session) write(ctx context.Context, data []byte, deadline time.Time) (int, error) {
	if err := s.term.SetWriteDeadline(deadline); err != nil {
		if s.ending() {
			return 0, errEnding
		}
		return 0, fmt.Errorf("%w: %w", ErrSessionLost, err)
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		_ = s.term.SetWriteDeadline(time.Unix(1, 0)) // the write then returns; nothing else can fail here
	})
	n, err := s.term.Write(data)
	if !stop() {
		<-done // or it would end the next write
	}
	switch {
	case err == nil:
		return n, nil
	case ctx.Err() != nil:
		return n, abortError(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, os.ErrDeadlineExceeded
	}
	if s.ending() || errors.Is(err, os.ErrProcessDone) || errors.Is(err, os.ErrClosed) {
		return n, errEnding
	}
	return n, fmt.Errorf("%w: %w", ErrSessionLost, err)
}

// takeBack discards what no program has read.
func (s *Session) takeBack() error {
	s.update(func() { s.partial = 0 })
	if in, ok := s.term.(backend.Input); ok {
		return in.Discard()
	}
	return nil
}

// queued is how much input no program has read yet, in bytes.
func (s *Session) queued() int {
	in, ok := s.term.(backend.Input)
	if !ok {
		return 0
	}
	if waiting, err := in.Unread(); err != nil || !waiting {
		return 0 // asked first: it brings the number of Queued up to date
	}
	n, err := in.Queued()
	if err != nil {
		return 0
	}
	return n
}

const (
	maxReplies   = 4096             // bytes of replies that may wait for a text to be written
	replyTimeout = time.Millisecond // a guess: there is room at once, or the program does not read; pump waits for no longer
)

// reply writes the answers to queries. While a text is being written they wait,
// so that they do not land inside it; whoever writes it sends them after it. They
// also wait while the terminal reads by lines: who asks switches that off to
// read the answer, some a moment after asking, and of who does not the next
// shell would get it. Then they go at the next look, or with the next prompt.
func (s *Session) reply() {
	for s.writing.TryLock() {
		var p []byte
		if s.readsKeys() {
			s.update(func() { p, s.replies, s.answering = s.replies, nil, len(s.replies) > 0 })
		}
		if len(p) > 0 {
			if err := s.term.SetWriteDeadline(time.Now().Add(replyTimeout)); err == nil {
				if n, err := s.term.Write(p); err != nil {
					s.log.Debug("answering a query", "written", n, "of", len(p), "error", err)
				}
			}
			s.update(func() { s.answering, s.answers = false, s.answers+1 })
		}
		s.writing.Unlock()
		s.mu.Lock()
		more := len(s.replies) > 0
		s.mu.Unlock()
		if !more || len(p) == 0 {
			return
		}
	}
}

// readsKeys reports a terminal that does not read by lines, or cannot tell.
func (s *Session) readsKeys() bool {
	p, probed, err := s.probe()
	return err == nil && !(probed && p.Flags.Canonical)
}
