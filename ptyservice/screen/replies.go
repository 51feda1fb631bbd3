package screen

import (
	"bytes"
	"strconv"
)

const (
	maxReplies = 4096 // bytes kept between two calls of Replies
	// xterm.js and xterm report themselves so; vim derives from the 276 that
	// it may use SGR mouse reports.
	primaryDA   = "\x1b[?62;22c"
	secondaryDA = "\x1b[>0;276;0c"
)

// Replies returns the answers to the program's queries since the last call,
// to be sent to it as input. At most 4096 bytes are kept; what does not fit
// is dropped, never cut. Every answer has a fixed format with numbers at
// most: a program cannot choose a text that would be typed.
func (s *Screen) Replies() []byte {
	r := s.replies
	s.replies = nil
	return r
}

func (s *Screen) reply(text string) {
	if len(s.replies)+len(text) <= maxReplies {
		s.replies = append(s.replies, text...)
	}
}

// query answers the control sequences that ask for something.
func (s *Screen) query(final byte) {
	n := s.arg(0, 0)
	switch key(s.prefix, s.inter, final) {
	case key(0, 0, 'c'):
		if n == 0 {
			s.reply(primaryDA)
		}
	case key('>', 0, 'c'):
		if n == 0 {
			s.reply(secondaryDA)
		}
	case key(0, 0, 'n'), key('?', 0, 'n'):
		s.replyStatus(n)
	case key(0, '$', 'p'), key('?', '$', 'p'):
		s.replyMode(n)
	case key('>', 0, 'q'):
		if n == 0 {
			s.reply("\x1bP>|ptykeep\x1b\\")
		}
	case key('?', 0, 'u'):
		s.reply("\x1b[?" + strconv.Itoa(s.kitty().flags()) + "u")
	case key(0, 0, 't'):
		if n == 18 {
			s.reply("\x1b[8;" + strconv.Itoa(s.rows) + ";" + strconv.Itoa(s.cols) + "t")
		}
	}
}

// replyStatus is DSR: 5 asks for the terminal's health, 6 for the cursor.
func (s *Screen) replyStatus(n int) {
	private := ""
	if s.prefix == '?' {
		private = "?"
	}
	switch n {
	case 5:
		if private == "" {
			s.reply("\x1b[0n")
		}
	case 6:
		y := s.g.cur.y
		if s.modes.Origin {
			y -= s.g.top
		}
		s.reply("\x1b[" + private + strconv.Itoa(y+1) + ";" + strconv.Itoa(s.g.cur.x+1) + "R")
	}
}

// replyMode is DECRQM.
func (s *Screen) replyMode(n int) {
	private := ""
	if s.prefix == '?' {
		private = "?"
	}
	state := strconv.Itoa(s.mode(private != "", n))
	s.reply("\x1b[" + private + strconv.Itoa(n) + ";" + state + "$y")
}

// replyColour answers OSC 10 and 11: light text on a dark ground.
func (s *Screen) replyColour(code string) {
	colour := "0000/0000/0000"
	if code == "10" {
		colour = "e5e5/e5e5/e5e5"
	}
	s.reply("\x1b]" + code + ";rgb:" + colour + "\x1b\\")
}

// dcs answers DECRQSS and XTGETTCAP with "no": the answer that a program
// must be ready for and that repeats nothing it sent.
func (s *Screen) dcs(payload []byte) {
	s.last = 0
	switch {
	case bytes.HasPrefix(payload, []byte("$q")):
		s.reply("\x1bP0$r\x1b\\")
	case bytes.HasPrefix(payload, []byte("+q")):
		s.reply("\x1bP0+r\x1b\\")
	}
}
