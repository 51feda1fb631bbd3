package ptyservice

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/ptykeep/ptykeep/ptyservice/screen"
)

// Excerpt is text of which the middle may be missing.
type Excerpt struct {
	Head, Tail string // Tail is empty when nothing is missing
	Omitted    int64  // bytes between them
	GapLine    int64  // number of the first line of the gap that can still be read, 0 without a gap
	Lost       bool   // lines of the gap before that are not kept any more
	FirstLine  int64  // numbers of the lines it comes from, 0 when it is empty
	LastLine   int64
}

// Len is the length of what is there, in bytes.
func (e Excerpt) Len() int { return len(e.Head) + len(e.Tail) }

// text is both ends with a mark between them where something is missing.
func (e Excerpt) text() string {
	if e.Omitted == 0 {
		return e.Head
	}
	return e.Head + "\n[...]\n" + e.Tail
}

// Fit cuts more out of the middle, until at most limit bytes are left. Cuts
// are on character borders.
func (e Excerpt) Fit(limit int) Excerpt {
	if e.Len() <= limit {
		return e
	}
	limit = max(limit, 0)
	text, gap := e.Head+e.Tail, len(e.Head)
	head, tail := limit/2, limit-limit/2
	if e.Omitted > 0 { // keep the gap where it is: widen it to both sides
		head = min(head, gap)
		tail = min(limit-head, len(text)-gap)
		head = min(limit-tail, gap)
	}
	h := trimPartial(text[:head])
	t := trimBroken(text[len(text)-tail:])
	if e.Omitted == 0 || len(h) < len(e.Head) {
		e.GapLine = e.FirstLine + int64(strings.Count(h, "\n"))
	}
	e.Omitted += int64(len(text) - len(h) - len(t))
	e.Head, e.Tail = h, t
	return e
}

// trimPartial drops an incomplete character at the end of s.
func trimPartial(s string) string {
	for i := 1; i <= utf8.UTFMax && i <= len(s); i++ {
		if utf8.RuneStart(s[len(s)-i]) {
			if !utf8.FullRuneInString(s[len(s)-i:]) {
				return s[:len(s)-i]
			}
			break
		}
	}
	return s
}

// trimBroken drops the rest of a cut character at the start of s.
func trimBroken(s string) string {
	i := 0
	for i < len(s) && i < utf8.UTFMax-1 && !utf8.RuneStart(s[i]) {
		i++
	}
	return s[i:]
}

// collector gathers what a command wrote, line by line as the lines become
// final, and keeps its head and its tail: so a result is complete at both ends
// whatever the scrollback has dropped meanwhile. The zero collector is not
// ready; see newCollector.
type collector struct {
	from  screen.Pos
	past  string // what was left of from, if it may be written anew
	limit int
	echo  []string // typed lines whose echo has not been seen, in order

	head     []byte // the first limit/2 bytes
	tail     []byte // what came after, at least its last limit/2 bytes
	dropped  int64  // bytes that were between them
	gapLine  int64
	next     int64 // number of the next line to take
	first    int64
	last     int64
	any      bool // a line was taken
	joinNext bool // the last line is continued by the next
}

func newCollector(from screen.Pos, limit int, echo []string) *collector {
	return &collector{from: from, limit: limit, echo: echo, next: from.Line}
}

// clone returns a copy that can take the lines that are still live.
func (c *collector) clone() *collector {
	d := *c
	d.head = bytes.Clone(c.head)
	d.tail = bytes.Clone(c.tail)
	return &d
}

// add takes line, unless it was taken before or stands before the start.
func (c *collector) add(line screen.Line) {
	if line.Number < c.next {
		return
	}
	c.next = line.Number + 1
	off := 0
	if line.Number == c.from.Line {
		off = min(c.from.Off, len(line.Text))
		if c.past != "" && string(line.Text[:off]) != c.past {
			off = 0 // another state of a bar: whole
		}
	}
	text := visible(line, off)
	switch {
	case len(text) == 0 && (line.Prompt || len(line.Hidden) > 0):
		return // nothing but a prompt, or the echo at one
	case len(text) == 0 && line.Number == c.from.Line && c.from.Off > 0:
		return // the end of a line that was there before
	case len(c.echo) > 0:
		for i, typed := range c.echo[:min(len(c.echo), echoAhead)] {
			rest, echoed := withoutEcho(text, typed)
			if !echoed {
				continue
			}
			c.echo = c.echo[i+1:]
			if len(bytes.TrimSpace(rest)) == 0 {
				return
			}
			text = rest
			break
		}
	}
	if !c.any {
		c.first = line.Number
	} else if !c.joinNext {
		c.write([]byte{'\n'})
	}
	c.any, c.joinNext, c.last = true, line.Cont, line.Number
	c.write(text)
}

func (c *collector) write(p []byte) {
	if room := c.limit/2 - len(c.head); room > 0 && len(c.tail) == 0 {
		n := min(room, len(p))
		c.head = append(c.head, p[:n]...)
		p = p[n:]
	}
	if len(p) == 0 {
		return
	}
	if c.gapLine == 0 {
		c.gapLine = max(c.last, c.first)
	}
	c.tail = append(c.tail, p...)
	if keep := c.limit - c.limit/2; len(c.tail) > 2*keep+4096 { // 4096: small limits copy less often
		cut := len(c.tail) - keep
		c.dropped += int64(cut)
		c.tail = append(c.tail[:0], c.tail[cut:]...)
	}
}

// excerpt returns what has been gathered.
func (c *collector) excerpt() Excerpt {
	e := Excerpt{Head: string(c.head), FirstLine: c.first, LastLine: c.last}
	keep := c.limit - c.limit/2
	cut := max(len(c.tail)-keep, 0)
	e.Omitted = c.dropped + int64(cut)
	if e.Omitted == 0 {
		e.Head += string(c.tail)
		return e
	}
	e.GapLine = c.gapLine
	e.Tail = string(c.tail[cut:])
	h, t := trimPartial(e.Head), trimBroken(e.Tail)
	e.Omitted += int64(len(e.Head) - len(h) + len(e.Tail) - len(t))
	e.Head, e.Tail = h, t
	return e
}

// visible returns the text of line from off on without what the shell drew as
// prompt or echoed. The result may share line.Text.
func visible(line screen.Line, off int) []byte {
	if len(line.Hidden) == 0 {
		return line.Text[off:]
	}
	var out []byte
	at := off
	for _, h := range line.Hidden {
		if h.From > at {
			out = append(out, line.Text[at:h.From]...)
		}
		at = max(at, h.To)
	}
	if at < len(line.Text) {
		out = append(out, line.Text[at:]...)
	}
	return bytes.TrimRight(out, " ")
}

// echoAhead is how many typed lines an echo is looked for in: one that was not
// recognised must not hide the ones after it. A guess.
const echoAhead = 4

// promptWidth is the longest that stands before an echo and may be a prompt.
// A guess: longer ones only leave an echo in the output.
const promptWidth = 60

// withoutEcho cuts the echo of typed from the end of text, where nothing but
// a prompt stands before it.
func withoutEcho(text []byte, typed string) (rest []byte, echoed bool) {
	typed = strings.TrimRight(typed, " ")
	if strings.Contains(typed, "\t") && strings.Join(strings.Fields(typed), " ") == string(bytes.Join(bytes.Fields(text), []byte{' '})) {
		return nil, true // the terminal shows a tab as blanks
	}
	rest, ok := bytes.CutSuffix(text, []byte(typed))
	if !ok || len(rest) > promptWidth {
		return text, false
	}
	if len(rest) == 0 {
		return nil, true
	}
	if end := rest[len(rest)-1]; typed == "" || end != ' ' && end != '>' {
		return text, false
	}
	return bytes.TrimRight(rest, " "), true
}
