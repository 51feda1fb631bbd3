package screen

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestNumbersDoNotShift(t *testing.T) {
	s := New(Config{Cols: 20, Rows: 3, Lines: 10, Bytes: 1 << 20})
	for i := 1; i <= 100; i++ {
		fmt.Fprintf(s, "line %d\r\n", i)
		for _, l := range lines(s) {
			if want := fmt.Sprintf("line %d", l.Number); string(l.Text) != want && l.Number <= int64(i) {
				t.Fatalf("after %d lines: line %d is %q, want %q", i, l.Number, l.Text, want)
			}
		}
	}
	expect(t, "first", s.First(), 89, "100 lines")
	expect(t, "last", s.Last(), 101, "100 lines")
}

func TestFreshScreen(t *testing.T) {
	s := small(20, 3)
	expect(t, "first", s.First(), 1, "")
	expect(t, "last", s.Last(), 1, "")
	expect(t, "pos", s.Pos(), Pos{1, 0}, "")
	expect(t, "text", text(s), "\n", "")
}

func TestLastIsTheLaterOfCursorAndText(t *testing.T) {
	expect(t, "last", feed(20, 9, "a\r\nb\r\nc\x1b[H").Last(), 3, "text below")
	expect(t, "last", feed(20, 9, "a\x1b[5H").Last(), 5, "cursor below")
	expect(t, "last", feed(4, 9, "aaaabbbb\r\nc").Last(), 2, "wrapped")
}

func TestHistoryIsBounded(t *testing.T) {
	tests := []struct {
		lines, bytes, width int
		wantLines           int64
		wantBytes           int
	}{
		{10, 1 << 20, 10, 10, 100},
		{1, 1 << 20, 10, 1, 10},
		{0, 0, 10, 1, 10},
		{1 << 20, 1024, 10, 102, 1020},
		{1 << 20, 4096, 100, 40, 4000},
	}
	for _, tt := range tests {
		s := New(Config{Cols: 200, Rows: 2, Lines: tt.lines, Bytes: tt.bytes})
		for range 5000 {
			s.Write([]byte(strings.Repeat("x", tt.width) + "\r\n"))
		}
		if n := s.log.next - s.First(); n != tt.wantLines || s.log.size != tt.wantBytes {
			t.Errorf("got %d lines, %d bytes, want %d, %d, input %+v", n, s.log.size, tt.wantLines, tt.wantBytes, tt)
		}
	}
}

func TestBlankLinesAreBounded(t *testing.T) {
	s := New(Config{Cols: 80, Rows: 2, Lines: 100, Bytes: 1024})
	s.Write([]byte(strings.Repeat("\n", 100000)))
	if n := len(s.log.blocks); n > 2 {
		t.Errorf("got %d blocks for 100 blank lines", n)
	}
}

func TestStartCountsTextAndLineEnds(t *testing.T) {
	s := small(10, 3)
	s.Write([]byte(strings.Repeat("abc  \r\n\r\n漢\r\n", 20) + strings.Repeat("x", 9000) + "\r\nend\r\nlive"))
	want := int64(0)
	for _, l := range lines(s) {
		if l.Start != want {
			t.Fatalf("line %d %.20q: got start %d, want %d", l.Number, l.Text, l.Start, want)
		}
		want += int64(len(l.Text))
		if !l.Cont {
			want++
		}
	}
}

func TestLongLineIsCutIntoPieces(t *testing.T) {
	for _, n := range []int{4096, 4097, 5000, 20000} {
		for _, rows := range []int{1, 3, 60, 500} {
			s := New(Config{Cols: 100, Rows: rows, Lines: 500, Bytes: 1 << 20})
			long := strings.Repeat("0123456789", n/10+1)[:n]
			s.Write([]byte("a\r\n" + long + "\r\nb"))
			if got, want := text(s), "a\n"+long+"\nb\n"; got != want {
				t.Errorf("%d bytes, %d rows: got %d bytes %.50q, want %d", n, rows, len(got), got, len(want))
			}
			for _, l := range lines(s) {
				if len(l.Text) > maxPiece+100 || l.Cont && len(l.Text) < maxPiece {
					t.Errorf("%d bytes, %d rows: got a piece of %d bytes", n, rows, len(l.Text))
				}
			}
		}
	}
}

func TestPiecesHaveTheSameNumbersLiveAndFinal(t *testing.T) {
	in := "a\r\n" + strings.Repeat("0123456789", 1500) + "\r\nb\r\n"
	tall, short := feed(100, 500, in), feed(100, 3, in)
	for i, l := range lines(short) {
		w := lines(tall)[i]
		if l.Number != w.Number || string(l.Text) != string(w.Text) || l.Cont != w.Cont || l.Start != w.Start {
			t.Errorf("got line %d of %d bytes at %d, want %d of %d at %d", l.Number, len(l.Text), l.Start, w.Number, len(w.Text), w.Start)
		}
	}
}

func TestFinalSeesEveryLineOnce(t *testing.T) {
	var got []string
	next, start := int64(1), int64(0)
	s := New(Config{Cols: 10, Rows: 3, Lines: 2, Bytes: 1024, Final: func(l Line) {
		if l.Number != next || l.Start != start || l.Live {
			t.Errorf("got line %d at %d live %v, want %d at %d", l.Number, l.Start, l.Live, next, start)
		}
		next++
		start += int64(len(l.Text)) + 1
		got = append(got, string(l.Text))
	}})
	s.Write([]byte("one\r\ntwo\r\n" + strings.Repeat("w", 25) + "\r\nfour\r\nfive\r\nsix"))
	s.Resize(10, 1)
	want := []string{"one", "two", strings.Repeat("w", 25), "four", "five"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLinesYieldsTheRangeAskedFor(t *testing.T) {
	s := New(Config{Cols: 20, Rows: 4, Lines: 2000, Bytes: 1 << 20})
	for i := 1; i <= 1500; i++ {
		fmt.Fprintf(s, "%d\r\n", i)
	}
	for _, r := range [][2]int64{{1, 3}, {511, 515}, {1490, 1501}, {1498, 1500}, {-5, 2}, {1500, 9999}, {7, 6}} {
		n := max(r[0], 1)
		s.Lines(r[0], r[1], func(l Line) bool {
			if l.Number != n {
				t.Errorf("range %v: got line %d, want %d", r, l.Number, n)
			}
			n++
			return true
		})
		if want := max(min(r[1], s.Last())+1, r[0]); n != want {
			t.Errorf("range %v: ended before %d, want %d", r, n, want)
		}
	}
	calls := 0
	s.Lines(1, 100, func(Line) bool { calls++; return calls < 3 })
	expect(t, "calls until yield said no", calls, 3, "")
}

func TestYieldMayReadTheScreen(t *testing.T) {
	s := feed(20, 3, osc("n;P;1")+"a\r\nb\r\nc\r\nd\r\n")
	s.Lines(1, 9, func(l Line) bool {
		before := string(l.Text)
		s.Snapshot()
		text(s)
		expect(t, "text after reading", string(l.Text), before, "")
		return true
	})
}

func TestWrappedLineKeepsItsBlanks(t *testing.T) {
	in := "[53.1     kB]\r\n"
	for rows := 1; rows < 4; rows++ {
		expect(t, "text", text(feed(8, rows, in)), "[53.1     kB]\n\n", in)
	}
}

func TestEraseDisplayKeepsTheScreenInTheLog(t *testing.T) {
	clear := "\x1b[H\x1b[2J"
	tests := []struct{ name, in, want string }{
		{"the first", "a\r\nb" + clear + "c", "a\nb\nc\n"},
		{"a repaint", "a" + clear + "b" + clear + "c" + clear + "d", "a\nd\n"},
		{"after scrolling", "a" + clear + "1\r\n2\r\n3\r\n4\r\n5" + clear + "d", "a\n1\n2\n3\n4\n5\nd\n"},
		{"a blank screen does not count", clear + clear + "a" + clear + "b", "a\nb\n"},
		{"once a command", osc("n;C;1") + "a" + clear + "b" + clear + "c", "a\nc\n"},
		{"scrolling does not count where there are marks", osc("n;C;1") + "a" + clear + "1\r\n2\r\n3\r\n4\r\n5" + clear + "d", "a\n1\nd\n"},
		{"again for the next command", osc("n;C;1") + "a" + clear + "b" + osc("n;C;1") + clear + "c", "a\nb\nc\n"},
		{"the alternate screen", "a\x1b[?1049hx" + clear + "y\x1b[?1049l", "a\n"},
		{"ED 3", "a" + clear + "\x1b[3Jb", "a\nb\n"},
		{"ED 0 at home in a command", osc("n;C;1") + "a\x1b[H\x1b[Jb\x1b[H\x1b[Jc", "a\nc\n"},
		{"ED 0 at home at a prompt", osc("n;D;0;1;/") + "$ a\x1b[H\x1b[J$ b", "$ b\n"},
		{"ED 0 at home without marks", "a\x1b[H\x1b[Jb", "b\n"},
		{"blank rows before a command", "a\r\n\n\n" + osc("n;C;1") + clear + "b", "a\n\n\nb\n"},
		{"RIS in a command", osc("n;C;1") + "a\r\nb\x1bcc", "a\nb\nc\n"},
		{"blank rows above", "\x1b[3Ha" + clear + "b", "\n\na\nb\n"},
	}
	for _, tt := range tests {
		if got := text(feed(20, 4, tt.in)); got != tt.want {
			t.Errorf("%s: got %q, want %q, input %q", tt.name, got, tt.want, tt.in)
		}
	}
}

func TestHideArmsEraseDisplay(t *testing.T) {
	s := feed(20, 4, "a\x1b[H\x1b[2Jb")
	s.Hide(true)
	s.Write([]byte("\x1b[H\x1b[2Jc"))
	expect(t, "text", text(s), "a\nb\nc\n", "")
}

func TestRepaintingDoesNotFloodTheLog(t *testing.T) {
	frame := "\x1b[H\x1b[2Jtop\r\nmiddle\r\nbottom"
	s := feed(20, 3, strings.Repeat(frame, 1000))
	if n := s.Last(); n > 6 {
		t.Errorf("got %d lines after 1000 frames of 3 rows, want at most 6", n)
	}
}

func TestResetKeepsTheLog(t *testing.T) {
	expect(t, "text", text(feed(20, 2, "a\r\nb\r\nc\x1bcd")), "a\nd\n", "RIS")
}

func TestScrollRegionWithHeaderStaysOutOfTheLog(t *testing.T) {
	in := "head\r\n\x1b[2;4r\x1b[2H" + strings.Repeat("log\r\n", 50)
	s := feed(20, 4, in)
	expect(t, "first live line", s.log.next, 1, in)
}

func TestAltScreenStaysOutOfTheLog(t *testing.T) {
	in := "a\r\nb\x1b[?1049h" + strings.Repeat("x\r\n", 50)
	s := feed(20, 4, in)
	expect(t, "text", text(s), "a\nb\n", in)
	expect(t, "pos", s.Pos(), Pos{2, 1}, in)
}
