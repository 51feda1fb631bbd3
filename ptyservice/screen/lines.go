package screen

import (
	"slices"
	"unicode/utf8"
)

// Pos returns where the cursor of the main screen is in the log, also while
// the alternate screen is shown.
func (s *Screen) Pos() Pos {
	g := s.main
	p := Pos{Line: s.log.next, Off: len(s.log.open.text)}
	for _, r := range g.rows[:g.cur.y] {
		p.Off += s.rowBytes(r, r.width())
		if !r.wrap || r.cut {
			p.Line++
			p.Off = 0
		}
	}
	n := g.cur.x
	if g.cur.pending {
		n++
	}
	p.Off += s.rowBytes(g.row(), n)
	return p
}

// First returns the number of the oldest line that is retained, 1 for a
// fresh screen.
func (s *Screen) First() int64 { return s.log.first }

// Last returns the number of the last line that exists: the cursor's, or the
// last one of the main screen that shows something if that is later.
func (s *Screen) Last() int64 {
	g := s.main
	return s.log.next + g.ends(max(g.cur.y, g.lastUsed()))
}

// ends counts the lines (pieces) that end above row y.
func (g *grid) ends(y int) int64 {
	n := int64(0)
	for _, r := range g.rows[:y] {
		if !r.wrap || r.cut {
			n++
		}
	}
	return n
}

// Lines yields the retained lines with numbers from..to, both included, in
// order, those still on the main screen too, until yield returns false. A
// Line and its slices are valid only until yield returns; yield may read the
// Screen, but must not write to it.
func (s *Screen) Lines(from, to int64, yield func(Line) bool) {
	if s.log.each(from, to, yield) && to >= s.log.next {
		s.eachLive(from, min(to, s.Last()), yield)
	}
}

// eachLive yields the lines of the main screen.
func (s *Screen) eachLive(from, to int64, yield func(Line) bool) {
	open := &s.log.open
	p := piece{
		text:   append(s.text[:0], open.text...),
		spans:  append(s.spans[:0], open.spans...),
		prompt: open.prompt,
	}
	s.text, s.spans = nil, nil // yield may call methods that use them
	number, start := s.log.next, s.log.start
	rows := s.main.rows
	for y, r := range rows {
		p.text, p.spans = s.joinRow(p.text, p.spans, r)
		p.prompt = p.prompt || r.prompt
		if r.wrap && !r.cut && y < len(rows)-1 {
			continue
		}
		l := p.line(r.wrap && r.cut)
		l.Number, l.Start, l.Live = number, start, true
		if number > to || number >= from && !yield(l) {
			break
		}
		number++
		start += int64(len(l.Text))
		if !l.Cont {
			start++
		}
		p.reset()
	}
	s.text, s.spans = p.text, p.spans
}

// joinRow appends the text of a row to that of its line.
func (s *Screen) joinRow(text []byte, spans []Span, r *row) ([]byte, []Span) {
	if !r.rich {
		return appendPlain(text, r.cells[:r.width()]), spans
	}
	text = s.appendRow(text, &spans, r, r.width())
	return text, spans
}

// appendRow appends the text of the first n columns of a row, and to spans,
// if not nil, the ranges of its cells that are in a hidden zone.
func (s *Screen) appendRow(text []byte, spans *[]Span, r *row, n int) []byte {
	if !r.rich {
		return appendPlain(text, r.cells[:n])
	}
	joinable := false // only blanks that nobody wrote since the last hidden cell
	for _, c := range r.cells[:n] {
		from := len(text)
		text = s.appendCell(text, c)
		switch {
		case spans == nil || len(text) == from:
		case c.st&stZone == 0:
			joinable = joinable && c.ch == 0
		case len(*spans) > 0 && (joinable || (*spans)[len(*spans)-1].To == from):
			(*spans)[len(*spans)-1].To = len(text)
			joinable = true
		default:
			*spans = append(*spans, Span{from, len(text)})
			joinable = true
		}
	}
	return text
}

// appendPlain appends cells of a row that is not rich.
func appendPlain(text []byte, cells []cell) []byte {
	n := len(text)
	text = slices.Grow(text, len(cells))[:n+len(cells)]
	dst := text[n:]
	for i := range dst {
		b := byte(cells[i].ch)
		if b == 0 {
			b = ' '
		}
		dst[i] = b
	}
	return text
}

// appendCell appends the text of one cell. Concealed cells are blanks.
func (s *Screen) appendCell(text []byte, c cell) []byte {
	switch {
	case c.st&stConceal != 0:
		return append(text, ' ')
	case c.st&(stTail|stPad) != 0:
		return text
	case c.ch == 0:
		return append(text, ' ')
	}
	return s.appendChar(text, c.ch)
}

// rowBytes returns how many bytes of text the first n columns of a row have.
func (s *Screen) rowBytes(r *row, n int) int {
	switch {
	case !r.rich:
		return n
	case r.sized == n && r.stale&staleSize == 0:
		return r.size
	}
	size := 0
	for _, c := range r.cells[:n] {
		switch {
		case c.st&stConceal != 0:
			size++
		case c.st&(stTail|stPad) != 0:
		case c.ch&chCluster != 0:
			size += len(s.clusters.texts[c.ch&^chCluster])
		case c.ch == 0:
			size++
		default:
			size += utf8.RuneLen(rune(c.ch))
		}
	}
	if n == r.width() {
		r.size, r.sized = size, n
		r.stale &^= staleSize
	}
	return size
}
