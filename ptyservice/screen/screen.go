// Package screen turns the bytes a program writes to its terminal into text.
//
// One [Screen] feeds two readers. The log is the history of the main screen
// as logical lines (rows joined at soft wraps): append-only, bounded, with
// line numbers that are never reused. The rows still on the screen, of the
// main or of the alternate screen, are what a person would see now. A row
// joins the log when it leaves the main screen at the top, that is when it
// can no longer change; so a progress bar, a redrawn menu or an edited
// command line reaches the log once, in its last state.
//
// The parser follows the state machine of the VT500 series
// (https://vt100.net/emu/dec_ansi_parser), with UTF-8 in front of it. Where
// terminals differ, xterm is followed; the deliberate exceptions are listed
// in testdata/vt under "ours".
//
// The package does no I/O, knows no clock and starts no goroutine. A Screen
// is not safe for concurrent use. Whatever the bytes are, Write never panics,
// never blocks and never grows without bound, and the result does not depend
// on how the bytes are cut into writes.
package screen

import "github.com/mattn/go-runewidth"

const (
	// MaxCols is the widest screen; a wider one is asked for in vain.
	MaxCols = 1000
	// minCols holds a wide character, as in xterm.
	minCols = 2
	// MaxRows is the tallest screen; a taller one is asked for in vain.
	MaxRows = 500
)

// Config fixes a screen's size and memory. Values outside their range are
// moved to its nearest end.
type Config struct {
	// Cols and Rows are the size in cells: 2 to MaxCols, 1 to MaxRows.
	Cols, Rows int
	// Lines is how many history lines are kept, at least 1. The oldest line
	// is dropped first.
	Lines int
	// Bytes is how many bytes of history text are kept, at least 1024. It
	// counts text only; a line costs 16 bytes more. The newest line is kept
	// even if it alone is longer.
	Bytes int
	// Nonce is the secret that our shell marks carry; "" accepts no mark.
	Nonce string
	// Final, if not nil, is called in Write and Resize for each line (or
	// piece of a very long line) as it becomes final in the log, before it
	// can be dropped. The Line and its slices are valid during the call
	// only, and the callback must not call the Screen.
	Final func(Line)
}

// Pos is a place in the log. It stays valid for ever: the line it names may
// be dropped, but its number is never given to another line.
type Pos struct {
	// Line is the number of the line, see Line.Number.
	Line int64
	// Off is the byte offset into the text that the line has up to that
	// place, trailing blanks included; it can therefore lie behind the end
	// of Line.Text, whose trailing blanks are trimmed.
	Off int
}

// Line is one logical line of the main screen: rows joined where the
// terminal wrapped them. A line of more than 4096 bytes comes in pieces,
// each a Line with its own number: a piece ends with the row that reaches
// 4096 bytes.
type Line struct {
	// Number is 1 for the first line the terminal ever wrote; it never
	// shifts.
	Number int64
	// Text is UTF-8 without control characters; invalid bytes are U+FFFD,
	// concealed text (SGR 8) is blanks. Trailing blanks are trimmed, unless
	// Cont is set. It belongs to the Screen.
	Text []byte
	// Start is the number of bytes of the text of all earlier lines, one
	// more counted for each that is not continued.
	Start int64
	// Hidden lists the byte ranges of Text that are prompt or echoed
	// command, sorted and merged. Blanks that nobody wrote between two such
	// cells belong to the range. It belongs to the Screen.
	Hidden []Span
	// Prompt says that the line belongs to the prompt even where it has no
	// text: its line end was made in a hidden zone.
	Prompt bool
	// Cont says that the next line continues this one without a line end.
	Cont bool
	// Live says that the line is still on the screen and may change.
	Live bool
}

// Span is the range of bytes From <= i < To.
type Span struct{ From, To int }

// Snapshot is what is shown at one moment. It shares no memory with the
// Screen.
type Snapshot struct {
	// Rows has one string per row of the shown screen, trailing blanks
	// trimmed unless the row is wrapped, so that wrapped rows can be joined
	// as they are.
	Rows []string
	// Wrapped tells for each row whether the next row continues it.
	Wrapped []bool
	// Row and Col are the cursor's cell, from 0.
	Row, Col int
	// PendingWrap says that the cursor stands behind the last column: the
	// next character goes to the next row.
	PendingWrap bool
	// Alt says that the alternate screen is shown.
	Alt bool
	// CursorHidden says that the program hid the cursor (DECTCEM).
	CursorHidden bool
	// Title is the window title (OSC 0, 2): no control characters, at most
	// 256 bytes. It was chosen by the program.
	Title string
	// Dir is the working directory that the program reported with OSC 7,
	// decoded, without control characters; "" if it did not.
	Dir string
	// Modes are the modes that decide how input must be encoded.
	Modes Modes
}

// Screen is a terminal without a window. Make one with New.
type Screen struct {
	parser
	log    history
	final  func(Line)
	nonce  string
	widths runewidth.Condition

	main, alt *grid // alt is nil until it is first used
	g         *grid // the one that is shown

	cols, rows int
	tabs       []bool
	attr       uint32 // state bits of the cells being written: pen and zone
	pen        uint32 // stConceal or 0
	charsets   [4]byte
	shift      int  // which of charsets is in use (GL)
	single     int  // the one for the next character only (SS2, SS3), or 0
	last       rune // what REP repeats; 0 = nothing
	modes      modes
	clusters   clusters

	hidden bool // the zone: what is written now is prompt or echo
	echoes bool // Hide said last that what follows is not to be hidden
	edited bool // Hide said since the prompt that what follows is a line editor's echo

	typedAt int64 // the line that the last prompt ends on
	drawn   bool  // something was written since the last prompt began
	typing  bool  // the shell reads a line: its prompt is complete
	starts  bool  // the shell marks where commands start
	// The latest mark was that of a continuation prompt.
	continued bool
	armed     bool  // the next ED 2 pushes the screen into the log
	marked    bool  // a mark or Hide was seen: only they arm ED 2
	floor     int64 // line of the last command mark
	marks     []Mark

	replies []byte
	title   string
	dir     string

	changes  uint64
	scrolled bool   // since the last call of Changes
	seen     uint64 // sum of the shown screen at the last call of Changes
	text     []byte // scratch of eachLive and Snapshot
	spans    []Span // scratch of eachLive
}

// New returns a blank screen.
func New(c Config) *Screen {
	s := &Screen{
		final:  c.Final,
		nonce:  c.Nonce,
		widths: runewidth.Condition{StrictEmojiNeutral: true},
		cols:   min(max(c.Cols, minCols), MaxCols),
		rows:   min(max(c.Rows, 1), MaxRows),
		armed:  true,
	}
	s.log = newHistory(max(c.Lines, 1), max(c.Bytes, 1024))
	s.main = newGrid(s.cols, s.rows)
	s.g = s.main
	s.tabs = defaultTabs(nil, s.cols)
	s.modes = defaultModes()
	s.charsets = defaultCharsets()
	s.seen = s.sum()
	return s
}

// Alt reports whether the alternate screen is shown.
func (s *Screen) Alt() bool { return s.g != s.main }

// Modes returns the modes that decide how input must be encoded.
func (s *Screen) Modes() Modes {
	m := s.modes.Modes
	m.Kitty = s.kitty().flags()
	return m
}

// Snapshot returns a copy of what is shown.
func (s *Screen) Snapshot() Snapshot {
	g := s.g
	v := Snapshot{
		Rows: make([]string, len(g.rows)), Wrapped: make([]bool, len(g.rows)),
		Row: g.cur.y, Col: g.cur.x, PendingWrap: g.cur.pending && s.modes.Autowrap,
		Alt: s.Alt(), CursorHidden: !s.modes.cursor,
		Title: s.title, Dir: s.dir, Modes: s.Modes(),
	}
	for y, r := range g.rows {
		s.text = s.appendRow(s.text[:0], nil, r, r.width())
		v.Wrapped[y] = r.wrap
		if !r.wrap {
			s.text = trimBlanks(s.text)
		}
		v.Rows[y] = string(s.text)
	}
	return v
}

// Left returns the text left of the cursor in the cursor's row of the shown
// screen: trailing blanks kept, concealed cells (SGR 8) left out.
func (s *Screen) Left() string {
	r, n := s.g.row(), s.g.cur.x
	if s.g.cur.pending {
		n++
	}
	var b []byte
	for _, c := range r.cells[:n] {
		if c.st&stConceal == 0 {
			b = s.appendCell(b, c)
		}
	}
	return string(b)
}

// Changes returns a number that grows when the visible text or the cursor of
// the shown screen has changed since the last call, or when the screen has
// scrolled. A redraw that leaves every cell and the cursor as they were does
// not count. A call costs a pass over the rows written since the last one.
func (s *Screen) Changes() uint64 {
	if sum := s.sum(); s.scrolled || sum != s.seen {
		s.changes++
		s.seen, s.scrolled = sum, false
	}
	return s.changes
}

// sum is a hash of the visible text and the cursor.
func (s *Screen) sum() uint64 {
	g := s.g
	h := mix(uint64(g.cur.y)<<32 | uint64(g.cur.x)<<1)
	if s.Alt() {
		h++
	}
	for y, r := range g.rows {
		h += mix(r.hash() + uint64(y))
	}
	return h
}
