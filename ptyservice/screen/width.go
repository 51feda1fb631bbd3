package screen

// width returns how many columns the rune takes: 0 (joins the cell before),
// 1 or 2; -1 if it is dropped. Widths are those of wcwidth, rune by rune, as
// bash, vim and less count them, and do not depend on the locale.
func (s *Screen) width(u rune) int {
	switch {
	case u == 0xad:
		// SOFT HYPHEN is a visible hyphen in a terminal (xterm, wcwidth).
		return 1
	case u >= 0x1160 && u <= 0x11ff, u >= 0xd7b0 && u <= 0xd7ff:
		// Hangul vowels and finals join the consonant before them (wcwidth).
		return 0
	case u >= 0xe0000 && u <= 0xe007f:
		// Tag characters show nothing and carry text to whoever reads bytes.
		return -1
	}
	return s.widths.RuneWidth(u)
}
