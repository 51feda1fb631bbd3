package screen

// cell is one column of one row. Its eight bytes hold a character and what a
// reader must know about it; the colours a picture would need have their
// place in the low bits of st.
type cell struct {
	ch uint32 // a rune, or chCluster + index of a cluster; 0 = nothing written
	st uint32
}

const (
	chCluster uint32 = 1 << 31

	stZone    uint32 = 1 << 31 // written in a hidden zone
	stConceal uint32 = 1 << 30 // SGR 8: a person does not see it
	stWide    uint32 = 1 << 29 // first half of a wide character
	stTail    uint32 = 1 << 28 // second half of a wide character
	stPad     uint32 = 1 << 27 // left free at the margin by a wide character
	// The low 24 bits are reserved for a style index.
)

// blank reports whether a person sees nothing in the cell.
func (c cell) blank() bool {
	return c.ch == 0 || c.ch == ' ' || c.st&stConceal != 0
}

// row is one row of a grid. Its zero cells are blank.
type row struct {
	cells []cell
	used  int    // cells from here on are zero
	end   int    // columns of a wrapped row that are text, 0 = all
	base  int    // bytes of the same line (piece) in the rows above
	known uint64 // hash of the text, unless staleHash
	size  int    // bytes of the text of the first sized columns, unless staleSize
	sized int

	wrap   bool // the next row continues this one
	cut    bool // with wrap: but as a new piece
	prompt bool // a line end was made here in a hidden zone
	rich   bool // may have cells that are not plain ASCII text
	stale  uint8
}

const (
	staleHash uint8 = 1 << iota
	staleSize
	staleAll = staleHash | staleSize
)

func newRow(cols int) *row { return &row{cells: make([]cell, cols)} }

// reset makes the row blank and forgets all about it.
func (r *row) reset() {
	clear(r.cells[:r.used])
	*r = row{cells: r.cells, stale: staleAll}
}

// unwrap ends the line with this row.
func (r *row) unwrap() { r.wrap, r.cut, r.end = false, false, 0 }

// width is the number of columns that are text: all of a wrapped row (its
// blanks were written or stepped over in the middle of a line), else those
// up to the last one used.
func (r *row) width() int {
	switch {
	case !r.wrap:
		return r.used
	case r.end > 0:
		return max(r.end, r.used)
	}
	return len(r.cells)
}

// put writes printable ASCII from column x on; it must fit.
func (r *row) put(x int, text []byte, st uint32) {
	n := x + len(text)
	if r.rich {
		r.split(x)
		r.split(n)
	}
	dst := r.cells[x:n]
	for i := range dst {
		dst[i] = cell{uint32(text[i]), st}
	}
	r.used = max(r.used, n)
	r.stale = staleAll
	if st != 0 {
		r.rich = true
	}
	if n == len(r.cells) {
		r.unwrap()
	}
}

// set writes one character of width w (1 or 2) at column x; it must fit.
func (r *row) set(x, w int, ch, st uint32) {
	r.split(x)
	r.split(x + w)
	if w == 2 {
		r.cells[x] = cell{ch, st | stWide}
		r.cells[x+1] = cell{0, st | stTail}
	} else {
		r.cells[x] = cell{ch, st}
	}
	r.used = max(r.used, x+w)
	r.rich, r.stale = true, staleAll
	if x+w == len(r.cells) {
		r.unwrap()
	}
}

// split blanks the wide character, if there is one, that a border at the left
// of column x would cut in two.
func (r *row) split(x int) {
	if 0 < x && x < len(r.cells) && r.cells[x].st&stTail != 0 {
		r.cells[x-1], r.cells[x] = cell{}, cell{}
		r.stale = staleAll
	}
}

// erase blanks the columns from x up to, not including, n.
func (r *row) erase(x, n int) {
	if r.rich {
		r.split(x)
		r.split(n)
	}
	if x < r.used {
		clear(r.cells[x:min(n, r.used)])
		if n >= r.used {
			r.used = x
		}
	}
	r.stale = staleAll
	if n == len(r.cells) {
		r.unwrap()
	}
}

// insert moves the cells from x on n columns to the right and blanks the gap.
func (r *row) insert(x, n int) {
	n = min(n, len(r.cells)-x)
	r.split(x)
	r.split(len(r.cells) - n)
	copy(r.cells[x+n:], r.cells[x:])
	clear(r.cells[x : x+n])
	if r.used > x {
		r.used = min(r.used+n, len(r.cells))
	}
	r.stale = staleAll
	r.unwrap()
}

// remove takes n cells out at x and moves the rest to the left.
func (r *row) remove(x, n int) {
	n = min(n, len(r.cells)-x)
	r.split(x)
	r.split(x + n)
	copy(r.cells[x:], r.cells[x+n:])
	clear(r.cells[len(r.cells)-n:])
	if r.used > x {
		r.used = max(r.used-n, x)
	}
	r.stale = staleAll
	r.unwrap()
}

// resize gives the row another number of columns; what no longer fits is cut.
func (r *row) resize(cols int) {
	if cols == len(r.cells) {
		return
	}
	if cols < len(r.cells) {
		r.split(cols)
		r.used = min(r.used, cols)
		r.end = min(r.end, cols)
		r.cells = append(make([]cell, 0, cols), r.cells[:cols]...)
	} else {
		if r.wrap && r.end == 0 {
			r.end = len(r.cells)
		}
		r.cells = append(r.cells, make([]cell, cols-len(r.cells))...)
	}
	r.stale = staleAll
}

// empty reports whether a person sees nothing in the row.
func (r *row) empty() bool {
	return r.visible() == 0
}

// visible returns the number of columns up to the last one that shows
// something.
func (r *row) visible() int {
	for n := r.used; n > 0; n-- {
		if c := r.cells[n-1]; !c.blank() || c.st&(stTail|stConceal) == stTail {
			return n
		}
	}
	return 0
}

// hash returns a hash of the visible text.
func (r *row) hash() uint64 {
	if r.stale&staleHash != 0 {
		r.stale &^= staleHash
		r.known = 0
		for x, c := range r.cells[:r.used] {
			if !c.blank() {
				r.known += mix(uint64(c.ch)<<16 | uint64(x))
			}
		}
	}
	return r.known
}

// mix is the finalizer of splitmix64 (Steele, Lea, Flood 2014).
func mix(h uint64) uint64 {
	h += 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
