package ptyservice

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/ptyservice/screen"
)

// enter is what the Enter key sends; the line discipline turns it into a line
// feed where it is set to (ICRNL), raw programs expect it as it is.
const enter = "\r"

// Bracketed paste, xterm ctlseqs: text between these is data, not keys.
const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// encode turns text into the bytes to write, and into the typed lines, whose
// echo is to be expected. With submit false text is written as it is.
func encode(text string, submit bool, m screen.Modes) (data []byte, typed []string, err error) {
	if !submit {
		return []byte(text), []string{text}, nil
	}
	if i := strings.IndexFunc(text, control); i >= 0 {
		return nil, nil, fmt.Errorf("%w: text: control character %q at byte %d; submit: false writes text as it is, terminal_signal interrupts",
			ErrInvalid, text[i:i+1], i)
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	typed = strings.Split(text, "\n")
	if m.BracketedPaste && strings.ContainsAny(text, "\n\t") {
		return []byte(pasteStart + strings.TrimSuffix(text, "\n") + pasteEnd + enter), typed, nil
	}
	return []byte(strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", enter) + enter), typed, nil
}

// control reports what is a key rather than text. A lone CR is one, too.
func control(r rune) bool {
	return r < 0x20 && r != '\n' && r != '\t' && r != '\r' || r == 0x7f || r >= 0x80 && r < 0xa0
}

// checkLines refuses a line that canonical mode would cut: the kernel keeps
// LineMax bytes of it and drops the rest without a word (n_tty.c).
func checkLines(data []byte, f backend.Flags, queued int) error {
	if !f.Canonical || f.LineMax == 0 {
		return nil
	}
	for i, line := range strings.FieldsFunc(string(data), func(r rune) bool { return r == '\r' || r == '\n' }) {
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

// write types data, and returns how much of it the terminal took. It stops when
// ctx ends or at the deadline. s.writing is held.
func (s *Session) write(ctx context.Context, data []byte, deadline time.Time) (int, error) {
	if err := s.term.SetWriteDeadline(deadline); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrSessionLost, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = s.term.SetWriteDeadline(time.Unix(1, 0)) }) // the write then returns; nothing else can fail here
	n, err := s.term.Write(data)
	stop()
	switch {
	case err == nil:
		return n, nil
	case ctx.Err() != nil:
		return n, abortError(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, os.ErrDeadlineExceeded
	}
	if _, exited := s.exitStatus(); exited {
		return n, ErrSessionExited
	}
	return n, fmt.Errorf("%w: %w", ErrSessionLost, err)
}

// takeBack discards what no program has read.
func (s *Session) takeBack() error {
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
	maxReplies   = 4096                   // bytes of replies that may wait for a text to be written
	replyTimeout = 100 * time.Millisecond // a program that asks is about to read
)

// reply writes the answers to queries. While a text is being written they wait,
// so that they do not land inside it; whoever writes it sends them after it.
func (s *Session) reply() {
	for s.writing.TryLock() {
		var p []byte
		s.update(func() { p, s.replies = s.replies, nil })
		if len(p) > 0 {
			if err := s.term.SetWriteDeadline(time.Now().Add(replyTimeout)); err == nil {
				if n, err := s.term.Write(p); err != nil {
					s.log.Debug("answering a query", "written", n, "of", len(p), "error", err)
				}
			}
		}
		s.writing.Unlock()
		s.mu.Lock()
		more := len(s.replies) > 0
		s.mu.Unlock()
		if !more {
			return
		}
	}
}
