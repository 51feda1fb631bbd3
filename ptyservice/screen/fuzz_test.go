package screen

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

func seeds(f *testing.F) {
	for _, c := range corpus(f) {
		if len(c.raw) < 8<<10 {
			f.Add(c.raw, uint16(c.Cols), uint16(7))
		}
	}
	f.Add([]byte(osc("n;D;0;1;/")+"$ ls\r\n"+osc("n;C;1")+"out漢\x1b[H\x1b[2J"), uint16(9), uint16(3))
}

// FuzzWrite checks the invariants after every write, with resizes between.
func FuzzWrite(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, p []byte, cols, step uint16) {
		var final []string
		s := New(Config{Cols: int(cols%50) + 1, Rows: int(step%9) + 1, Lines: 20, Bytes: 2048, Nonce: "n",
			Final: func(l Line) {
				final = append(final, string(l.Text))
				if l.Number != int64(len(final)) {
					t.Errorf("final line %d, want %d", l.Number, len(final))
				}
				if !clear8(l.Text) || len(l.Text) > 1<<20 {
					t.Errorf("final line %d: %q", l.Number, l.Text)
				}
			}})
		n := int(step%97) + 1
		for i := 0; i < len(p); i += n {
			s.Write(p[i:min(i+n, len(p))])
			if k := i / n; k%8 == 7 {
				s.Resize((k*13+int(step))%60+1, (k*7+int(cols))%12+1)
				s.Hide(k%16 == 7)
			}
			if err := check(s); err != nil {
				t.Fatal(err)
			}
		}
		for _, l := range lines(s) {
			if !l.Live && string(l.Text) != final[l.Number-1] {
				t.Errorf("line %d: got %q, want %q as it became final", l.Number, l.Text, final[l.Number-1])
			}
		}
		for _, r := range s.Snapshot().Rows {
			if !clear8([]byte(r)) {
				t.Errorf("row %q", r)
			}
		}
		if n := len(s.clusters.texts); n > maxClusters {
			t.Errorf("%d clusters", n)
		}
	})
}

// clear8 reports whether text is UTF-8 without control characters.
func clear8(text []byte) bool { return utf8.Valid(text) && !bytes.ContainsFunc(text, control) }

func control(u rune) bool { return u < 0x20 || u >= 0x7f && u < 0xa0 }

// FuzzSplit checks that the result does not depend on the writes.
func FuzzSplit(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, p []byte, cols, step uint16) {
		c := Config{Cols: int(cols%50) + 1, Rows: int(step%9) + 1, Lines: 50, Bytes: 4096, Nonce: "n"}
		whole, split := New(c), New(c)
		whole.Write(p)
		for i := range p {
			split.Write(p[i : i+1])
		}
		if a, b := text(whole), text(split); a != b {
			t.Errorf("text: got %q, want %q", b, a)
		}
		if a, b := marked(whole), marked(split); a != b {
			t.Errorf("zones: got %q, want %q", b, a)
		}
		if a, b := shown(whole), shown(split); a != b {
			t.Errorf("rows: got %q, want %q", b, a)
		}
		if a, b := whole.Pos(), split.Pos(); a != b || whole.g.cur != split.g.cur {
			t.Errorf("cursor: got %v %v, want %v %v", b, split.g.cur, a, whole.g.cur)
		}
		if a, b := whole.Replies(), split.Replies(); !bytes.Equal(a, b) {
			t.Errorf("replies: got %q, want %q", b, a)
		}
		if whole.sum() != split.sum() || whole.modes != split.modes || len(whole.marks) != len(split.marks) {
			t.Error("sum, modes or marks differ")
		}
	})
}
