package screen

import (
	"strconv"
	"strings"
)

// MarkKind tells the shell marks apart.
type MarkKind byte

const (
	// PromptStart: the earlier command ended with Status, a prompt begins.
	PromptStart MarkKind = 'D'
	// PromptEnd: the prompt is complete, the shell reads a command.
	PromptEnd MarkKind = 'B'
	// CommandStart: the command was read, its output follows.
	CommandStart MarkKind = 'C'
	// Continuation: the prompt for a further line of the command begins.
	Continuation MarkKind = 'P'
)

// Mark is one mark of our shell integration: the sequence
//
//	ESC ] 6973 ; nonce ; kind ; ... BEL or ST
//
// with D;status;pid;dir, B;pid, C;pid or P;pid behind the nonce. Marks of
// another nonce, of another kind or with malformed numbers are dropped.
type Mark struct {
	Kind   MarkKind
	Status int    // of the earlier command, -1 if the shell cannot tell; PromptStart only
	PID    int    // process id of the shell
	Dir    string // the shell's working directory as it sent it, PromptStart only
	At     Pos    // the cursor of the main screen when the mark came
}

// maxMarks bounds the marks between two calls of Marks.
const maxMarks = 256

// Marks returns the shell marks since the last call, in order. At most 256
// are kept; then the oldest is dropped.
func (s *Screen) Marks() []Mark {
	m := s.marks
	s.marks = nil
	return m
}

// Hide sets the zone from outside: what is written to the main screen from
// now on is (true) or is not (false) prompt or echoed command. A mark sets
// it again.
func (s *Screen) Hide(on bool) {
	s.hidden, s.echoes, s.edited = on, !on, on
	s.arm()
	s.setAttr()
}

// Drawn reports whether anything was written since the last prompt began, be it
// only a carriage return: a line editor that draws nothing has no echo either.
func (s *Screen) Drawn() bool { return s.drawn }

// accepted is called when bracketed paste is switched off: a shell does so when
// it has taken the line (readline, zle). What follows is no echo any more, also
// without a command mark: the shell may refuse the line with a message.
func (s *Screen) accepted() {
	if s.typing && s.hidden {
		s.typing, s.hidden = false, false
		s.setAttr()
	}
}

// arm lets the next ED 2 push the screen into the log.
func (s *Screen) arm() { s.armed, s.marked = true, true }

// mark takes the payload of OSC 6973.
func (s *Screen) mark(payload string) {
	nonce, rest, _ := strings.Cut(payload, ";")
	if s.nonce == "" || nonce != s.nonce {
		return
	}
	m, ok := parseMark(rest)
	if !ok {
		return
	}
	m.At = s.Pos()
	if m.Kind == PromptEnd && !s.starts && (s.continued || s.echoes) {
		// A shell that does not mark where the command starts. What is typed
		// ahead was echoed before: output may follow at once, or the next
		// continuation prompt.
		s.hidden = false
	}
	if m.Kind == PromptStart && s.typing && s.edited {
		s.refused()
	}
	if m.Kind == PromptEnd {
		s.typedAt = m.At.Line
	}
	s.typing, s.continued = m.Kind == PromptEnd, m.Kind == Continuation
	s.starts = s.starts || m.Kind == CommandStart
	switch m.Kind {
	case PromptStart:
		s.edited, s.drawn = false, false
		s.replies = nil // whoever asked is gone, and the shell did not ask
		if s.g == s.main {
			s.soft() // nor does what it left behind concern the shell
		}
		s.hidden = true
		s.arm()
		if s.main.cur.x == 0 && s.g == s.main {
			s.separate(s.main.cur.y) // a prompt continues nothing
			m.At = s.Pos()
		}
	case Continuation:
		s.hidden = true
		if s.starts {
			s.hideLeft() // zsh draws the prompt before it can say so
		}
	case PromptEnd:
		s.drawn = true
	case CommandStart:
		s.hidden = false
		s.floor = m.At.Line
		s.arm()
	}
	s.setAttr()
	if len(s.marks) == maxMarks {
		s.marks = append(s.marks[:0], s.marks[1:]...)
	}
	s.marks = append(s.marks, m)
}

// refused is called when a prompt follows a typed line without a command mark
// between, where nothing told that the line was taken: what is below the line,
// as far as it is still on the screen, is the shell's message.
func (s *Screen) refused() {
	line := s.log.next
	for _, r := range s.main.rows[:s.main.cur.y+1] {
		if line > s.typedAt {
			for x := range r.cells {
				r.cells[x].st &^= stZone
			}
			r.prompt = false
			r.stale |= staleAll
		}
		if !r.wrap || r.cut {
			line++
		}
	}
}

// hideLeft makes what is left of the cursor part of the hidden zone.
func (s *Screen) hideLeft() {
	if s.g != s.main {
		return
	}
	r := s.g.row()
	for x := range s.g.cur.x {
		if r.cells[x].ch != 0 {
			r.cells[x].st |= stZone
			r.rich = true
		}
	}
	r.stale |= staleSize
}

// parseMark parses what follows the nonce.
func parseMark(text string) (Mark, bool) {
	kind, rest, _ := strings.Cut(text, ";")
	if len(kind) != 1 {
		return Mark{}, false
	}
	m := Mark{Kind: MarkKind(kind[0])}
	ok := true
	switch m.Kind {
	case PromptStart:
		f := strings.SplitN(rest, ";", 3)
		if len(f) < 3 || len(f[2]) > maxDir {
			return Mark{}, false
		}
		if m.Status = -1; f[0] != "" {
			m.Status, ok = number(f[0])
		}
		m.Dir = f[2]
		rest = f[1]
	case PromptEnd, CommandStart, Continuation:
	default:
		return Mark{}, false
	}
	pid, valid := number(rest)
	m.PID = pid
	return m, ok && valid
}

// number parses a plain decimal number of at most 31 bits.
func number(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err == nil
}
