package screen

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestHostileInputs(t *testing.T) {
	inputs := map[string]string{
		"REP":                   "a\x1b[99999999b",
		"REP of a wide one":     "漢\x1b[2147483647b",
		"many REP":              strings.Repeat("a\x1b[9999b", 2000),
		"CHT":                   "\x1b[2147483647I",
		"CBT":                   "\x1b[2147483647Z",
		"SU, SD":                "\x1b[2147483647S\x1b[2147483647T",
		"IL, DL":                "\x1b[2147483647L\x1b[2147483647M",
		"ICH, DCH, ECH":         "a\x1b[2147483647@\x1b[2147483647P\x1b[2147483647X",
		"cursor":                "\x1b[2147483647A\x1b[2147483647B\x1b[2147483647C\x1b[2147483647D\x1b[2147483647;2147483647Hx",
		"region":                "\x1b[0;2147483647r\x1b[2147483647;1r\x1b[5;5r",
		"RIS in the region":     "\x1b[2;3r\x1b[?1049h\x1bc\x1b8\x1b[2J",
		"restore without save":  "\x1b8\x1b[2J\x1b[u\x1b[?1048l\x1b[?1049l",
		"10 MB OSC":             "\x1b]0;" + strings.Repeat("x", 10<<20) + "\a",
		"10 MB DCS":             "\x1bP$q" + strings.Repeat("x", 10<<20) + "\x1b\\",
		"10 MB APC":             "\x1b_" + strings.Repeat("x", 10<<20),
		"10 MB of parameters":   "\x1b[" + strings.Repeat("1;", 5<<20) + "m",
		"10 MB of digits":       "\x1b[" + strings.Repeat("9", 10<<20) + "C",
		"1M combining marks":    "e" + strings.Repeat("\u0301", 1<<20),
		"marks everywhere":      strings.Repeat("e\u0301\u0302\u0303", 1<<18),
		"many clusters":         manyClusters(),
		"kitty pushes":          strings.Repeat("\x1b[>31u", 100000),
		"kitty pops":            strings.Repeat("\x1b[<9999u", 1000),
		"resize request":        "\x1b[8;9999;9999t",
		"many alternations":     strings.Repeat("\x1b[?1049h\x1b[?1049l", 10000),
		"many alignments":       strings.Repeat("\x1b#8", 10000),
		"1 MB of line ends":     strings.Repeat("\n", 1<<20),
		"1 MB line":             strings.Repeat("x", 1<<20),
		"1 MB wide line":        strings.Repeat("漢", 1<<18),
		"queries":               strings.Repeat("\x1b[c\x1b[6n", 100000),
		"marks":                 strings.Repeat(osc("n;D;0;1;/"+strings.Repeat("x", 3000)), 3000),
		"hidden and shown":      strings.Repeat(osc("n;P;1")+"x"+osc("n;C;1")+"y", 50000),
		"a wrapped row rewound": strings.Repeat(strings.Repeat("x", 161)+"\x1b[A", 1000),
	}
	for name, in := range inputs {
		t.Run(name, func(t *testing.T) {
			s := New(Config{Cols: 160, Rows: 40, Lines: 100, Bytes: 1 << 16, Nonce: "n"})
			start := time.Now()
			s.Write([]byte(in))
			if d := time.Since(start); d > 30*time.Second {
				t.Errorf("took %v for %d bytes", d, len(in))
			}
			if err := check(s); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestHostileResize(t *testing.T) {
	s := New(Config{Cols: MaxCols, Rows: MaxRows, Lines: 100, Bytes: 1 << 16})
	for _, fill := range []string{"x", "漢", "e\u0301"} {
		s.Write([]byte("\x1b[H" + strings.Repeat(fill, MaxCols*MaxRows-MaxCols) + "\r\nend\r\n"))
		for _, size := range [][2]int{{1, 1}, {MaxCols, 1}, {1, MaxRows}, {2, 3}, {MaxCols, MaxRows}} {
			s.Resize(size[0], size[1])
			if err := check(s); err != nil {
				t.Fatalf("%v: %v", size, err)
			}
		}
	}
}

// manyClusters is more distinct clusters than the table or a screen holds.
func manyClusters() string {
	var b strings.Builder
	for i := range 40000 {
		fmt.Fprintf(&b, "%c%c", 'a'+i%26, 0x300+i/26%0x6f)
		fmt.Fprintf(&b, "%c%c", 0x400+i%200, 0x300+i/200%0x6f)
	}
	return b.String()
}

func TestFullClusterTableIsSwept(t *testing.T) {
	s := feed(80, 24, manyClusters())
	s.Write([]byte("\x1b[2J\x1b[H" + strings.Repeat("\n", 30)))
	for range 2 * maxClusters {
		s.Write([]byte("\re\u0301\u0302\u0303\u0304"))
	}
	expect(t, "left", s.Left(), "e\u0301\u0302\u0303\u0304", "")
}

func TestMemoryIsBounded(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := New(Config{Cols: 160, Rows: 40, Lines: 10000, Bytes: 1 << 20, Nonce: "n"})
	s.Write([]byte(manyClusters()))
	for range 4 {
		s.Write([]byte(strings.Repeat("e\u0301\u0302\u0303\u0304\u0305", 1<<16)))
		s.Write([]byte("\x1b]0;" + strings.Repeat("x", 1<<20) + "\a"))
		s.Write([]byte(strings.Repeat("\r\n", 20000)))
		s.Write([]byte(strings.Repeat(osc("n;P;1")+"x"+osc("n;C;1")+"y", 10000)))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n := int64(after.HeapAlloc) - int64(before.HeapAlloc); n > 8<<20 {
		t.Errorf("got %d bytes of heap, want at most 8 MiB", n)
	}
	runtime.KeepAlive(s)
}

// check returns the first broken invariant of the screen.
func check(s *Screen) error {
	for _, g := range []*grid{s.main, s.alt} {
		if g == nil {
			continue
		}
		if err := g.check(); err != nil {
			return err
		}
	}
	if p := s.Pos(); p.Line < s.First() || p.Line > s.Last() {
		return fmt.Errorf("cursor in line %d, not in %d..%d", p.Line, s.First(), s.Last())
	}
	if n := s.log.next - s.log.first; n > int64(s.log.maxLines) {
		return fmt.Errorf("%d lines kept, want %d", n, s.log.maxLines)
	}
	return checkLines(s)
}

func checkLines(s *Screen) error {
	number, size := s.First(), 0
	start := int64(-1)
	var err error
	s.Lines(0, s.Last(), func(l Line) bool {
		if l.Number != number || start >= 0 && l.Start != start {
			err = fmt.Errorf("line %d at %d, want %d at %d", l.Number, l.Start, number, start)
		}
		if l.Live != (l.Number >= s.log.next) {
			err = fmt.Errorf("line %d: live %v", l.Number, l.Live)
		}
		if !l.Live {
			size += len(l.Text)
		}
		at := 0
		for _, h := range l.Hidden {
			if h.From < at || h.To <= h.From || h.To > len(l.Text) {
				err = fmt.Errorf("line %d of %d bytes: hidden %v", l.Number, len(l.Text), l.Hidden)
			}
			at = h.To + 1
		}
		number++
		start = l.Start + int64(len(l.Text))
		if !l.Cont {
			start++
		}
		return err == nil
	})
	if err == nil && (number != s.Last()+1 || size != s.log.size) {
		err = fmt.Errorf("lines end before %d with %d bytes, want %d, %d", number, size, s.Last()+1, s.log.size)
	}
	return err
}

func (g *grid) check() error {
	if c := g.cur; c.x < 0 || c.x >= g.cols || c.y < 0 || c.y >= len(g.rows) || c.pending && c.x != g.cols-1 {
		return fmt.Errorf("cursor %+v outside %dx%d", c, g.cols, len(g.rows))
	}
	if g.top < 0 || g.top >= g.bot || g.bot > len(g.rows) {
		return fmt.Errorf("region %d..%d of %d rows", g.top, g.bot, len(g.rows))
	}
	seen := map[*row]bool{}
	for y, r := range g.rows {
		if seen[r] || len(r.cells) != g.cols || r.end < 0 || r.end > g.cols {
			return fmt.Errorf("row %d is aliased or has %d cells", y, len(r.cells))
		}
		seen[r] = true
		for x, c := range r.cells {
			switch {
			case x >= r.used && c != cell{}:
				return fmt.Errorf("cell %d,%d lies behind the %d used ones", x, y, r.used)
			case !r.rich && (c.ch >= 0x7f || c.st != 0):
				return fmt.Errorf("cell %d,%d is not plain", x, y)
			case c.st&stWide != 0 && (x+1 == g.cols || r.cells[x+1].st&stTail == 0),
				c.st&stTail != 0 && (x == 0 || r.cells[x-1].st&stWide == 0):
				return fmt.Errorf("cell %d,%d is half a wide character", x, y)
			}
		}
	}
	return nil
}
