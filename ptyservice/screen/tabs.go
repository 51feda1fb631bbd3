package screen

// defaultTabs returns tab stops for cols columns: those of old, and beyond
// them one every eight columns.
func defaultTabs(old []bool, cols int) []bool {
	tabs := make([]bool, cols)
	for x := copy(tabs, old); x < cols; x++ {
		tabs[x] = x%8 == 0 && x > 0
	}
	return tabs
}

// tab moves the cursor n tab stops forward, or back if n is negative. Behind
// the last column a tab changes nothing, not even the pending wrap (xterm).
func (s *Screen) tab(n int) {
	c := &s.g.cur
	for ; n > 0 && c.x < s.g.cols-1; n-- {
		c.pending = false
		for c.x++; c.x < s.g.cols-1 && !s.tabs[c.x]; c.x++ {
		}
	}
	for ; n < 0 && c.x > 0; n++ {
		c.pending = false
		for c.x--; c.x > 0 && !s.tabs[c.x]; c.x-- {
		}
	}
}
