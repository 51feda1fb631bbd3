package screen

import (
	"fmt"
	"strings"
	"testing"
)

func TestResizeKeepsTheText(t *testing.T) {
	in := strings.Repeat("0123456789", 7) + "\r\nshort\r\n漢字漢字漢字漢字漢字\r\n" + strings.Repeat("x", 20) + "\r\n$ "
	want := text(feed(20, 10, in))
	for _, size := range [][2]int{{20, 3}, {7, 10}, {80, 24}, {33, 2}, {2, 2}, {3, 40}} {
		s := feed(20, 10, in)
		before := s.Pos().Line
		s.Resize(size[0], size[1])
		expect(t, fmt.Sprint("text at ", size), text(s), want, in)
		expect(t, fmt.Sprint("line at ", size), s.Pos().Line, before, in)
		s.Resize(20, 10)
		expect(t, fmt.Sprint("text back from ", size), text(s), want, in)
	}
}

func TestResizeLeavesTheCursorsLineAlone(t *testing.T) {
	s := feed(20, 5, "a\r\n"+strings.Repeat("x", 30))
	s.Resize(40, 5)
	expect(t, "rows", shown(s), "a\n"+strings.Repeat("x", 20)+"\n"+strings.Repeat("x", 10), "")
	expect(t, "text", text(s), "a\n"+strings.Repeat("x", 30)+"\n", "")
}

func TestTextBehindTheOldMarginIsKept(t *testing.T) {
	s := feed(10, 5, strings.Repeat("x", 15))
	s.Resize(20, 5)
	s.Write([]byte("\x1b[H\x1b[12Gyz"))
	expect(t, "text", text(s), "xxxxxxxxxx yzxxxxx\n", "")
}

func TestResizeDoesNotMoveAPendingCursorBack(t *testing.T) {
	s := feed(10, 5, strings.Repeat("x", 10))
	s.Resize(20, 5)
	s.Write([]byte("y"))
	expect(t, "rows", shown(s), "xxxxxxxxxxy", "")
}

func TestTallerScreenPullsNothingBack(t *testing.T) {
	s := feed(10, 2, "a\r\nb\r\nc\r\nd")
	s.Resize(10, 10)
	expect(t, "rows", shown(s), "c\nd", "")
	expect(t, "text", text(s), "a\nb\nc\nd\n", "")
}

func TestShorterScreenDropsBlankRowsFirst(t *testing.T) {
	s := feed(10, 10, "a\r\nb")
	s.Resize(10, 2)
	expect(t, "rows", shown(s), "a\nb", "")
	expect(t, "first live line", s.log.next, 1, "")
}

func TestPiecesSurviveAResize(t *testing.T) {
	in := strings.Repeat("0123456789", 1000) + "\r\nend\r\n"
	s := feed(100, 200, in)
	want := lines(s)
	s.Resize(77, 200)
	for i, l := range lines(s) {
		if w := want[i]; l.Number != w.Number || string(l.Text) != string(w.Text) || l.Cont != w.Cont {
			t.Errorf("got line %d of %d bytes, cont %v, want %d of %d, %v", l.Number, len(l.Text), l.Cont, w.Number, len(w.Text), w.Cont)
		}
	}
}

func TestSizeIsMovedIntoRange(t *testing.T) {
	s := New(Config{Cols: -1, Rows: 0})
	s.Write([]byte("ab\r\nc漢"))
	s.Resize(1<<30, 1<<30)
	v := s.Snapshot()
	expect(t, "rows", len(v.Rows), MaxRows, "")
	s.Resize(-5, 0)
	expect(t, "rows", len(s.Snapshot().Rows), 1, "")
}

func TestAltScreenIsCroppedNotReflowed(t *testing.T) {
	s := feed(20, 5, "main\x1b[?1049h\x1b[H"+strings.Repeat("x", 20)+"\x1b[2Hy")
	s.Resize(10, 4)
	expect(t, "rows", shown(s), "xxxxxxxxxx\ny", "")
	s.Write([]byte("\x1b[?1049l"))
	expect(t, "rows", shown(s), "main", "")
}
