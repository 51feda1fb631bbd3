package screen

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Modifiers by their weight in a parameter, which is 1 plus their sum (xterm
// ctlseqs, "PC-Style Function Keys"; the kitty protocol counts alike).
const (
	withShift = 1 << iota
	withMeta
	withCtrl
)

// disambiguate is the flag of the kitty protocol that EncodeKey knows.
const disambiguate = 1

const (
	keyEsc = 0x1b
	keyBS  = 0x08
	keyDel = 0x7f
)

// sequence is CSI num final. A num of 1 is left out if no modifier follows.
type sequence struct {
	num   int
	final byte
}

// namedKey is a key that is not a character.
type namedKey struct {
	control byte // the control character it sends; 0: it sends a sequence
	xterm   sequence
	kitty   sequence // if it is not xterm's
}

// namedKeys have the names of tmux(1) in lower case. The sequences are of
// xterm ctlseqs, "PC-Style Function Keys", and from F13 on "VT220-Style";
// those of kitty are of its "Functional key definitions". There F3 is not
// CSI R, which is a cursor position report.
var namedKeys = map[string]namedKey{
	"enter":     {control: '\r'},
	"tab":       {control: '\t'},
	"escape":    {control: keyEsc},
	"esc":       {control: keyEsc},
	"bspace":    {control: keyDel},
	"backspace": {control: keyDel},

	"up":    {xterm: sequence{1, 'A'}},
	"down":  {xterm: sequence{1, 'B'}},
	"right": {xterm: sequence{1, 'C'}},
	"left":  {xterm: sequence{1, 'D'}},
	"end":   {xterm: sequence{1, 'F'}},
	"home":  {xterm: sequence{1, 'H'}},

	"ic":       {xterm: sequence{2, '~'}},
	"insert":   {xterm: sequence{2, '~'}},
	"dc":       {xterm: sequence{3, '~'}},
	"delete":   {xterm: sequence{3, '~'}},
	"ppage":    {xterm: sequence{5, '~'}},
	"pageup":   {xterm: sequence{5, '~'}},
	"pgup":     {xterm: sequence{5, '~'}},
	"npage":    {xterm: sequence{6, '~'}},
	"pagedown": {xterm: sequence{6, '~'}},
	"pgdn":     {xterm: sequence{6, '~'}},

	"f1":  {xterm: sequence{1, 'P'}},
	"f2":  {xterm: sequence{1, 'Q'}},
	"f3":  {xterm: sequence{1, 'R'}, kitty: sequence{13, '~'}},
	"f4":  {xterm: sequence{1, 'S'}},
	"f5":  {xterm: sequence{15, '~'}},
	"f6":  {xterm: sequence{17, '~'}},
	"f7":  {xterm: sequence{18, '~'}},
	"f8":  {xterm: sequence{19, '~'}},
	"f9":  {xterm: sequence{20, '~'}},
	"f10": {xterm: sequence{21, '~'}},
	"f11": {xterm: sequence{23, '~'}},
	"f12": {xterm: sequence{24, '~'}},
	"f13": {xterm: sequence{25, '~'}, kitty: sequence{57376, 'u'}},
	"f14": {xterm: sequence{26, '~'}, kitty: sequence{57377, 'u'}},
	"f15": {xterm: sequence{28, '~'}, kitty: sequence{57378, 'u'}},
	"f16": {xterm: sequence{29, '~'}, kitty: sequence{57379, 'u'}},
	"f17": {xterm: sequence{31, '~'}, kitty: sequence{57380, 'u'}},
	"f18": {xterm: sequence{32, '~'}, kitty: sequence{57381, 'u'}},
	"f19": {xterm: sequence{33, '~'}, kitty: sequence{57382, 'u'}},
	"f20": {xterm: sequence{34, '~'}, kitty: sequence{57383, 'u'}},
}

// EncodeKey returns what the terminal sends for a key in its current modes.
// Names are tmux's: a character, or Enter, Tab, BTab, Escape, Space, BSpace,
// DC, IC, Up, Down, Left, Right, Home, End, PPage, NPage, F1 to F20 and their
// usual synonyms in any case, with C-, M- and S- before them in any order; ^c
// is C-c. Erase is the terminal's VERASE, which BSpace sends; 0 if unknown.
//
// It sends what xterm sends, with ESC for Meta, or what the kitty protocol
// says if the program has set its first flag; the others change nothing here.
// A modifier that would be lost, as in C-1 or S-Enter, is an error. Only Shift
// with Ctrl and a character is lost, as in xterm: C-S-c is C-c. C-C always is.
func EncodeKey(name string, m Modes, erase byte) ([]byte, error) {
	k, err := parseKey(name)
	if err != nil {
		return nil, err
	}
	if k.char == 0 && k.control == 0 {
		return k.function(m), nil
	}
	if m.Kitty&disambiguate != 0 {
		if b := k.unambiguous(); b != nil {
			return b, nil
		}
	}
	b, ok := k.legacy(m, erase)
	switch {
	case ok:
		return b, nil
	case k.char != 0 && k.mods&withCtrl == 0:
		return nil, fmt.Errorf("key %q cannot be sent: what Shift makes of %c depends on the keyboard; name that character itself", name, k.char)
	default:
		return nil, fmt.Errorf("key %q cannot be sent: terminals have no code for it, and the program has not turned on the kitty keyboard protocol", name)
	}
}

// keystroke is a key with its modifiers: a character or a named key.
type keystroke struct {
	mods int
	char rune // 0 if it is a named key
	namedKey
}

func parseKey(name string) (keystroke, error) {
	var k keystroke
	base := name
	for len(base) > 2 && base[1] == '-' {
		switch base[0] {
		case 'S', 's':
			k.mods |= withShift
		case 'M', 'm':
			k.mods |= withMeta
		case 'C', 'c':
			k.mods |= withCtrl
		default:
			return k, unknownKey(name)
		}
		base = base[2:]
	}
	if len(base) == 2 && base[0] == '^' {
		k.mods |= withCtrl
		base = base[1:]
	}
	if r, n := utf8.DecodeRuneInString(base); n > 0 && n == len(base) {
		switch {
		case r < ' ' || r == keyDel:
			// ASCII pairs @ to _ and ? with the control characters by this bit.
			return k, fmt.Errorf("key %q is a control character: its name is C-%c", name, unicode.ToLower(r^0x40))
		case r == utf8.RuneError && n == 1 || unicode.IsControl(r):
			return k, unknownKey(name)
		}
		k.char = r
		return k, nil
	}
	base = strings.ToLower(base)
	switch base {
	case "space":
		k.char = ' '
		return k, nil
	case "btab":
		k.mods |= withShift
		base = "tab"
	}
	var known bool
	if k.namedKey, known = namedKeys[base]; !known {
		return k, unknownKey(name)
	}
	return k, nil
}

// unknownKey quotes the beginning only: it may be a text given as a key.
func unknownKey(name string) error {
	return fmt.Errorf("unknown key %.40q: names are single characters, Enter, Tab, BTab, Escape, Space, BSpace, DC, IC, "+
		"Up, Down, Left, Right, Home, End, PPage, NPage and F1 to F20, with C-, M- or S- before them (C-c, M-x, S-F5)", name)
}

// function encodes a key that always sends a sequence.
func (k keystroke) function(m Modes) []byte {
	if m.Kitty&disambiguate != 0 {
		// The protocol has no SS3 and so no cursor key mode.
		if k.kitty.num != 0 {
			return k.kitty.csi(k.mods)
		}
		return k.xterm.csi(k.mods)
	}
	letter := k.xterm.final != '~'
	pf := letter && k.xterm.final >= 'P' // F1 to F4 are SS3 in any mode
	if k.mods == 0 && (pf || letter && m.AppCursor) {
		return []byte{keyEsc, 'O', k.xterm.final}
	}
	return k.xterm.csi(k.mods)
}

// unambiguous encodes as CSI u what the kitty protocol does not leave as it
// was. It returns nil for the rest: text, and Enter, Tab and BSpace alone, so
// that one can type reset after a program has died with the flag set.
func (k keystroke) unambiguous() []byte {
	if k.char == 0 {
		if k.mods == 0 && k.control != keyEsc {
			return nil
		}
		return sequence{int(k.control), 'u'}.csi(k.mods)
	}
	if k.mods&(withCtrl|withMeta) == 0 {
		return nil
	}
	// The code is the key's without Shift. An upper case letter says Shift,
	// but not in C-C. Of other characters it is unknown on which key they are,
	// so each is taken to have its own: C-? is never Ctrl+Shift+/.
	lower := unicode.ToLower(k.char)
	mods := k.mods
	if lower != k.char && mods&withCtrl == 0 {
		mods |= withShift
	}
	return sequence{int(lower), 'u'}.csi(mods)
}

// legacy encodes a character, or a key that has a control character. It
// returns false if a modifier would be lost.
func (k keystroke) legacy(m Modes, erase byte) ([]byte, bool) {
	var b []byte
	if k.mods&withMeta != 0 {
		b = append(b, keyEsc)
	}
	mods := k.mods &^ withMeta
	if k.char != 0 {
		r, ok := k.char, true
		if mods&withCtrl != 0 {
			r, ok = controlOf(r)
		} else if mods&withShift != 0 {
			r, ok = shifted(r)
		}
		return utf8.AppendRune(b, r), ok
	}
	switch {
	case k.control == '\t' && mods == withShift:
		return append(b, "\x1b[Z"...), true
	case k.control == keyDel && mods == withCtrl && erase != keyBS:
		return append(b, keyBS), true // xterm: Ctrl swaps the two
	case k.control == keyDel && mods == withCtrl:
		return append(b, keyDel), true
	case mods != 0:
		return nil, false
	case k.control == keyDel && erase != 0 && erase != 0xff: // _POSIX_VDISABLE: 0 on Linux, 0xff on BSD and macOS
		return append(b, erase), true
	case k.control == '\r' && m.LNM:
		return append(b, "\r\n"...), true
	}
	return append(b, k.control), true
}

// csi appends the modifiers as a second parameter.
func (s sequence) csi(mods int) []byte {
	b := []byte{keyEsc, '['}
	if mods != 0 || s.num != 1 {
		b = strconv.AppendInt(b, int64(s.num), 10)
	}
	if mods != 0 {
		b = append(b, ';')
		b = strconv.AppendInt(b, int64(1+mods), 10)
	}
	return append(b, s.final)
}

// controlOf returns the control character that Ctrl makes of a character, as
// Xlib does for xterm (XLookupString), which follows the VT220 (table 3-5).
// C-? is not Xlib's but everybody else's.
func controlOf(r rune) (rune, bool) {
	switch {
	case r >= '@' && r <= '~':
		return r & 0x1f, true
	case r == ' ' || r == '2':
		return 0, true
	case r >= '3' && r <= '7':
		return r - '3' + keyEsc, true
	case r == '8' || r == '?':
		return keyDel, true
	case r == '/':
		return 0x1f, true
	}
	return 0, false
}

// shifted returns what Shift makes of a character, if every keyboard agrees.
func shifted(r rune) (rune, bool) {
	upper := unicode.ToUpper(r)
	return upper, upper != r || unicode.IsUpper(r) || r == ' '
}
