package screen

// Modes are the modes that decide how input must be encoded, as the program
// set them.
type Modes struct {
	// AppCursor is DECCKM (1): arrow keys are sent as ESC O A.
	AppCursor bool
	// AppKeypad is DECPAM: keypad keys are sent as ESC O p.
	AppKeypad bool
	// BracketedPaste is mode 2004.
	BracketedPaste bool
	// FocusEvents is mode 1004.
	FocusEvents bool
	// Mouse is the mouse mode in force, 0 (none), 9, 1000, 1002 or 1003.
	Mouse int
	// MouseSGR is mode 1006, the encoding without limits.
	MouseSGR bool
	// Kitty is the set of flags of the kitty keyboard protocol, 0 to 31.
	Kitty int
	// LNM is the ANSI mode 20: Enter is sent as CR LF.
	LNM bool
	// Insert is the ANSI mode 4, Origin DECOM (6), Autowrap DECAWM (7).
	Insert, Origin, Autowrap bool
}

// modes are all modes.
type modes struct {
	Modes
	cursor  bool // DECTCEM
	reverse bool // 45, reverse wraparound
	keys    [2]kitty
}

func defaultModes() modes {
	return modes{Modes: Modes{Autowrap: true}, cursor: true}
}

// flag returns where a two-valued mode is kept, or nil if it is unknown.
func (m *modes) flag(private bool, n int) *bool {
	if !private {
		switch n {
		case 4:
			return &m.Insert
		case 20:
			return &m.LNM
		}
		return nil
	}
	switch n {
	case 1:
		return &m.AppCursor
	case 6:
		return &m.Origin
	case 7:
		return &m.Autowrap
	case 25:
		return &m.cursor
	case 45:
		return &m.reverse
	case 66:
		return &m.AppKeypad
	case 1004:
		return &m.FocusEvents
	case 1006:
		return &m.MouseSGR
	case 2004:
		return &m.BracketedPaste
	}
	return nil
}

// setModes executes SM, RM, DECSET and DECRST.
func (s *Screen) setModes(on bool) {
	for _, n := range s.params[:s.n] {
		s.setMode(s.prefix == '?', n, on)
	}
}

func (s *Screen) setMode(private bool, n int, on bool) {
	if private && n == 2004 && !on {
		s.accepted()
	}
	if p := s.modes.flag(private, n); p != nil {
		*p = on
		if private && n == 6 {
			s.moveTo(0, 0)
		}
		return
	}
	if !private {
		return
	}
	switch n {
	case 9, 1000, 1002, 1003:
		s.modes.Mouse = 0
		if on {
			s.modes.Mouse = n
		}
	case 47, 1047:
		s.switchTo(on, n == 1047)
	case 1048:
		if on {
			s.save()
		} else {
			s.restore()
		}
	case 1049:
		if on {
			s.save()
			s.switchTo(true, true)
		} else {
			s.switchTo(false, false)
			s.restore()
		}
	}
}

// switchTo shows the alternate or the main screen. The alternate one is
// blank when it is entered by 1049, and when it is left by 1047.
func (s *Screen) switchTo(alt, blank bool) {
	if alt == s.Alt() {
		return
	}
	if !alt {
		if blank {
			s.alt.blank()
		}
		s.main.cur = s.alt.cur
		s.show(s.main)
		return
	}
	if s.alt == nil {
		s.alt = newGrid(s.cols, s.rows)
	} else if blank {
		s.alt.blank()
	}
	s.alt.cur = s.main.cur
	s.show(s.alt)
}

func (s *Screen) show(g *grid) {
	s.g = g
	s.setAttr()
}

// mode returns the state of a mode as DECRPM reports it: 0 unknown, 1 set,
// 2 reset.
func (s *Screen) mode(private bool, n int) int {
	on := false
	if p := s.modes.flag(private, n); p != nil {
		on = *p
	} else {
		switch {
		case !private:
			return 0
		case n == 9 || n == 1000 || n == 1002 || n == 1003:
			on = s.modes.Mouse == n
		case n == 47 || n == 1047 || n == 1049:
			on = s.Alt()
		default:
			return 0
		}
	}
	if on {
		return 1
	}
	return 2
}

// maxKitty bounds the stack of keyboard flags (the protocol asks for a bound
// against abuse and leaves it to the terminal).
const maxKitty = 16

// kitty is the stack of keyboard flags of one screen; the protocol is at
// https://sw.kovidgoyal.net/kitty/keyboard-protocol.
type kitty struct {
	stack [maxKitty]int
	n     int // entries below the current one
}

// kitty returns the stack of the shown screen.
func (s *Screen) kitty() *kitty {
	if s.Alt() {
		return &s.modes.keys[1]
	}
	return &s.modes.keys[0]
}

func (k *kitty) flags() int { return k.stack[k.n] }

// push saves the current flags; a full stack loses its oldest.
func (k *kitty) push(flags int) {
	if k.n == maxKitty-1 {
		copy(k.stack[:], k.stack[1:])
		k.n--
	}
	k.n++
	k.stack[k.n] = flags & 31
}

func (k *kitty) pop(n int) {
	k.n -= n
	if k.n < 0 {
		*k = kitty{}
	}
}

// set replaces the current flags (mode 1), adds to them (2) or takes away
// from them (3).
func (k *kitty) set(flags, mode int) {
	p := &k.stack[k.n]
	switch mode {
	case 1:
		*p = flags & 31
	case 2:
		*p |= flags & 31
	case 3:
		*p &^= flags
	}
}
