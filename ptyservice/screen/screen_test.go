package screen

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"combining mark", "cafe\u0301", "cafe\u0301"},
		{"combining mark behind a wide character", "漢\u0301x", "漢\u0301x"},
		{"combining mark without a base", "\u0301x", "x"},
		{"emoji sequence", "👩\u200d💻!", "👩\u200d💻!"},
		{"variation selector", "❤\ufe0f x", "❤\ufe0f x"},
		{"bad UTF-8", "a\xff\xc3(\xe6\xbc\x1b[1mb", "a\ufffd\ufffd(\ufffdb"},
		{"sequence cut off by text", "\x1b[31é", "é"},
		{"NUL and DEL", "a\x00b\x7fc\x01d", "abcd"},
		{"tag characters", "a\U000e0041\U000e0042b", "ab"},
		{"concealed text", "a\x1b[8msecret\x1b[28mb", "a      b"},
		{"concealed text at the end", "a\x1b[8msecret", "a"},
		{"concealed wide text", "a\x1b[8m漢字\x1b[mb", "a    b"},
		{"a colour that looks like concealed", "\x1b[38;5;8ma\x1b[48;2;8;8;8mb\x1b[38:5:8mc\x1b[4:8md", "abcd"},
		{"link", "\x1b]8;;http://x\x1b\\label\x1b]8;;\x1b\\", "label"},
		{"sixel", "a\x1bPq#0~~\x1b\\b", "ab"},
		{"APC, PM, SOS", "a\x1b_x\x1b\\b\x1b^y\x1b\\c\x1bXz\x1b\\d", "abcd"},
		{"clipboard", "a\x1b]52;c;aGk=\ab", "ab"},
		{"half of a wide character overwritten", "漢字\rx", "x 字"},
		{"G1 line drawing", "\x1b)0\x0eqx\x0fq", "─│q"},
		{"single shift", "\x1b*0\x1bNqq", "─q"},
		{"EL behind the last column", strings.Repeat("x", 40) + "\x1b[Kyz", strings.Repeat("x", 40) + "\nyz"},
		{"ED behind the last column", strings.Repeat("x", 40) + "\x1b[J", strings.Repeat("x", 40)},
		{"REP", "ab\x1b[3b", "abbbb"},
		{"REP after a move", "ab\r\x1b[3b", "ab"},
	}
	for _, tt := range tests {
		s := feed(40, 5, tt.in)
		expect(t, tt.name, shown(s), tt.want, tt.in)
		expect(t, tt.name+" (log)", text(s), strings.ReplaceAll(tt.want, "\n", "")+"\n", tt.in)
	}
}

func TestWidthsDoNotFollowTheLocale(t *testing.T) {
	t.Setenv("RUNEWIDTH_EASTASIAN", "1")
	expect(t, "column", feed(40, 5, "±…─").Snapshot().Col, 3, "ambiguous")
}

func TestLeft(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"$ ", "$ "},
		{"a\r\nPassword:   ", "Password:   "},
		{"abc\b\b", "a"},
		{"\x1b[5Gx", "    x"},
		{"a\x1b[8mbc\x1b[md", "ad"},
		{"漢字\b\b", "漢"},
		{strings.Repeat("x", 20), strings.Repeat("x", 20)},
		{strings.Repeat("x", 21), "x"},
		{"main\x1b[?1049h\x1b[Halt> ", "alt> "},
	}
	for _, tt := range tests {
		expect(t, "left", feed(20, 5, tt.in).Left(), tt.want, tt.in)
	}
}

func TestChanges(t *testing.T) {
	tests := []struct {
		name, before, in string
		want             bool
	}{
		{"nothing", "abc", "", false},
		{"text", "abc", "d", true},
		{"the same text again", "abc", "\rabc", false},
		{"the same text erased first", "abc", "\r\x1b[2Kabc", false},
		{"a frame again", "a\r\nb", "\x1b[H\x1b[Ja\r\nb", false},
		{"other text in its place", "abc", "\babd"[1:], true},
		{"the last character", "abc", "\bd", true},
		{"the cursor", "abc", "\b", true},
		{"the cursor there and back", "abc", "\b\x1b[C", false},
		{"a colour", "abc", "\x1b[31m", false},
		{"an erased blank", "abc", "\x1b[K", false},
		{"erased text", "abc", "\x1b[2K", true},
		{"a title", "abc", "\x1b]0;x\a", false},
		{"a scroll", "\n\n\n\n", "\n", true},
		{"the alternate screen", "abc", "\x1b[?1049h", true},
		{"spinner", "work |", "\b/", true},
		{"moved text", "abc", "\r\x1b[@\x1b[4G", true},
	}
	for _, tt := range tests {
		s := feed(20, 5, tt.before)
		n := s.Changes()
		s.Write([]byte(tt.in))
		if got := s.Changes() != n; got != tt.want {
			t.Errorf("%s: got changed %v, want %v, input %q", tt.name, got, tt.want, tt.in)
		}
		if n := s.Changes(); n != s.Changes() {
			t.Errorf("%s: two calls differ", tt.name)
		}
	}
}

func TestModes(t *testing.T) {
	tests := []struct {
		in   string
		want Modes
	}{
		{"", Modes{Autowrap: true}},
		{"\x1b[?1h\x1b=\x1b[?2004h\x1b[?1004h", Modes{Autowrap: true, AppCursor: true, AppKeypad: true, BracketedPaste: true, FocusEvents: true}},
		{"\x1b[?1h\x1b=\x1b[?1l\x1b>", Modes{Autowrap: true}},
		{"\x1b[?1000;1006h", Modes{Autowrap: true, Mouse: 1000, MouseSGR: true}},
		{"\x1b[?1003h\x1b[?1003l", Modes{Autowrap: true}},
		{"\x1b[20;4h\x1b[?7l\x1b[?6h", Modes{LNM: true, Insert: true, Origin: true}},
		{"\x1b[>1u\x1b[>5u", Modes{Autowrap: true, Kitty: 5}},
		{"\x1b[>1u\x1b[>5u\x1b[<u", Modes{Autowrap: true, Kitty: 1}},
		{"\x1b[=3u\x1b[=4;2u\x1b[=1;3u", Modes{Autowrap: true, Kitty: 6}},
		{"\x1b[=3u\x1b[?1049h", Modes{Autowrap: true}},
		{"\x1b[=3u\x1b[<99u", Modes{Autowrap: true}},
		{"\x1b[?1h\x1b[?2004h\x1bc", Modes{Autowrap: true}},
	}
	for _, tt := range tests {
		expect(t, "modes", feed(20, 5, tt.in).Modes(), tt.want, tt.in)
	}
}

func TestTitle(t *testing.T) {
	long := strings.Repeat("é", 200)
	tests := []struct{ in, want string }{
		{"\x1b]0;one\a\x1b]2;two\x1b\\", "two"},
		{"\x1b]1;icon\a", ""},
		{"\x1b]0;a\x1b[31m\a", "a"},
		{"\x1b]0;a\u0085b\xff\a", "ab\ufffd"},
		{"\x1b]0;" + long + "\a", long[:256]},
	}
	for _, tt := range tests {
		expect(t, "title", feed(20, 5, tt.in).Snapshot().Title, tt.want, tt.in)
	}
}

func TestDir(t *testing.T) {
	tests := []struct{ in, want string }{
		{"file://host/tmp/a%20b", "/tmp/a b"},
		{"file:///tmp/%C3%A9%1b%0a", "/tmp/é"},
		{"http://host/tmp", ""},
		{"/tmp", ""},
		{"file://host/%zz", ""},
	}
	for _, tt := range tests {
		expect(t, "dir", feed(20, 5, "\x1b]7;"+tt.in+"\a").Snapshot().Dir, tt.want, tt.in)
	}
}

func TestSnapshotSharesNoMemory(t *testing.T) {
	s := feed(5, 3, "abcdefg")
	v := s.Snapshot()
	s.Write([]byte("\x1b[2Jxyz\x1b[?25l"))
	if v.Rows[0] != "abcde" || v.Rows[1] != "fg" || !v.Wrapped[0] || v.Wrapped[1] || v.Row != 1 || v.Col != 2 || v.CursorHidden {
		t.Errorf("got %+v", v)
	}
}

func TestSnapshotOfAWrappedRowKeepsItsBlanks(t *testing.T) {
	v := feed(8, 3, "[53.1   kB]").Snapshot()
	expect(t, "rows joined", v.Rows[0]+v.Rows[1], "[53.1   kB]", "")
}

func TestWritesBelowTheRegionStayInTheLastRow(t *testing.T) {
	in := "\x1b[1;3r\x1b[5H" + strings.Repeat("x", 12) + "yz"
	expect(t, "rows", shown(feed(10, 5, in)), "\n\n\n\nxxyzxxxxxx", in)
}
