package ptyservice

import (
	"bytes"
	"fmt"
	"regexp"

	"github.com/ptykeep/ptykeep/ptyservice/screen"
)

// ReadRequest is one page of what a terminal has shown.
type ReadRequest struct {
	Offset int   // lines skipped, counted from the newest
	From   int64 // instead: number of the first line, 0 = not given
	Count  int
	Search *regexp.Regexp // instead of a page: the newest Count lines that match
}

// Page is part of the scrollback, oldest line first.
type Page struct {
	Text       string
	Total      int   // lines retained
	Begin, End int   // counted from the newest, End exclusive; the next older page has Offset = End
	First      int64 // number of the oldest line of the page, 0 when it is empty
	Matches    int   // lines found, of a search
	Shown      int   // of them in Text
	Truncated  bool  // lines were lost to retention, or cut to fit
}

// MaxCount is the most lines of a page.
const MaxCount = 10000

// Read returns a page. It types nothing, and works while a send is active and
// after exit.
func (s *Session) Read(r ReadRequest) (Page, error) {
	switch {
	case r.Count < 1 || r.Count > MaxCount:
		return Page{}, fmt.Errorf("%w: count: %d is not in 1-%d", ErrInvalid, r.Count, MaxCount)
	case r.Offset < 0:
		return Page{}, fmt.Errorf("%w: offset: %d is negative", ErrInvalid, r.Offset)
	case r.From < 0:
		return Page{}, fmt.Errorf("%w: from: %d is negative", ErrInvalid, r.From)
	case r.From > 0 && r.Offset > 0:
		return Page{}, fmt.Errorf("%w: offset: not with from", ErrInvalid)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Search != nil {
		return s.search(r), nil
	}
	first, last := s.screen.First(), s.screen.Last()
	var from, to int64
	lost := false
	if r.From > 0 {
		from, to = max(r.From, first), max(r.From, first)+int64(r.Count)-1
		lost = r.From < first
	} else {
		to = last - int64(r.Offset)
		from = max(to-int64(r.Count)+1, first)
		lost = from == first && first > 1 && to-int64(r.Count)+1 < first
	}
	to = min(to, last)
	p := Page{Total: int(last - first + 1), First: from, Truncated: lost}
	if to < from { // beyond the oldest, or from beyond the newest
		p.Begin, p.End, p.First = r.Offset, r.Offset, 0
		if r.From > 0 {
			p.Begin, p.End = 0, 0
		}
		return p, nil
	}
	p.Begin, p.End = int(last-to), int(last-from+1)
	s.fill(&p, from, to, r.From > 0)
	return p, nil
}

// fill renders lines from-to into p, at most MaxReadBytes: forward reading
// keeps the oldest of them, backward reading the newest.
func (s *Session) fill(p *Page, from, to int64, forward bool) {
	limit := s.service.cfg.MaxReadBytes
	last := s.screen.Last()
	var text []byte
	var ends []int // of each line in text, its line end included
	at := from
	s.screen.Lines(from, to, func(l screen.Line) bool {
		if forward && len(text)+len(l.Text) > limit && len(ends) > 0 {
			p.Truncated = true
			p.Begin = int(last - at + 1)
			return false
		}
		text = append(text, l.Text...)
		if !l.Cont {
			text = append(text, '\n')
		}
		ends = append(ends, len(text))
		at = l.Number + 1
		return true
	})
	cut := 0
	for i, end := range ends {
		if forward || len(text)-cut-1 <= limit || i == len(ends)-1 {
			break
		}
		cut, p.Truncated = end, true
		p.First = from + int64(i) + 1
		p.End = int(last - p.First + 1)
	}
	p.Text = string(bytes.TrimSuffix(text[cut:], []byte{'\n'}))
	p.bound(limit)
}

// bound cuts a line that is longer than a page may be.
func (p *Page) bound(limit int) {
	if len(p.Text) > limit {
		p.Text, p.Truncated = trimPartial(p.Text[:limit]), true
	}
}

// search returns the newest r.Count matching lines as "number: line".
// s.mu is held.
func (s *Session) search(r ReadRequest) Page {
	first, last := s.screen.First(), s.screen.Last()
	p := Page{Total: int(last - first + 1), Truncated: first > 1}
	var found [][]byte
	s.screen.Lines(first, last, func(l screen.Line) bool {
		if r.Search.Match(l.Text) {
			p.Matches++
			found = append(found, fmt.Appendf(nil, "%d: %s", l.Number, l.Text))
			if len(found) > r.Count {
				found = found[1:]
				p.Truncated = true
			}
		}
		return true
	})
	size := 0
	for i := len(found) - 1; i >= 0; i-- {
		if size += len(found[i]) + 1; size > s.service.cfg.MaxReadBytes && i < len(found)-1 {
			found, p.Truncated = found[i+1:], true
			break
		}
	}
	p.Shown = len(found)
	p.Text = string(bytes.Join(found, []byte{'\n'}))
	p.bound(s.service.cfg.MaxReadBytes)
	return p
}

// Screen returns what the terminal shows now.
func (s *Session) Screen() screen.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.screen.Snapshot()
}
