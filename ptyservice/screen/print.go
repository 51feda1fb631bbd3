package screen

// maxPiece is where a logical line is cut into pieces: a piece ends with the
// row that reaches this many bytes.
const maxPiece = 4096

// ascii writes a run of printable ASCII at the cursor.
func (s *Screen) ascii(run []byte) {
	s.last = rune(run[len(run)-1])
	s.drawn = true
	if s.modes.Insert || s.single != 0 || s.charsets[s.shift] != 'B' {
		for _, b := range run {
			s.put(s.translate(b), 1)
		}
		return
	}
	g := s.g
	for len(run) > 0 {
		if g.cur.pending {
			if s.modes.Autowrap {
				s.wrap()
			} else {
				run = run[len(run)-1:] // all in the last column
			}
		}
		n := min(len(run), g.cols-g.cur.x)
		g.row().put(g.cur.x, run[:n], s.attr)
		run = run[n:]
		s.advance(n)
	}
}

// advance moves the cursor past n columns just written.
func (s *Screen) advance(n int) {
	c := &s.g.cur
	c.x += n
	if c.x >= s.g.cols {
		c.x, c.pending = s.g.cols-1, true
	}
}

// print writes one character beyond ASCII.
func (s *Screen) print(u rune) {
	w := s.width(u)
	if w == 0 {
		s.combine(u)
	}
	if w > 0 && w <= s.g.cols {
		s.last = u
		s.put(u, w)
	}
}

// put writes one character of width w at the cursor.
func (s *Screen) put(u rune, w int) {
	g := s.g
	if g.cur.pending && s.modes.Autowrap {
		s.wrap()
	}
	if g.cur.x+w > g.cols {
		if !s.modes.Autowrap {
			return // half of it would be outside: xterm draws nothing
		}
		r := g.row()
		r.erase(g.cur.x, g.cols)
		r.cells[g.cur.x].st = stPad
		r.used, r.rich = g.cols, true
		s.wrap()
	}
	if s.modes.Insert {
		g.row().insert(g.cur.x, w)
	}
	g.cur.pending = false
	g.row().set(g.cur.x, w, uint32(u), s.attr)
	s.advance(w)
}

// wrap continues the cursor's row on the next one.
func (s *Screen) wrap() {
	g := s.g
	g.cur.x, g.cur.pending = 0, false
	if g.cur.y == len(g.rows)-1 && g.cur.y != g.bot-1 {
		return // below the scroll region nothing moves: the row is written over
	}
	r := g.row()
	size := r.base + s.rowBytes(r, g.cols)
	r.wrap, r.cut, r.end = true, size >= maxPiece, 0
	if r.cut {
		size = 0
	}
	s.index()
	g.row().base = size
}

// repeat writes the last character n times more.
func (s *Screen) repeat(n int) {
	if s.last == 0 {
		return
	}
	n = min(n, s.g.cols*len(s.g.rows))
	if s.last >= 0x7f {
		for range n {
			s.print(s.last)
		}
		return
	}
	var chunk [64]byte
	for i := range chunk {
		chunk[i] = byte(s.last)
	}
	for n > 0 {
		k := min(n, len(chunk))
		s.ascii(chunk[:k])
		n -= k
	}
}

// index moves the cursor down; at the bottom of the scroll region the region
// scrolls.
func (s *Screen) index() {
	g := s.g
	switch {
	case g.cur.y == g.bot-1:
		s.scrollUp(1)
	case g.cur.y < len(g.rows)-1:
		g.cur.y++
	}
}

// lineFeed ends the line with the cursor's row and goes to the next one.
func (s *Screen) lineFeed() {
	if s.hidden && s.g == s.main {
		s.g.row().prompt = true
	}
	s.g.cur.pending = false
	s.index()
}

// reverseIndex moves the cursor up; at the top of the scroll region the
// region scrolls down.
func (s *Screen) reverseIndex() {
	g := s.g
	g.cur.pending = false
	switch {
	case g.cur.y == g.top:
		s.scrollDown(g.top, 1)
	case g.cur.y > 0:
		g.cur.y--
	}
}

// scrollUp scrolls the scroll region up. Rows that so leave the main screen
// at its top go to the log, as in tmux also for SU.
func (s *Screen) scrollUp(n int) {
	g := s.g
	s.scrolled = true
	if g.top > 0 {
		g.rows[g.top-1].unwrap()
	}
	for range min(n, g.bot-g.top) {
		if g == s.main && g.top == 0 {
			s.push(g.rows[0])
		}
		g.up(g.top, g.bot)
	}
}

// scrollDown scrolls the rows from top to the end of the scroll region down.
func (s *Screen) scrollDown(top, n int) {
	s.scrolled = true
	s.separate(top)
	for range min(n, s.g.bot-top) {
		s.g.down(top, s.g.bot)
	}
}

// separate ends the line of the row above y there.
func (s *Screen) separate(y int) {
	if y > 0 {
		s.g.rows[y-1].unwrap()
	} else if s.g == s.main {
		s.closeLine()
	}
}
