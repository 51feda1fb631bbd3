package screen

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestMarksAreParsed(t *testing.T) {
	tests := []struct {
		payload string
		want    []Mark
	}{
		{"n;D;0;42;/tmp", []Mark{{Kind: PromptStart, PID: 42, Dir: "/tmp"}}},
		{"n;D;130;42;/a;b c", []Mark{{Kind: PromptStart, Status: 130, PID: 42, Dir: "/a;b c"}}},
		{"n;D;1;42;", []Mark{{Kind: PromptStart, Status: 1, PID: 42}}},
		{"n;D;;42;/", []Mark{{Kind: PromptStart, Status: -1, PID: 42, Dir: "/"}}},
		{"n;B;7", []Mark{{Kind: PromptEnd, PID: 7}}},
		{"n;C;7", []Mark{{Kind: CommandStart, PID: 7}}},
		{"n;P;7", []Mark{{Kind: Continuation, PID: 7}}},
		{"x;C;7", nil},
		{";C;7", nil},
		{"n", nil},
		{"n;", nil},
		{"n;C", nil},
		{"n;C;", nil},
		{"n;C;-7", nil},
		{"n;C;7;8", nil},
		{"n;C;7x", nil},
		{"n;C;99999999999999999999", nil},
		{"n;D;0;42", nil},
		{"n;D;x;42;/", nil},
		{"n;E;7", nil},
		{"n;CC;7", nil},
	}
	for _, tt := range tests {
		got := feed(80, 5, osc(tt.payload)).Marks()
		for i := range tt.want {
			tt.want[i].At = Pos{Line: 1}
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("got %+v, want %+v, input %q", got, tt.want, tt.payload)
		}
	}
}

func TestMarksNeedANonce(t *testing.T) {
	s := New(Config{Cols: 80, Rows: 5})
	s.Write([]byte(osc(";C;7")))
	if got := s.Marks(); got != nil {
		t.Errorf("got %v, want none without a nonce", got)
	}
}

func TestForgedMarkDoesNotChangeTheZone(t *testing.T) {
	expect(t, "lines", marked(feed(80, 5, "a"+osc("x;P;1")+"b")), "ab\n", "")
}

func TestForeignMarksAreIgnored(t *testing.T) {
	in := "\x1b]133;A\a$ \x1b]133;B\als\r\n\x1b]133;C\aout\r\n\x1b]633;D;0\a"
	s := feed(80, 5, in)
	expect(t, "lines", marked(s), "$ ls\nout\n\n", in)
	if m := s.Marks(); m != nil {
		t.Errorf("got marks %v, want none", m)
	}
}

func TestMarkIsExactToTheByte(t *testing.T) {
	in := "x\r\nab漢" + osc("n;C;1") + "cd"
	for _, st := range []string{"\a", "\x1b\\", "\u009c"} {
		in := strings.Replace(in, "\a", st, 1)
		s := small(80, 5)
		for i := range len(in) {
			s.Write([]byte{in[i]})
		}
		m := s.Marks()
		if len(m) != 1 || m[0].At != (Pos{2, 5}) {
			t.Errorf("got %+v, want one mark at {2 5}, input %q", m, in)
		}
	}
}

// The text between marks must be what was written there, whatever the width,
// also across wraps, pieces and the border between log and screen.
func TestTextBetweenMarks(t *testing.T) {
	chunks := []string{
		"one\r\n", strings.Repeat("0123456789", 23), "\r\ntwo\r\nthree\r\n", "", "漢字かな混じり\r\n",
		strings.Repeat("wide 漢-", 30) + "\r\n", "cafe\u0301 🚀\r\n", strings.Repeat("long", 3000), "end\r\n\r\n\r\n", "last",
	}
	for cols := 2; cols < 130; cols += 7 {
		s := New(Config{Cols: cols, Rows: 6, Lines: 5000, Bytes: 1 << 20, Nonce: "n"})
		var marks []Mark
		for _, c := range chunks {
			s.Write([]byte(c + osc("n;C;1")))
			marks = append(marks, s.Marks()...)
		}
		for i := 1; i < len(chunks); i++ {
			got := between(s, marks[i-1].At, marks[i].At)
			if want := strings.ReplaceAll(chunks[i], "\r", ""); got != want {
				t.Errorf("%d columns, chunk %d: got %.300q, want %.300q", cols, i, got, want)
			}
		}
	}
}

// between returns the text from a to b.
func between(s *Screen, a, b Pos) string {
	var out strings.Builder
	s.Lines(a.Line, b.Line, func(l Line) bool {
		from, to := 0, len(l.Text)
		if l.Number == a.Line {
			from = min(a.Off, to)
		}
		if l.Number == b.Line {
			to = min(b.Off, to)
		}
		out.Write(l.Text[from:to])
		if l.Number < b.Line && !l.Cont {
			out.WriteByte('\n')
		}
		return true
	})
	return out.String()
}

func TestMarksAreBounded(t *testing.T) {
	s := small(80, 5)
	for i := range 1000 {
		s.Write([]byte(osc(fmt.Sprintf("n;C;%d", i))))
	}
	m := s.Marks()
	if len(m) != maxMarks || m[0].PID != 1000-maxMarks || m[maxMarks-1].PID != 999 {
		t.Errorf("got %d marks, first %+v, want the last %d", len(m), m[0], maxMarks)
	}
	if m := s.Marks(); m != nil {
		t.Errorf("got %v from the second call, want none", m)
	}
}

func TestZones(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"a command", osc("n;D;0;1;/") + "$ " + osc("n;B;1") + "ls\r\n" + osc("n;C;1") + "out\r\n", "[$ ls]P\nout\n\n"},
		{"an empty prompt line", osc("n;D;0;1;/") + "\r\n$ " + osc("n;B;1") + "x", "P\n[$ x]\n"},
		{"output without a line end", "out" + osc("n;D;0;1;/") + "$ ", "out[$]\n"},
		{"a continuation", osc("n;D;0;1;/") + "$ a \\\r\n" + osc("n;P;1") + "> b\r\n" + osc("n;C;1") + "o", "[$ a \\]P\n[> b]P\no\n"},
		{"an erased command", osc("n;D;0;1;/") + "$ ls\r\x1b[K" + osc("n;C;1") + "x", "x\n"},
		{"a right prompt", osc("n;D;0;1;/") + "$ ls\x1b[20G[0]\r\n" + osc("n;C;1"), "[$ ls               [0]]P\n\n"},
		{"a gap that was written", osc("n;D;0;1;/") + "$" + osc("n;C;1") + "  " + osc("n;P;1") + "x", "[$  x]\n"},
		{"a message without a command mark", osc("n;C;1") + osc("n;D;0;1;/") + "$ " + osc("n;B;1") + ")\r\nmore\r\n" + osc("n;D;2;1;/") + "$ ", "[$ )]P\n[more]P\n[$]\n"},
		{"a continuation prompt before its mark", osc("n;C;1") + osc("n;D;0;1;/") + "$ " + osc("n;B;1") + "if\r\nif> " + osc("n;P;1"), "[$ if]P\n[if>]\n"},
		{"a wrapped command", osc("n;D;0;1;/") + strings.Repeat("x", 25) + "\r\n" + osc("n;C;1") + "o", "[" + strings.Repeat("x", 25) + "]P\no\n"},
		{"wide characters", "a漢" + osc("n;P;1") + "字" + osc("n;C;1") + "b", "a漢[字]b\n"},
		{"the alternate screen", osc("n;D;0;1;/") + "$\x1b[?1049hTUI\x1b[?1049l" + osc("n;C;1") + "o", "[$]o\n"},
		{"a line end in the alternate screen", osc("n;D;0;1;/") + "\x1b[?1049h\n\n\x1b[?1049l" + osc("n;C;1") + "o", "o\n"},
	}
	for _, tt := range tests {
		if got := marked(feed(24, 6, tt.in)); got != tt.want {
			t.Errorf("%s: got %q, want %q, input %q", tt.name, got, tt.want, tt.in)
		}
		s := feed(24, 6, tt.in)
		s.Write([]byte("\x1b[6;1H" + strings.Repeat("\n", 6)))
		if got := marked(s); !strings.HasPrefix(got, strings.TrimRight(tt.want, "\n")) {
			t.Errorf("%s, in the log: got %q, want %q, input %q", tt.name, got, tt.want, tt.in)
		}
	}
}

func TestHideSetsTheZone(t *testing.T) {
	s := small(80, 5)
	s.Write([]byte("> "))
	s.Hide(true)
	s.Write([]byte("echo\r\n"))
	s.Hide(false)
	s.Write([]byte("out"))
	expect(t, "lines", marked(s), "> [echo]P\nout\n", "")
}

func TestPromptEndsASoftWrap(t *testing.T) {
	in := strings.Repeat("x", 12) + "\r" + osc("n;D;0;1;/") + "$ "
	expect(t, "lines", text(feed(10, 5, in)), "xxxxxxxxxx\n$\n", in)
}

// TestRefusedLine: without bracketed paste nothing tells that a shell took a line,
// but the next prompt without a command before it does.
func TestRefusedLine(t *testing.T) {
	s := feed(40, 12, osc("n;C;1")+osc("n;D;0;1;/")+"$ "+osc("n;B;1"))
	s.Hide(true)
	_, _ = s.Write([]byte("long (\r\nsh: near (\r\nsh: too\r\n" + osc("n;D;2;1;/") + "$ " + osc("n;B;1")))
	s.Hide(true)
	_, _ = s.Write([]byte("ls\r\n" + osc("n;C;1") + "out\r\n" + osc("n;D;0;1;/") + "$ " + osc("n;B;1")))
	if got, want := marked(s), "[$ long (]P\nsh: near (\nsh: too\n[$ ls]P\nout\n[$]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
