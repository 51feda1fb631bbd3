package screen

// eraseLine is EL.
func (s *Screen) eraseLine(mode int) {
	g := s.g
	r, x := g.row(), g.cur.x
	if mode == 0 {
		s.eraseRight()
		return
	}
	g.cur.pending = false
	switch mode {
	case 1:
		r.erase(0, x+1)
	case 2:
		r.erase(0, g.cols)
	}
}

// eraseRight erases from the cursor to the end of its row. While a wrap is
// pending that is nothing, and the wrap stays pending (xterm.js; tmux too
// erases nothing): grep --color writes EL behind every match, and one that
// ends at the margin must not lose its last character.
func (s *Screen) eraseRight() {
	if !s.g.cur.pending {
		s.g.row().erase(s.g.cur.x, s.g.cols)
	}
}

// eraseDisplay is ED. ED 3 erases the history of other terminals; ours is
// the log, which only grows.
func (s *Screen) eraseDisplay(mode int) {
	g := s.g
	x, y := g.cur.x, g.cur.y
	switch mode {
	case 0:
		if x == 0 && y == 0 && s.marked && !s.hidden {
			s.keep() // a command (watch, clear of some terminals) erases all
		}
		if x == 0 && !g.cur.pending {
			// Unlike EL: else zsh's mark for a missing newline would join
			// the prompt to the output before it.
			s.separate(y)
		}
		s.eraseRight()
		g.rows[y].unwrap() // what continued it is erased
		g.clear(y+1, len(g.rows))
	case 1:
		g.cur.pending = false
		if y > 0 {
			s.separate(0)
			g.clear(0, y)
		}
		g.rows[y].erase(0, x+1)
	case 2:
		g.cur.pending = false
		s.keep()
		s.separate(0)
		g.clear(0, len(g.rows))
	}
}

// clear blanks the rows from y up to, not including, end.
func (g *grid) clear(y, end int) {
	for ; y < end; y++ {
		g.rows[y].reset()
	}
}

func (g *grid) blank() { g.clear(0, len(g.rows)) }

// keep pushes what the main screen shows into the log before ED 2 erases it:
// "clear" must not destroy output that nobody has read.
//
// Programs that repaint with ED 2 would flood the log, frame by frame. So
// one ED 2 is honoured for each shell mark (command begins, prompt begins)
// or call of Hide. Where there are none, a row must have left the screen at
// the top since the last time: output that scrolls is output that grows,
// while a repainting program fits its frames to the screen and so scrolls
// nothing. What can be lost then is less than a screen a time.
//
// The rows above the last mark are pushed even if they are blank: what is
// drawn after it must not get the number of a line before it.
func (s *Screen) keep() {
	if s.g != s.main || !s.armed {
		return
	}
	n := s.main.lastUsed() + 1
	for n < len(s.main.rows) && s.log.next+s.main.ends(n) < s.floor {
		n++
	}
	if n == 0 {
		return
	}
	for _, r := range s.main.rows[:n] {
		s.push(r)
	}
	s.armed = false
}

// editRow is ICH, DCH and ECH.
func (s *Screen) editRow(final byte, n int) {
	g := s.g
	g.cur.pending = false
	r, x := g.row(), g.cur.x
	switch final {
	case '@':
		r.insert(x, n)
	case 'P':
		r.remove(x, n)
	case 'X':
		r.erase(x, min(x+n, g.cols))
	}
}

// editRows is IL and DL: they scroll the region from the cursor down.
func (s *Screen) editRows(final byte, n int) {
	g := s.g
	y := g.cur.y
	if y < g.top || y >= g.bot {
		return
	}
	g.cur.x, g.cur.pending = 0, false
	if final == 'L' {
		s.scrollDown(y, n)
		return
	}
	s.scrolled = true
	s.separate(y)
	g.rows[g.bot-1].unwrap()
	for range min(n, g.bot-y) {
		g.up(y, g.bot)
	}
}
