package ptyservice

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/ptykeep/ptykeep/ptyservice/screen"
)

func lineOf(n int64, text string) screen.Line { return screen.Line{Number: n, Text: []byte(text)} }

func TestCollectorKeepsHeadAndTailAndCounts(t *testing.T) {
	for _, limit := range []int{1, 2, 3, 7, 10, 64, 1000, 100000} {
		c := newCollector(screen.Pos{Line: 1}, limit, nil)
		var all []string
		for i := range 3000 {
			text := fmt.Sprintf("ligne é %d", i)
			all = append(all, text)
			c.add(lineOf(int64(i+1), text))
		}
		whole := strings.Join(all, "\n")
		e := c.excerpt()
		if !strings.HasPrefix(whole, e.Head) || !strings.HasSuffix(whole, e.Tail) {
			t.Fatalf("limit %d: head %q or tail %q is not of the text", limit, e.Head, e.Tail)
		}
		if got := int64(e.Len()) + e.Omitted; got != int64(len(whole)) {
			t.Errorf("limit %d: %d bytes and %d omitted, want %d in all", limit, e.Len(), e.Omitted, len(whole))
		}
		if e.Len() > limit || limit < len(whole) && e.Len() < limit-2*utf8.UTFMax {
			t.Errorf("limit %d: %d bytes are kept", limit, e.Len())
		}
		if !utf8.ValidString(e.Head) || !utf8.ValidString(e.Tail) {
			t.Errorf("limit %d: cut inside a character", limit)
		}
	}
}

func TestFitWidensTheGap(t *testing.T) {
	for _, whole := range []string{strings.Repeat("é", 50), "abc", ""} {
		for limit := range 120 {
			e := Excerpt{Head: whole, FirstLine: 1}.Fit(limit)
			again := e.Fit(limit / 2)
			for _, x := range []Excerpt{e, again} {
				if int64(x.Len())+x.Omitted != int64(len(whole)) || !strings.HasPrefix(whole, x.Head) || !strings.HasSuffix(whole, x.Tail) || !utf8.ValidString(x.Head+x.Tail) {
					t.Fatalf("%q at %d: %+v", whole, limit, x)
				}
			}
			if e.Len() > limit || again.Len() > limit/2 {
				t.Fatalf("%q at %d: %d and %d bytes are left", whole, limit, e.Len(), again.Len())
			}
		}
	}
}

func TestEchoIsRecognised(t *testing.T) {
	for _, test := range []struct {
		text, typed, rest string
		echoed            bool
	}{
		{"x+1", "x+1", "", true},
		{">>> x+1", "x+1", ">>>", true},
		{"...     return 1", "    return 1", "...", true},
		{"value x+1", "x+1", "value", true}, // looks like a prompt; the line was typed
		{"ax+1", "x+1", "ax+1", false},
		{"other", "x+1", "other", false},
		{"x+1", "x+1  ", "", true},
		{"x       y", "x\ty", "", true},
	} {
		rest, echoed := withoutEcho([]byte(test.text), test.typed)
		if string(rest) != test.rest || echoed != test.echoed {
			t.Errorf("%q after typing %q: %q, %v", test.text, test.typed, rest, echoed)
		}
	}
}

func TestPages(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		for i := 1; i <= 100; i++ {
			sh.Emit(fmt.Sprintf("\r\nl%d", i))
		}
		synctest.Wait()
		for _, test := range []struct {
			r          ReadRequest
			text       string
			begin, end int
		}{
			{ReadRequest{Count: 2}, "l99\nl100", 0, 2},
			{ReadRequest{Offset: 2, Count: 2}, "l97\nl98", 2, 4},
			{ReadRequest{Offset: 99, Count: 500}, "$\nl1", 99, 101},
			{ReadRequest{Offset: 101, Count: 5}, "", 101, 101},
			{ReadRequest{Offset: 5000, Count: 5}, "", 5000, 5000},
			{ReadRequest{From: 2, Count: 2}, "l1\nl2", 98, 100},
			{ReadRequest{From: 101, Count: 9}, "l100", 0, 1},
			{ReadRequest{From: 102, Count: 9}, "", 0, 0},
		} {
			p, err := s.Read(test.r)
			if err != nil || p.Text != test.text || p.Begin != test.begin || p.End != test.end || p.Total != 101 || p.Truncated {
				r.t.Errorf("%+v: %+v, error %v; want %q, %d-%d", test.r, p, err, test.text, test.begin, test.end)
			}
		}
	})
}

func TestEnviron(t *testing.T) {
	base := []string{
		"HOME=/h", "PATH=/bin", "OPENAI_API_KEY=k", "my_secret=s", "GH_TOKEN=t", "PGPASSWORD=p", "PGPASS=p", "AWS_CREDENTIALS=c",
		"GIT_PAT=p", "PROXY_AUTH=a", "AUTHOR=me", "COMPASS=n", "PTYKEEP_SHELL=x", "TMUX=1", "LINES=3", "TERM_PROGRAM=v", "VTE_VERSION=1", "TERM=dumb",
	}
	c := DefaultConfig()
	c.EnvPassthrough = []string{"GH_TOKEN"}
	c.EnvSet = map[string]string{"EDITOR": "true"}
	env, withheld := environ(base, c, map[string]string{"API_KEY": "explicit", "PAGER": "less"}, "tag")
	want := []string{"API_KEY=explicit", "AUTHOR=me", "EDITOR=true", "GH_TOKEN=t", "GIT_PAGER=cat", "HOME=/h", "PAGER=less", "PATH=/bin", "PTYKEEP_SESSION=tag"}
	got := slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		return strings.HasPrefix(kv, "TERM=") || strings.HasPrefix(kv, "LANG=") // as this machine has them
	})
	if !slices.Equal(got, want) {
		t.Errorf("environment %q, want %q", got, want)
	}
	wantHeld := []string{"AWS_CREDENTIALS", "COMPASS", "GIT_PAT", "OPENAI_API_KEY", "PGPASS", "PGPASSWORD", "PROXY_AUTH", "my_secret"}
	if !slices.Equal(withheld, wantHeld) {
		t.Errorf("withheld %q, want %q", withheld, wantHeld)
	}
	if slices.Contains(env, "TERM=dumb") {
		t.Error("the server's own TERM went to the child")
	}
}
