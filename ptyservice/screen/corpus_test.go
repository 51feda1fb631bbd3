package screen

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const corpusDir = "../../testdata/vt"

// stream is one file pair of the corpus; testdata/vt says what the keys mean.
type stream struct {
	name   string
	raw    []byte
	Cols   int
	Rows   int
	Resize []struct{ At, Cols, Rows int }
	Expect map[string]any
	// ExpectGraphemes is right, too.
	ExpectGraphemes map[string]any
	// Tmux says whether tmux agrees with Expect.
	Tmux string
	// Ours has the keys in which we differ on purpose.
	Ours map[string]any
}

// exceptions are the streams in which we differ from the recorded terminal
// in the keys given, and why.
var exceptions = map[string]struct{ keys, why string }{
	"sgr_all":                     {"screen logical", "concealed text (SGR 8) is blanks: a person does not see it"},
	"dcs_decrqss_xtgettcap":       {"replies", "DECRQSS is answered in the negative: attributes are not stored"},
	"rec_bash_stderr_ctrlc_80x24": {"scrollback logical", "what ED 2 takes off the screen goes into the log: it may not have been read"},
}

// asTmux are the streams that we read as tmux does, of which the corpus only
// says that its scrollback is another: what ED 2 and SU take off the screen goes
// into the log, for it may not have been read yet.
var asTmux = map[string]bool{"clear_screen_history": true, "scroll_su_sd": true}

func corpus(t testing.TB) []stream {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(corpusDir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus in %s: %v", corpusDir, err)
	}
	var all []stream
	for _, f := range files {
		c := stream{name: strings.TrimSuffix(filepath.Base(f), ".json")}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		if c.raw, err = os.ReadFile(strings.TrimSuffix(f, ".json") + ".raw"); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// play feeds the stream in writes of at most n bytes.
func (c stream) play(n int) (*Screen, string) {
	s := New(Config{Cols: c.Cols, Rows: c.Rows, Lines: 10000, Bytes: 1 << 20})
	raw, at := c.raw, 0
	var replies strings.Builder
	feed := func(p []byte) {
		for len(p) > 0 {
			k := min(n, len(p))
			s.Write(p[:k])
			replies.Write(s.Replies())
			p = p[k:]
		}
	}
	for _, r := range c.Resize {
		feed(raw[at:r.At])
		at = r.At
		s.Resize(r.Cols, r.Rows)
	}
	feed(raw[at:])
	return s, replies.String()
}

// view is what a screen shows, in the terms of the corpus.
func view(s *Screen, replies string) map[string]any {
	v := s.Snapshot()
	screen := make([]string, len(v.Rows))
	for y, r := range v.Rows {
		screen[y] = strings.TrimRight(r, " ")
	}
	m := map[string]any{
		"screen": screen, "cursor": []int{v.Col, v.Row}, "pendingWrap": v.PendingWrap,
		"alt": v.Alt, "title": v.Title, "replies": known(replies),
		"modes": map[string]any{
			"appCursor": v.Modes.AppCursor, "appKeypad": v.Modes.AppKeypad, "bracketedPaste": v.Modes.BracketedPaste,
			"mouse": mouseName(v.Modes.Mouse), "insert": v.Modes.Insert, "origin": v.Modes.Origin,
			"wrap": v.Modes.Autowrap, "focus": v.Modes.FocusEvents,
		},
	}
	var wrapped []int
	if s.log.has {
		wrapped = append(wrapped, 0)
	}
	for y, w := range v.Wrapped {
		if w {
			wrapped = append(wrapped, y+1)
		}
	}
	m["screenWrapped"] = wrapped
	var logical, final []string
	s.Lines(s.First(), s.Last(), func(l Line) bool {
		logical = append(logical, string(l.Text))
		if !l.Live {
			final = append(final, string(l.Text))
		}
		return true
	})
	if open := trimBlanks(s.log.open.text); s.log.has {
		final = append(final, string(open))
	}
	m["logical"] = logical
	m["scrollback"] = final
	return m
}

func mouseName(n int) string {
	return map[int]string{0: "none", 9: "x10", 1000: "vt200", 1002: "drag", 1003: "any"}[n]
}

// unknown are the answers that the recorded terminal does not give.
var unknown = regexp.MustCompile(`\x1b\](10|11);[^\x1b]*\x1b\\|\x1bP0(\$|\+)r\x1b\\|\x1bP>\|ptykeep\x1b\\|\x1b\[\?\d+u`)

func known(replies string) string { return unknown.ReplaceAllString(replies, "") }

// diff compares a view with what the corpus wants; "" if they agree.
func diff(got, want map[string]any) []string {
	var keys []string
	for k, w := range want {
		switch k {
		case "scrollback":
			w = joined(w, want["scrollbackWrapped"])
		case "logical":
			// The recorded logical lines of the alternate screen are the
			// alternate screen's; ours are the log's.
			if want["alt"] == true || got["alt"] == true {
				continue
			}
		case "scrollbackWrapped", "why":
			continue
		}
		if g, ok := got[k]; !ok || canon(k, g) != canon(k, w) {
			keys = append(keys, fmt.Sprintf("%s: got %s\nwant %s", k, canon(k, g), canon(k, w)))
		}
	}
	return keys
}

// joined joins rows at soft wraps.
func joined(rows, wrapped any) []string {
	cont := map[int]bool{}
	if wrapped != nil {
		for _, y := range wrapped.([]any) {
			cont[int(y.(float64))] = true
		}
	}
	var lines []string
	for y, r := range rows.([]any) {
		if cont[y] && len(lines) > 0 {
			lines[len(lines)-1] += r.(string)
		} else {
			lines = append(lines, r.(string))
		}
	}
	return lines
}

// canon makes values comparable: JSON, blank lines at the end left out.
func canon(key string, v any) string {
	text, _ := json.Marshal(v)
	var list []string
	if key == "screen" || key == "logical" || key == "scrollback" {
		_ = json.Unmarshal(text, &list)
		for len(list) > 0 && list[len(list)-1] == "" {
			list = list[:len(list)-1]
		}
		return strings.Join(list, "\n")
	}
	if string(text) == "null" {
		return "[]"
	}
	return string(text)
}

// mismatch compares with each variant the corpus accepts, and returns how the
// best one differs.
func (c stream) mismatch(got map[string]any) []string {
	ours := map[string]any{}
	for k, v := range c.Expect {
		ours[k] = v
	}
	for k, v := range c.Ours {
		ours[k] = v
		if k == "screen" || k == "logical" {
			delete(ours, "screenWrapped")
		}
		if k == "scrollback" {
			delete(ours, "scrollbackWrapped")
		}
	}
	best := diff(got, ours)
	if d := diff(got, c.Expect); len(d) < len(best) {
		best = d
	}
	if c.ExpectGraphemes != nil {
		if d := diff(got, c.ExpectGraphemes); len(d) < len(best) {
			best = d
		}
	}
	return best
}

func TestCorpus(t *testing.T) {
	for _, c := range corpus(t) {
		t.Run(c.name, func(t *testing.T) {
			excused := strings.Fields(exceptions[c.name].keys)
			if asTmux[c.name] && c.Tmux == "differs: scrollback" {
				excused = append(excused, "scrollback", "logical")
			}
			for _, d := range c.mismatch(view(c.play(1 << 20))) {
				key, _, _ := strings.Cut(d, ":")
				if i := slices.Index(excused, key); i >= 0 {
					excused = slices.Delete(excused, i, i+1)
				} else {
					t.Error(d)
				}
			}
			if len(excused) > 0 {
				t.Errorf("exceptions no longer needed: %v", excused)
			}
		})
	}
}

func TestCorpusByteByByte(t *testing.T) {
	for _, c := range corpus(t) {
		whole, split := view(c.play(1<<20)), view(c.play(1))
		if !reflect.DeepEqual(whole, split) {
			t.Errorf("%s: byte by byte differs: got\n%v\nwant\n%v", c.name, split, whole)
		}
	}
}
