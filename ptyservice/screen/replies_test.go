package screen

import (
	"regexp"
	"strings"
	"testing"
)

func TestReplies(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"DA1", "\x1b[c", "\x1b[?62;22c"},
		{"DA2", "\x1b[>c", "\x1b[>0;276;0c"},
		{"DSR", "\x1b[5n", "\x1b[0n"},
		{"CPR", "\x1b[3;7H\x1b[6n", "\x1b[3;7R"},
		{"CPR in the last column", strings.Repeat("x", 20) + "\x1b[6n", "\x1b[1;20R"},
		{"CPR with origin", "\x1b[2;4r\x1b[?6h\x1b[6n", "\x1b[1;1R"},
		{"DECXCPR", "\x1b[?6n", "\x1b[?1;1R"},
		{"DECRQM set", "\x1b[?2004h\x1b[?2004$p", "\x1b[?2004;1$y"},
		{"DECRQM reset", "\x1b[?1$p", "\x1b[?1;2$y"},
		{"DECRQM unknown", "\x1b[?2026$p", "\x1b[?2026;0$y"},
		{"DECRQM ANSI", "\x1b[4h\x1b[4$p", "\x1b[4;1$y"},
		{"DECRQM alternate screen", "\x1b[?1049h\x1b[?1049$p", "\x1b[?1049;1$y"},
		{"foreground", "\x1b]10;?\a", "\x1b]10;rgb:e5e5/e5e5/e5e5\x1b\\"},
		{"background", "\x1b]11;?\x1b\\", "\x1b]11;rgb:0000/0000/0000\x1b\\"},
		{"XTVERSION", "\x1b[>q", "\x1bP>|ptykeep\x1b\\"},
		{"kitty", "\x1b[>5u\x1b[?u", "\x1b[?5u"},
		{"size", "\x1b[18t", "\x1b[8;5;20t"},
		{"DECRQSS", "\x1bP$qm\x1b\\", "\x1bP0$r\x1b\\"},
		{"XTGETTCAP", "\x1bP+q544e\x1b\\", "\x1bP0+r\x1b\\"},
		{"title report", "\x1b]0;evil\a\x1b[21t\x1b[20t", ""},
		{"ENQ", "\x05", ""},
		{"clipboard", "\x1b]52;c;?\a", ""},
		{"colour set", "\x1b]11;#ffffff\a", ""},
		{"text", "abc\r\n", ""},
	}
	for _, tt := range tests {
		s := feed(20, 5, tt.in)
		expect(t, tt.name, string(s.Replies()), tt.want, tt.in)
		expect(t, tt.name+" again", string(s.Replies()), "", tt.in)
	}
}

func TestRepliesAreBoundedAndWhole(t *testing.T) {
	s := feed(20, 5, strings.Repeat("\x1b[6n", 10000))
	r := string(s.Replies())
	if len(r) > maxReplies || len(r) < maxReplies-10 || !regexp.MustCompile(`^(\x1b\[1;1R)+$`).MatchString(r) {
		t.Errorf("got %d bytes, ending in %q", len(r), r[max(0, len(r)-20):])
	}
}
