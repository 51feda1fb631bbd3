package ptyservice

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestInvalidBytesBecomeReplacementCharacters(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.OnWrite(func([]byte) {
			sh.begin("x")
			for _, piece := range []string{"a\xff", "b\xe2", "\x82", "\xac", "\xc3", "(\r\n"} {
				sh.Emit(piece)
				time.Sleep(time.Millisecond)
			}
			sh.prompt(0)
		})
		got, err := r.send(s, "x")
		if want := "a\ufffdb€\ufffd("; err != nil || got.Viewport.text() != want {
			r.t.Errorf("got %q, error %v; want %q", got.Viewport.text(), err, want)
		}
	})
}

func TestPageBounds(t *testing.T) {
	bubble(t, func(r *rig) {
		s, _ := r.open("")
		for _, q := range []ReadRequest{
			{}, {Count: -1}, {Count: MaxCount + 1}, {Offset: -1, Count: 1}, {From: -1, Count: 1}, {From: 1, Offset: 1, Count: 1},
		} {
			if _, err := s.Read(q); !errors.Is(err, ErrInvalid) {
				r.t.Errorf("%+v: %v, want ErrInvalid", q, err)
			}
		}
		if p, err := s.Read(ReadRequest{Offset: 1 << 40, Count: MaxCount}); err != nil || p.Text != "" || p.Begin != 1<<40 || p.End != 1<<40 {
			r.t.Errorf("beyond the oldest: %+v, %v", p, err)
		}
	})
}

// A page that is cut to maxReadBytes keeps what is nearest to where it begins,
// and the rest is read by going on from there.
func TestPageIsCutToMaxReadBytes(t *testing.T) {
	bubble(t, func(r *rig) {
		r.cfg.MaxReadBytes = 64
		s, sh := r.open("")
		var want []string
		sh.Emit("\r\n")
		for i := range 40 {
			want = append(want, strings.Repeat("é", i%7+1)+string(rune('a'+i%26)))
			sh.Emit(want[i] + "\r\n")
		}
		synctest.Wait()
		var back []string
		for offset := 1; len(back) < len(want); { // the last line is where the cursor is
			p, err := s.Read(ReadRequest{Offset: offset, Count: len(want) - len(back)})
			if err != nil || len(p.Text) > 64 || p.Begin != offset || p.End <= p.Begin || p.Truncated != (p.End < len(want)+1) {
				r.t.Fatalf("offset %d: %+v, %v", offset, p, err)
			}
			back = append(strings.Split(p.Text, "\n"), back...)
			offset = p.End
		}
		if !slices.Equal(back, want) {
			r.t.Errorf("backwards: %q, want %q", back, want)
		}
		var forth []string
		for from := int64(2); len(forth) < len(want); {
			p, err := s.Read(ReadRequest{From: from, Count: len(want) - len(forth)})
			if err != nil || len(p.Text) > 64 || p.First != from {
				r.t.Fatalf("from %d: %+v, %v", from, p, err)
			}
			lines := strings.Split(p.Text, "\n")
			forth = append(forth, lines...)
			from += int64(len(lines))
		}
		if !slices.Equal(forth, want) {
			r.t.Errorf("forwards: %q, want %q", forth, want)
		}
	})
}

func TestTruncatedIsOfOneCall(t *testing.T) {
	bubble(t, func(r *rig) {
		r.cfg.MaxReadBytes = 64
		s, sh := r.open("")
		sh.commands(func(line string) (string, int, bool) {
			if line == "long" {
				return strings.Repeat("0123456789\r\n", 100), 0, true
			}
			return echo(line)
		})
		if got, err := r.send(s, "long"); err != nil || got.Viewport.Omitted == 0 || got.Viewport.Len() > 64 {
			r.t.Errorf("got %d bytes, %d omitted, error %v", got.Viewport.Len(), got.Viewport.Omitted, err)
		}
		if got, err := r.send(s, "short"); err != nil || got.Viewport.Omitted > 0 || got.Viewport.text() != "short" {
			r.t.Errorf("the next: %q, %d omitted, error %v", got.Viewport.text(), got.Viewport.Omitted, err)
		}
		if p, err := s.Read(ReadRequest{Count: 1}); err != nil || p.Truncated {
			r.t.Errorf("a page: %+v, %v", p, err)
		}
	})
}
