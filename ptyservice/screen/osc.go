package screen

import (
	"bytes"
	"net/url"
	"strings"
	"unicode"
)

const (
	maxTitle = 256  // bytes
	maxDir   = 4096 // bytes, PATH_MAX of Linux
)

// osc executes an operating system command. The text of a link (8) is
// ordinary text outside of it; clipboard (52), notifications and foreign
// shell marks (133, 633) are dropped with all the rest.
func (s *Screen) osc(payload []byte) {
	s.last = 0
	code, rest, _ := bytes.Cut(payload, []byte{';'})
	switch string(code) {
	case "0", "2":
		s.title = clean(string(rest), maxTitle)
	case "7":
		s.setDir(string(rest))
	case "10", "11":
		if string(rest) == "?" {
			s.replyColour(string(code))
		}
	case "6973":
		s.mark(string(rest))
	}
}

// setDir takes the URL of OSC 7. The host is not looked at: it is the name
// the program's machine has for itself.
func (s *Screen) setDir(ref string) {
	u, err := url.Parse(ref)
	if err != nil || u.Scheme != "file" || !strings.HasPrefix(u.Path, "/") || len(u.Path) > maxDir {
		return
	}
	s.dir = clean(u.Path, maxDir)
}

// clean returns text as valid UTF-8 without control and format characters,
// cut at a rune border to at most limit bytes.
func clean(text string, limit int) string {
	var b strings.Builder
	for _, u := range text {
		if unicode.IsControl(u) || u >= 0xe0000 && u <= 0xe007f {
			continue
		}
		if b.Len()+len(string(u)) > limit {
			break
		}
		b.WriteRune(u)
	}
	return b.String()
}
