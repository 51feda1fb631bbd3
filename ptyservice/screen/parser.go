package screen

import "unicode/utf8"

// state is where the parser is in a sequence; see the diagram at
// https://vt100.net/emu/dec_ansi_parser. Entry states are folded into the
// ones that follow them.
type state byte

const (
	ground state = iota
	escape
	csi       // entry, parameters, intermediates
	csiIgnore // a malformed one: swallowed to its end
	oscString
	dcsString
	skipString // SOS, PM, APC
)

const (
	maxParams  = 32
	maxParam   = 65535
	maxPayload = 64 << 10
	// keptPayload is the largest buffer that a short payload may leave
	// behind for the next one.
	keptPayload = 4 << 10
)

// parser is the state between two bytes.
type parser struct {
	state  state
	prefix byte // of a CSI: one of <=>? or 0
	inter  byte // the intermediate byte, or 0
	params [maxParams]int
	sub    uint32 // bit i: parameter i follows a colon
	n      int    // parameters begun
	full   bool   // more parameters than kept
	str    []byte // payload of an OSC or DCS
	over   bool   // the payload was too long to be kept
	prev   byte   // previous byte of a string
	u      decoder
}

// Write feeds bytes to the terminal. It returns len(p), nil.
func (s *Screen) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if s.state != ground || s.u.need > 0 {
			s.step(p[0])
			p = p[1:]
			continue
		}
		b := p[0]
		switch {
		case b >= 0x20 && b < 0x7f:
			k := 1
			for k < len(p) && p[k] >= 0x20 && p[k] < 0x7f {
				k++
			}
			s.ascii(p[:k])
			p = p[k:]
		case b >= utf8.RuneSelf:
			u, k := utf8.DecodeRune(p)
			if u == utf8.RuneError && k < 3 {
				s.step(b) // bad or cut off: byte by byte
				k = 1
			} else {
				s.rune(u)
			}
			p = p[k:]
		default:
			s.control(b)
			p = p[1:]
		}
	}
	return n, nil
}

// step takes one byte in any state.
func (s *Screen) step(b byte) {
	switch s.state {
	case ground:
		s.stepGround(b)
		return
	case oscString, dcsString, skipString:
		s.stepString(b)
		return
	}
	switch {
	case b == 0x7f:
	case b < 0x20:
		s.control(b)
	case b >= utf8.RuneSelf:
		// Text inside a sequence: the sequence was cut off, the text counts.
		s.state = ground
		s.stepGround(b)
	case s.state == escape:
		s.stepEscape(b)
	default:
		s.stepCSI(b)
	}
}

func (s *Screen) stepGround(b byte) {
	for {
		u, done, again := s.u.next(b)
		if done {
			s.rune(u)
		}
		if !again {
			return
		}
		if b < utf8.RuneSelf {
			break
		}
	}
	if b < 0x20 || b == 0x7f {
		s.control(b)
	} else {
		s.ascii([]byte{b})
	}
}

// rune takes a decoded character in the ground state. C1 controls are
// understood in this form only: as single bytes they are invalid UTF-8.
func (s *Screen) rune(u rune) {
	if u < 0xa0 {
		s.begin()
		s.stepEscape(byte(u) - 0x40)
		return
	}
	s.print(u)
}

// begin starts a sequence.
func (s *Screen) begin() {
	s.state, s.prefix, s.inter = escape, 0, 0
	s.n, s.sub, s.full, s.params[0] = 0, 0, false, 0
	s.str, s.over, s.prev = s.str[:0], false, 0
}

func (s *Screen) stepEscape(b byte) {
	switch {
	case b < 0x30:
		s.inter = b
		return
	case s.inter != 0:
		s.state = ground
		s.escape(b)
		return
	}
	switch b {
	case '[':
		s.state = csi
	case ']':
		s.state = oscString
	case 'P':
		s.state = dcsString
	case 'X', '^', '_':
		s.state = skipString
	default:
		s.state = ground
		s.escape(b)
	}
}

func (s *Screen) stepCSI(b byte) {
	switch {
	case b >= 0x40:
		ok := s.state == csi
		s.state = ground
		if ok {
			s.csi(b)
		}
	case s.state == csiIgnore:
	case b < 0x30:
		if s.inter != 0 {
			s.state = csiIgnore
		}
		s.inter = b
	case s.inter != 0:
		s.state = csiIgnore
	case b <= '9':
		s.digit(int(b - '0'))
	case b <= ';':
		s.separator(b)
	case s.n == 0 && s.prefix == 0:
		s.prefix = b
	default:
		s.state = csiIgnore
	}
}

func (s *Screen) digit(d int) {
	if s.n == 0 {
		s.n = 1
	}
	if !s.full {
		p := &s.params[s.n-1]
		*p = min(*p*10+d, maxParam)
	}
}

func (s *Screen) separator(b byte) {
	if s.n == 0 {
		s.n = 1
	}
	if s.n == maxParams {
		s.full = true
		return
	}
	s.params[s.n] = 0
	if b == ':' {
		s.sub |= 1 << s.n
	}
	s.n++
}

// arg returns a parameter, or def where it is missing or 0.
func (s *Screen) arg(i, def int) int {
	if i >= s.n || s.params[i] == 0 {
		return def
	}
	return s.params[i]
}

// stepString takes a byte of an OSC, DCS, SOS, PM or APC. ESC ends it,
// whatever follows: a program that died inside a string must not swallow the
// next one's output.
func (s *Screen) stepString(b byte) {
	st := b == 0x9c && s.prev == 0xc2 // ST as U+009C
	s.prev = b
	switch {
	case b == 0x18 || b == 0x1a:
		s.state = ground
	case b == 0x1b:
		s.endString()
		s.begin()
	case b == 0x07 && s.state == oscString:
		s.endString()
	case st:
		if n := len(s.str); n > 0 && !s.over {
			s.str = s.str[:n-1] // the 0xc2
		}
		s.endString()
	case s.state == skipString || b < 0x20 || b == 0x7f:
	case len(s.str) < maxPayload:
		s.str = append(s.str, b)
	default:
		s.over = true
	}
}

func (s *Screen) endString() {
	kind := s.state
	s.state = ground
	if !s.over {
		switch kind {
		case oscString:
			s.osc(s.str)
		case dcsString:
			s.dcs(s.str)
		}
	}
	if cap(s.str) > keptPayload {
		s.str = nil
	}
}
