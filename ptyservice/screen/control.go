package screen

// control executes a C0 control character, or DEL.
func (s *Screen) control(b byte) {
	s.drawn = true
	if b == 0x1b {
		s.begin()
		return
	}
	c := &s.g.cur
	switch b {
	case '\n', '\v', '\f':
		s.lineFeed()
		if s.modes.LNM {
			c.x = 0
		}
	case '\r':
		c.x, c.pending = 0, false
	case '\b':
		s.backspace()
	case '\t':
		s.tab(1)
	case 0x0e:
		s.shift = 1
	case 0x0f:
		s.shift = 0
	case 0x18, 0x1a:
		s.state = ground
	case 0, 0x7f:
		return
	}
	s.last = 0
}

// backspace moves left; with reverse wrap (mode 45) also back over a soft
// wrap.
func (s *Screen) backspace() {
	g := s.g
	c := &g.cur
	switch {
	case c.x > 0:
		c.x--
	case s.modes.reverse && s.modes.Autowrap && g.join(c.y):
		c.y--
		c.x = g.cols - 1
	}
	c.pending = false
}

// escape executes ESC, an intermediate byte if there was one, and a final.
func (s *Screen) escape(b byte) {
	s.last = 0
	if s.inter != 0 {
		s.designate(b)
		return
	}
	switch b {
	case 'D':
		s.lineFeed()
	case 'E':
		s.lineFeed()
		s.g.cur.x = 0
	case 'M':
		s.reverseIndex()
	case 'H':
		s.tabs[s.g.cur.x] = true
	case 'N', 'O':
		s.single = int(b-'N') + 2
	case 'n', 'o':
		s.shift = int(b-'n') + 2
	case '7':
		s.save()
	case '8':
		s.restore()
	case '=':
		s.modes.AppKeypad = true
	case '>':
		s.modes.AppKeypad = false
	case 'c':
		s.reset()
	}
}

// designate executes the sequences with an intermediate: charsets, DECALN.
func (s *Screen) designate(b byte) {
	switch s.inter {
	case '(', ')', '*', '+':
		if b != '0' {
			b = 'B' // national sets differ in a few signs nobody uses now
		}
		s.charsets[s.inter-'('] = b
	case '#':
		if b == '8' {
			s.align()
		}
	}
}

// align fills the screen with E (DECALN).
func (s *Screen) align() {
	g := s.g
	g.top, g.bot = 0, len(g.rows)
	g.move(0, 0)
	s.separate(0)
	for _, r := range g.rows {
		r.reset()
		for x := range r.cells {
			r.cells[x].ch = 'E'
		}
		r.used = len(r.cells)
	}
}

func defaultCharsets() [4]byte { return [4]byte{'B', 'B', 'B', 'B'} }

// lineDrawing is the DEC special graphics set from 0x5f on (VT220 manual,
// table 2-4).
const lineDrawing = "\u00a0◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·"

// translate applies the charset in use to a printable ASCII character.
func (s *Screen) translate(b byte) rune {
	set := s.charsets[s.shift]
	if s.single != 0 {
		set, s.single = s.charsets[s.single], 0
	}
	if set != '0' || b < 0x5f {
		return rune(b)
	}
	i := byte(0x5f)
	for _, u := range lineDrawing {
		if i == b {
			return u
		}
		i++
	}
	return rune(b)
}

// save is DECSC.
func (s *Screen) save() {
	s.g.saved = saved{s.g.cur, s.pen, s.charsets, s.shift, s.modes.Origin}
}

// restore is DECRC.
func (s *Screen) restore() {
	v := s.g.saved
	s.g.cur, s.pen, s.charsets, s.shift = v.cur, v.pen, v.charsets, v.shift
	s.modes.Origin = v.origin
	s.setAttr()
}

// reset is RIS. The log and the zone stay: they are ours, not the program's.
func (s *Screen) reset() {
	s.show(s.main)
	if s.marked {
		s.keep() // like ED 2: output after it must not count as before the command
	}
	s.closeLine()
	for _, r := range s.main.rows {
		r.reset()
	}
	*s.main = grid{rows: s.main.rows, cols: s.cols, bot: s.rows}
	s.main.saved.charsets = defaultCharsets()
	s.alt = nil
	s.tabs = defaultTabs(nil, s.cols)
	s.modes = defaultModes()
	s.title = ""
	s.soft()
}

// soft is what RIS and DECSTR have in common.
func (s *Screen) soft() {
	g := s.g
	m := &s.modes
	m.Insert, m.Origin, m.Autowrap, m.cursor = false, false, true, true
	m.AppCursor, m.AppKeypad = false, false
	g.top, g.bot = 0, len(g.rows)
	g.saved = saved{charsets: defaultCharsets()}
	s.pen, s.charsets, s.shift, s.single = 0, defaultCharsets(), 0, 0
	s.setAttr()
}

// setAttr works out the state bits of the cells to be written.
func (s *Screen) setAttr() {
	s.attr = s.pen
	if s.hidden && s.g == s.main {
		s.attr |= stZone
	}
}
