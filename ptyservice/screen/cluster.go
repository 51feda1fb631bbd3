package screen

import "unicode/utf8"

const (
	// maxCluster is the longest text of one cell in bytes: a family emoji
	// takes 25, four stacked marks 12; what is longer is an attack.
	maxCluster = 64
	// maxClusters bounds the table (a guess: a page of Thai has about 300).
	maxClusters = 4096
)

// clusters interns the texts of cells that hold more than one rune.
type clusters struct {
	index map[string]uint32
	texts []string
	pause int // new ones to refuse before the next sweep
}

// intern returns the cell character for the text, or false if the table is
// full.
func (k *clusters) intern(text []byte) (uint32, bool) {
	if id, ok := k.index[string(text)]; ok {
		return id, true
	}
	if len(k.texts) >= maxClusters {
		return 0, false
	}
	if k.index == nil {
		k.index = make(map[string]uint32)
	}
	t := string(text)
	id := chCluster | uint32(len(k.texts))
	k.texts = append(k.texts, t)
	k.index[t] = id
	return id, true
}

// sweep forgets the clusters that no cell of the grids uses, and renumbers
// the others.
func (k *clusters) sweep(grids ...*grid) {
	old := k.texts
	// Without the pause a screen that needs nearly the whole table would be
	// swept for every other mark.
	*k = clusters{pause: maxClusters / 4}
	for _, g := range grids {
		if g == nil {
			continue
		}
		for _, r := range g.rows {
			for x, c := range r.cells[:r.used] {
				if c.ch&chCluster != 0 {
					r.cells[x].ch, _ = k.intern([]byte(old[c.ch&^chCluster]))
					r.stale = staleAll
				}
			}
		}
	}
}

// combine joins a rune without width to the character before the cursor. At
// column 0, behind a blank that nobody wrote, or where the cell is full there
// is nothing to join it to: it is dropped.
func (s *Screen) combine(u rune) {
	r, x := s.g.row(), s.g.cur.x
	if !s.g.cur.pending {
		x--
	}
	if x >= 0 && r.cells[x].st&stTail != 0 {
		x--
	}
	if x < 0 || r.cells[x].ch == 0 {
		return
	}
	c := &r.cells[x]
	var buf [maxCluster + utf8.UTFMax]byte
	text := utf8.AppendRune(s.appendChar(buf[:0], c.ch), u)
	if len(text) > maxCluster {
		return
	}
	id, ok := s.clusters.intern(text)
	if !ok {
		if s.clusters.pause > 0 {
			s.clusters.pause--
			return
		}
		s.clusters.sweep(s.main, s.alt)
		if id, ok = s.clusters.intern(text); !ok {
			return
		}
	}
	c.ch = id
	r.rich, r.stale = true, staleAll
}

// appendChar appends the text of a written character.
func (s *Screen) appendChar(dst []byte, ch uint32) []byte {
	if ch&chCluster != 0 {
		return append(dst, s.clusters.texts[ch&^chCluster]...)
	}
	return utf8.AppendRune(dst, rune(ch))
}
