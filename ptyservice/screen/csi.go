package screen

// key names a control sequence: private prefix, intermediate, final.
func key(prefix, inter, final byte) int {
	return int(prefix)<<16 | int(inter)<<8 | int(final)
}

// csi executes a control sequence. Unknown ones are ignored.
func (s *Screen) csi(final byte) {
	if final != 'b' {
		s.last = 0
	}
	switch key(s.prefix, s.inter, final) {
	case key('?', 0, 'h'):
		s.setModes(true)
	case key('?', 0, 'l'):
		s.setModes(false)
	case key('?', 0, 'J'):
		s.eraseDisplay(s.arg(0, 0))
	case key('?', 0, 'K'):
		s.eraseLine(s.arg(0, 0))
	case key(0, '!', 'p'):
		s.soft()
	case key('=', 0, 'u'):
		s.kitty().set(s.arg(0, 0), s.arg(1, 1))
	case key('>', 0, 'u'):
		s.kitty().push(s.arg(0, 0))
	case key('<', 0, 'u'):
		s.kitty().pop(s.arg(0, 1))
	default:
		if s.prefix == 0 && s.inter == 0 {
			s.plainCSI(final)
		} else {
			s.query(final)
		}
	}
}

// plainCSI executes the sequences without prefix and intermediate.
func (s *Screen) plainCSI(final byte) {
	n := s.arg(0, 1)
	switch final {
	case 'm':
		s.rendition()
	case 'K':
		s.eraseLine(s.arg(0, 0))
	case 'J':
		s.eraseDisplay(s.arg(0, 0))
	case '@', 'P', 'X':
		s.editRow(final, n)
	case 'L', 'M':
		s.editRows(final, n)
	case 'S':
		s.scrollUp(n)
	case 'T':
		if s.n < 2 { // with more parameters it is mouse highlighting
			s.scrollDown(s.g.top, n)
		}
	case 'b':
		s.repeat(n)
	case 'g':
		switch s.arg(0, 0) {
		case 0:
			s.tabs[s.g.cur.x] = false
		case 3:
			clear(s.tabs)
		}
	case 'h':
		s.setModes(true)
	case 'l':
		s.setModes(false)
	case 'r':
		s.setRegion(n-1, s.arg(1, len(s.g.rows)))
	case 's':
		s.save()
	case 'u':
		s.restore()
	case 'c', 'n', 't':
		s.query(final)
	default:
		s.moveCursor(final, n)
	}
}

// moveCursor executes the sequences that only move the cursor. Vertical
// moves stop at the margin of the scroll region they meet.
func (s *Screen) moveCursor(final byte, n int) {
	g := s.g
	c := g.cur
	switch final {
	case 'A':
		g.move(c.x, g.above(n))
	case 'B':
		g.move(c.x, g.below(n))
	case 'e':
		g.move(c.x, c.y+n) // VPR knows no margins (xterm)
	case 'C', 'a':
		g.move(c.x+n, c.y)
	case 'D':
		g.move(c.x-n, c.y)
	case 'E':
		g.move(0, g.below(n))
	case 'F':
		g.move(0, g.above(n))
	case 'G', '`':
		g.move(n-1, c.y)
	case 'H', 'f':
		s.moveTo(s.arg(1, 1)-1, n-1)
	case 'd':
		s.moveTo(c.x, n-1)
	case 'I':
		s.tab(n)
	case 'Z':
		s.tab(-n)
	}
}

// above returns the row n rows above the cursor.
func (g *grid) above(n int) int {
	if y := g.cur.y - n; g.cur.y < g.top || y >= g.top {
		return y
	}
	return g.top
}

// below returns the row n rows below the cursor.
func (g *grid) below(n int) int {
	if y := g.cur.y + n; g.cur.y >= g.bot || y < g.bot {
		return y
	}
	return g.bot - 1
}

// moveTo moves to a cell counted from the origin.
func (s *Screen) moveTo(x, y int) {
	g := s.g
	if s.modes.Origin {
		y = min(g.top+y, g.bot-1)
	}
	g.move(x, y)
}

// setRegion is DECSTBM.
func (s *Screen) setRegion(top, bot int) {
	bot = min(bot, len(s.g.rows))
	if top < bot-1 || top == 0 && bot == len(s.g.rows) {
		s.g.top, s.g.bot = top, bot
		s.moveTo(0, 0)
	}
}

// rendition is SGR. Of all attributes only concealed ones matter to text.
func (s *Screen) rendition() {
	if s.n == 0 {
		s.pen = 0
	}
	for i := 0; i < s.n; i++ {
		if s.sub>>i&1 != 0 {
			continue
		}
		switch s.params[i] {
		case 0, 28:
			s.pen = 0
		case 8:
			s.pen = stConceal
		case 38, 48, 58:
			i += s.colour(i)
		}
	}
	s.setAttr()
}

// colour returns how many parameters behind parameter i are its colour.
func (s *Screen) colour(i int) int {
	if i+1 >= s.n || s.sub>>(i+1)&1 != 0 {
		return 0
	}
	switch s.params[i+1] {
	case 5:
		return 2
	case 2:
		return 4
	}
	return 1
}
