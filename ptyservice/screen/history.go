package screen

import (
	"slices"
	"sort"
)

const (
	blockLines = 512
	blockBytes = 64 << 10
)

// history is the final lines of the log, oldest first, in blocks. Lines are
// dropped one by one, their memory block by block: nothing is ever moved.
type history struct {
	maxLines, maxBytes int

	blocks []*block
	spare  *block // a dropped block, to be filled again
	first  int64  // number of the oldest line kept, next if there is none
	next   int64  // number of the next line
	size   int    // bytes of text kept
	start  int64  // Line.Start of the next line

	open piece // what has left the screen of the line that is not complete
	has  bool  // there is such a line, though it may have no text yet
}

// piece is a line under construction.
type piece struct {
	text   []byte
	spans  []Span
	prompt bool
}

// block is some consecutive lines.
type block struct {
	first int64 // number of the first line
	start int64 // Line.Start of the first line
	text  []byte
	lines []entry
	spans []span
}

// entry is one line of a block. Ends count from the beginning of the block.
type entry struct {
	end    uint32 // of its text
	breaks uint32 // line ends in the lines before it
	spans  uint32 // end of its spans
	prompt bool
	cont   bool
}

type span struct{ from, to uint32 }

func newHistory(lines, bytes int) history {
	return history{maxLines: lines, maxBytes: bytes, first: 1, next: 1}
}

// add appends a line and drops the oldest ones beyond the bounds.
func (h *history) add(l Line) {
	b := h.room(len(l.Text))
	e := entry{prompt: l.Prompt, cont: l.Cont}
	if n := len(b.lines); n > 0 {
		e.breaks = b.lines[n-1].breaks
		if !b.lines[n-1].cont {
			e.breaks++
		}
	}
	b.text = append(b.text, l.Text...)
	for _, p := range l.Hidden {
		b.spans = append(b.spans, span{uint32(p.From), uint32(p.To)})
	}
	e.end, e.spans = uint32(len(b.text)), uint32(len(b.spans))
	b.lines = append(b.lines, e)
	h.size += len(l.Text)
	h.start += int64(len(l.Text))
	if !l.Cont {
		h.start++
	}
	h.next++
	for h.next-h.first > int64(h.maxLines) || h.size > h.maxBytes && h.next-h.first > 1 {
		h.drop()
	}
}

// room returns the block for a line of n bytes.
func (h *history) room(n int) *block {
	if k := len(h.blocks); k > 0 {
		b := h.blocks[k-1]
		if len(b.lines) < blockLines && (len(b.text)+n <= blockBytes || len(b.lines) == 0) {
			return b
		}
	}
	b := h.spare
	h.spare = nil
	if b == nil {
		b = new(block)
	}
	*b = block{first: h.next, start: h.start, text: b.text[:0], lines: b.lines[:0], spans: b.spans[:0]}
	h.blocks = append(h.blocks, b)
	return b
}

// drop forgets the oldest line.
func (h *history) drop() {
	b := h.blocks[0]
	i := int(h.first - b.first)
	h.size -= len(b.textOf(i))
	h.first++
	if i+1 == len(b.lines) {
		h.blocks = slices.Delete(h.blocks, 0, 1) // one pointer for 512 lines
		if cap(b.text) <= 2*blockBytes && cap(b.spans) <= 2*blockLines {
			h.spare = b
		}
	}
}

func (b *block) textOf(i int) []byte {
	from := uint32(0)
	if i > 0 {
		from = b.lines[i-1].end
	}
	return b.text[from:b.lines[i].end:b.lines[i].end]
}

// line returns line i of the block; spans is scratch.
func (b *block) line(i int, spans []Span) Line {
	e := b.lines[i]
	from, at := uint32(0), uint32(0)
	if i > 0 {
		from, at = b.lines[i-1].end, b.lines[i-1].spans
	}
	for _, p := range b.spans[at:e.spans] {
		spans = append(spans, Span{int(p.from), int(p.to)})
	}
	return Line{
		Number: b.first + int64(i), Text: b.textOf(i), Start: b.start + int64(from) + int64(e.breaks),
		Hidden: spans, Prompt: e.prompt, Cont: e.cont,
	}
}

// each yields the lines from..to that are kept; false if yield stopped it.
func (h *history) each(from, to int64, yield func(Line) bool) bool {
	var spans []Span
	from, to = max(from, h.first), min(to, h.next-1)
	if from > to {
		return true
	}
	k := sort.Search(len(h.blocks), func(k int) bool { return h.blocks[k].first > from }) - 1
	for n := from; n <= to; k++ {
		b := h.blocks[k]
		for ; n <= to && int(n-b.first) < len(b.lines); n++ {
			l := b.line(int(n-b.first), spans[:0])
			spans = l.Hidden
			if !yield(l) {
				return false
			}
		}
	}
	return true
}

// push takes a row that leaves the main screen at its top.
func (s *Screen) push(r *row) {
	h := &s.log
	h.has = true
	h.open.text, h.open.spans = s.joinRow(h.open.text, h.open.spans, r)
	h.open.prompt = h.open.prompt || r.prompt
	if !s.marked {
		s.armed = true
	}
	// The second bound holds where rows were written over after they wrapped.
	if !r.wrap || r.cut || len(h.open.text) >= 2*maxPiece {
		s.complete(r.wrap)
	}
}

// closeLine ends the line that is partly in the log: what would continue it
// is gone.
func (s *Screen) closeLine() {
	if s.log.has {
		s.complete(false)
	}
}

// complete moves the open line to the final ones.
func (s *Screen) complete(cont bool) {
	h := &s.log
	l := h.open.line(cont)
	l.Number, l.Start = h.next, h.start
	if s.final != nil {
		s.final(l)
	}
	h.add(l)
	h.open.reset()
	h.has = false
}

// line returns what the piece holds, trimmed unless the line goes on.
func (p *piece) line(cont bool) Line {
	text := p.text
	if !cont {
		text = trimBlanks(text)
	}
	hidden := p.spans
	for n := len(hidden); n > 0; n-- {
		last := &hidden[n-1]
		last.To = min(last.To, len(text))
		if last.From < last.To {
			break
		}
		hidden = hidden[:n-1]
	}
	return Line{Text: text, Hidden: hidden, Prompt: p.prompt, Cont: cont}
}

func (p *piece) reset() {
	*p = piece{text: p.text[:0], spans: p.spans[:0]}
	if cap(p.text) > 4*maxPiece {
		p.text = nil
	}
}

// trimBlanks cuts the blanks at the end of text.
func trimBlanks(text []byte) []byte {
	n := len(text)
	for n > 0 && text[n-1] == ' ' {
		n--
	}
	return text[:n]
}
