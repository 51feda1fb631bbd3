package screen

import "slices"

// Resize changes the size of both screens; it is moved into range like that
// of a Config. The main screen's lines are wrapped anew, except the one with
// the cursor: the program that is writing it (readline) redraws it itself.
// Rows that no longer fit go to the log; nothing comes back from there, so a
// taller screen gets blank rows at the bottom. The alternate screen is
// cropped or extended: its program redraws it.
func (s *Screen) Resize(cols, rows int) {
	cols = min(max(cols, minCols), MaxCols)
	rows = min(max(rows, 1), MaxRows)
	if cols == s.cols && rows == s.rows {
		return
	}
	s.scrolled = true
	s.cols, s.rows = cols, rows
	s.tabs = defaultTabs(s.tabs, cols)
	if s.alt != nil {
		s.alt.resize(cols, rows)
	}
	if cols != s.main.cols {
		s.reflow(cols)
	}
	s.shorten(rows)
	s.main.resize(cols, rows)
}

// shorten takes rows away until the main screen has at most that many: blank
// ones below the cursor, then those at the top, which go to the log. Rows
// below the cursor that are not blank are lost only if the cursor itself
// would have to go.
func (s *Screen) shorten(rows int) {
	g := s.main
	last := max(g.cur.y, g.lastUsed())
	n := min(max(last+1-rows, 0), g.cur.y)
	for _, r := range g.rows[:n] {
		s.push(r)
	}
	g.rows = slices.Clone(g.rows[n:]) // the array would keep the pushed rows
	g.cur.y -= n
	g.saved.cur.y -= n
}

// reflow wraps the lines of the main screen at another width.
func (s *Screen) reflow(cols int) {
	g := s.main
	old := g.rows
	cur, saved := old[g.cur.y], min(g.saved.cur.y, len(old)-1)
	mark := old[saved]
	from, to := g.line(g.cur.y)
	g.rows = make([]*row, 0, len(old))
	for y := 0; y < len(old); {
		if y >= from && y < to {
			old[y].resize(cols)
			g.rows = append(g.rows, old[y])
			y++
			continue
		}
		if old[y] == mark {
			g.saved.cur.y = len(g.rows)
		}
		end := y + 1
		for old[end-1].wrap && !old[end-1].cut && end < len(old) {
			end++
		}
		s.rewrap(old[y:end], cols)
		y = end
	}
	for y, r := range g.rows {
		if r == cur {
			g.cur.y = y
		}
		if r == mark {
			g.saved.cur.y = y
		}
	}
	g.cols = cols
}

// line returns the rows from..to of the logical line that row y is part of.
func (g *grid) line(y int) (from, to int) {
	from, to = y, y+1
	for g.join(from) {
		from--
	}
	for to < len(g.rows) && g.join(to) {
		to++
	}
	return from, to
}

// rewrap appends one line (piece) to the main screen, wrapped at cols.
func (s *Screen) rewrap(line []*row, cols int) {
	g := s.main
	last := line[len(line)-1]
	next := newRow(cols)
	next.base = line[0].base
	add := func() {
		next.wrap = true
		next.end = next.used
		g.rows = append(g.rows, next)
		base := next.base + s.rowBytes(next, next.end)
		next = newRow(cols)
		next.base = base
	}
	for _, r := range line {
		next.prompt = next.prompt || r.prompt
		next.rich = next.rich || r.rich
		width := r.width()
		if r == last && !r.wrap {
			width = r.visible() // blanks at the end must not become rows
		}
		for x := 0; x < width; x++ {
			c := r.cells[x]
			if c.st&stPad != 0 {
				continue
			}
			w := 1
			if c.st&stWide != 0 {
				w = 2
			}
			if w > cols {
				x++
				continue
			}
			if next.used+w > cols {
				add()
				next.rich = r.rich
			}
			copy(next.cells[next.used:], r.cells[x:x+w])
			next.used += w
			x += w - 1
		}
	}
	next.stale = staleAll
	if last.wrap { // a piece: the next row continues it
		next.wrap, next.cut, next.end = true, last.cut, next.used
	}
	g.rows = append(g.rows, next)
}
