package screen

import (
	"fmt"
	"strings"
	"testing"
)

// small returns a screen with room for a few hundred lines and the nonce n.
func small(cols, rows int) *Screen {
	return New(Config{Cols: cols, Rows: rows, Lines: 500, Bytes: 1 << 20, Nonce: "n"})
}

// feed returns a small screen after the input.
func feed(cols, rows int, input string) *Screen {
	s := small(cols, rows)
	s.Write([]byte(input))
	return s
}

// lines returns copies of all retained lines.
func lines(s *Screen) []Line {
	var all []Line
	s.Lines(s.First(), s.Last(), func(l Line) bool {
		l.Text = append([]byte(nil), l.Text...)
		l.Hidden = append([]Span(nil), l.Hidden...)
		all = append(all, l)
		return true
	})
	return all
}

// text returns the retained lines, each with a line end if it is complete.
func text(s *Screen) string {
	var b strings.Builder
	for _, l := range lines(s) {
		b.Write(l.Text)
		if !l.Cont {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// shown returns the rows of the snapshot without the blank ones at the end.
func shown(s *Screen) string {
	return strings.TrimRight(strings.Join(s.Snapshot().Rows, "\n"), "\n ")
}

// marked renders the lines with hidden text in brackets and P where the line
// end belongs to the prompt.
func marked(s *Screen) string {
	var b strings.Builder
	for _, l := range lines(s) {
		at := 0
		for _, h := range l.Hidden {
			fmt.Fprintf(&b, "%s[%s]", l.Text[at:h.From], l.Text[h.From:h.To])
			at = h.To
		}
		b.Write(l.Text[at:])
		if l.Prompt {
			b.WriteByte('P')
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func osc(payload string) string { return "\x1b]6973;" + payload + "\a" }

func expect[T comparable](t *testing.T, what string, got, want T, input string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %#v, want %#v, input %.200q", what, got, want, input)
	}
}
