package screen

import "unicode/utf8"

// decoder decodes UTF-8 byte by byte. A bad sequence is one U+FFFD for each
// maximal subpart, as the Unicode standard (3.9, U+FFFD substitution)
// recommends and browsers do.
type decoder struct {
	need   int  // bytes still missing
	lo, hi byte // range of the next one
	u      rune
}

// next takes a byte. done: u is complete. again: the byte was not consumed,
// because it is ASCII or because it cut off the sequence before it.
func (d *decoder) next(b byte) (u rune, done, again bool) {
	if d.need > 0 {
		if b < d.lo || b > d.hi {
			d.need = 0
			return utf8.RuneError, true, true
		}
		d.u = d.u<<6 | rune(b&0x3f)
		d.need--
		d.lo, d.hi = 0x80, 0xbf
		return d.u, d.need == 0, false
	}
	d.lo, d.hi = 0x80, 0xbf
	switch {
	case b < utf8.RuneSelf:
		return 0, false, true
	case b < 0xc2 || b > 0xf4:
		return utf8.RuneError, true, false
	case b < 0xe0:
		d.need, d.u = 1, rune(b&0x1f)
	case b < 0xf0:
		d.need, d.u = 2, rune(b&0x0f)
		if b == 0xe0 {
			d.lo = 0xa0 // shorter ones are overlong
		} else if b == 0xed {
			d.hi = 0x9f // higher ones are surrogates
		}
	default:
		d.need, d.u = 3, rune(b&0x07)
		if b == 0xf0 {
			d.lo = 0x90
		} else if b == 0xf4 {
			d.hi = 0x8f // higher ones are beyond U+10FFFF
		}
	}
	return 0, false, false
}
