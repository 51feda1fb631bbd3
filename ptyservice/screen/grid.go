package screen

import "slices"

// cursor is a place on a grid. While pending, the cursor stands behind the
// last column x and the next character goes to the next row.
type cursor struct {
	x, y    int
	pending bool
}

// saved is what DECSC keeps.
type saved struct {
	cur      cursor
	pen      uint32
	charsets [4]byte
	shift    int
	origin   bool
}

// grid is the cells of one screen, main or alternate.
type grid struct {
	rows     []*row
	cols     int
	top, bot int // the scroll region: rows top <= y < bot
	cur      cursor
	saved    saved
}

func newGrid(cols, rows int) *grid {
	g := &grid{cols: cols, bot: rows, rows: make([]*row, rows)}
	for y := range g.rows {
		g.rows[y] = newRow(cols)
	}
	g.saved.charsets = defaultCharsets()
	return g
}

// row returns the cursor's row.
func (g *grid) row() *row { return g.rows[g.cur.y] }

// move puts the cursor at a cell, or as near as the screen allows.
func (g *grid) move(x, y int) {
	g.cur = cursor{x: min(max(x, 0), g.cols-1), y: min(max(y, 0), len(g.rows)-1)}
}

// up moves the rows top <= y < bot up by one; the first comes back blank as
// the last.
func (g *grid) up(top, bot int) {
	r := g.rows[top]
	copy(g.rows[top:bot], g.rows[top+1:bot])
	r.reset()
	g.rows[bot-1] = r
}

// down moves the rows top <= y < bot down by one; the last comes back blank
// as the first, and the row now last has lost what continued it.
func (g *grid) down(top, bot int) {
	r := g.rows[bot-1]
	copy(g.rows[top+1:bot], g.rows[top:bot-1])
	r.reset()
	g.rows[top] = r
	g.rows[bot-1].unwrap()
}

// join reports whether row y continues the row above it on the grid.
func (g *grid) join(y int) bool { return y > 0 && g.rows[y-1].wrap }

// lastUsed returns the index of the last row that shows something, or -1.
func (g *grid) lastUsed() int {
	for y := len(g.rows) - 1; y >= 0; y-- {
		if !g.rows[y].empty() {
			return y
		}
	}
	return -1
}

// resize crops or extends the rows without reflowing them.
func (g *grid) resize(cols, rows int) {
	for _, r := range g.rows {
		r.resize(cols)
	}
	for len(g.rows) < rows {
		g.rows = append(g.rows, newRow(cols))
	}
	g.rows = slices.Clone(g.rows[:rows])
	g.cols = cols
	g.top, g.bot = 0, rows
	g.fit()
}

// fit brings the cursors inside after a change of size.
func (g *grid) fit() {
	for _, c := range []*cursor{&g.cur, &g.saved.cur} {
		if c.pending && c.x < g.cols-1 {
			c.x, c.pending = c.x+1, false
		} else if c.x >= g.cols {
			c.x, c.pending = g.cols-1, false
		}
		c.y = min(max(c.y, 0), len(g.rows)-1)
	}
	g.rows[len(g.rows)-1].unwrap()
}
