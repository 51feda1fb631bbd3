//go:build linux || darwin

package local

import (
	"bytes"
	"strings"
	"testing"
)

// A continuation prompt has a P where the shell can draw one.
func TestShellContinuation(t *testing.T) {
	for _, sh := range testShells {
		t.Run(sh.name, func(t *testing.T) {
			t.Parallel()
			if sh.fish || strings.Contains(sh.name, "ksh") {
				t.Skip("this shell draws no continuation mark")
			}
			s := openShell(t, shellOptions{}, sh.argv...)
			from := s.count()
			for i, line := range []string{"if true", "then echo yes"} {
				s.send(line + "\r")
				s.wait("continuation", func() bool {
					return kinds(s.marks[from:], 'P') == i+1 && s.marks[len(s.marks)-1].kind == 'B'
				})
			}
			s.send("fi\r")
			if r := s.result(from); r.more != 2 || sh.c && (r.output != "yes\n" || r.commands != 1) {
				t.Errorf("got %+v", r)
			}
			s.send("cat <<E\rone\r two\rE\r")
			s.wait("heredoc", func() bool { return kinds(s.marks[from:], 'P') == 5 })
		})
	}
}

// What has no command gives a D without a C.
func TestShellNoCommandRan(t *testing.T) {
	for _, sh := range testShells {
		t.Run(sh.name, func(t *testing.T) {
			t.Parallel()
			s := openShell(t, shellOptions{}, sh.argv...)
			s.run("cd /usr")
			if r := s.run("sh -c 'exit 4'"); r.status != 4 {
				t.Errorf("got %+v", r)
			}
			if r := s.run(""); r.status != 4 && !(r.status == -1 && strings.HasPrefix(sh.name, "zsh")) || r.commands != 0 {
				t.Errorf("empty line: got %+v", r)
			}
			s.check("true", 0, "")
			// fish says so and goes on editing the line, without a new prompt.
			if !sh.fish {
				if r := s.run("echo )"); r.status == 0 || r.commands != 0 {
					t.Errorf("syntax error: got %+v", r)
				}
			}
			s.check("echo ok", 0, "ok\n")
		})
	}
}

func TestShellInterrupt(t *testing.T) {
	for _, sh := range testShells {
		t.Run(sh.name, func(t *testing.T) {
			t.Parallel()
			s := openShell(t, shellOptions{}, sh.argv...)
			from := s.count()
			// (At its C fish has not given the terminal its modes back yet.)
			s.send("sh -c 'echo ready; exec cat'\r")
			s.wait("start", func() bool { return bytes.Contains(s.tail, []byte("ready\r\n")) })
			s.send("\x03")
			want := 130
			if sh.name == "ksh93" {
				want = 256 + 2 // its way to tell a signal from a status
			}
			if r := s.result(from); r.status != want {
				t.Errorf("got %+v, want status %d", r, want)
			}
			s.check("echo ok", 0, "ok\n")
		})
	}
}

// A shell inside, whatever it inherits, draws no mark with our nonce.
func TestShellNested(t *testing.T) {
	for _, sh := range testShells {
		for _, inner := range []string{"bash", "bash --norc", "dash", "zsh -f", "mksh"} {
			t.Run(sh.name+"/"+inner, func(t *testing.T) {
				t.Parallel()
				lookShell(t, strings.Fields(inner)[0])
				s := openShell(t, shellOptions{}, sh.argv...)
				if !sh.fish {
					s.run("export PS1 PS2")
				}
				from := s.count()
				s.send(inner + "\r")
				s.wait("inner prompt", func() bool {
					after := s.tail
					if sh.c && kinds(s.marks[from:], 'C') == 0 {
						return false
					} else if !sh.c {
						_, after, _ = bytes.Cut(s.tail, []byte("\n"))
					}
					return bytes.ContainsAny(after, "#$%")
				})
				s.send("echo in''side; true\r")
				s.wait("inner shell", func() bool { return bytes.Contains(s.tail, []byte("inside\r\n")) })
				s.mu.Lock()
				if n := kinds(s.marks[from:], 'D') + kinds(s.marks[from:], 'B'); n > 0 {
					t.Errorf("got %d marks from inside: %+v", n, s.marks[from:])
				}
				if bytes.Contains(s.tail, []byte(testNonce)) {
					t.Errorf("inner prompt shows the nonce: %q", s.tail)
				}
				s.mu.Unlock()
				s.send("exit 6\r")
				if r := s.result(from); r.status != 6 {
					t.Errorf("got %+v, want status 6", r)
				}
			})
		}
	}
}

// BenchmarkShellTrue is the time from Enter to the B of the next prompt; plain
// is a bash that only has such a prompt.
func BenchmarkShellTrue(b *testing.B) {
	b.Run("plain", func(b *testing.B) {
		const ps1 = `PS1=\[\e]6973;` + testNonce + `;D;$?;$$;$PWD\a\]$ \[\e]6973;` + testNonce + `;B;$$\a\]`
		s := openShell(b, shellOptions{env: []string{ps1}, plain: true}, "bash", "--norc")
		s.run("true")
		for b.Loop() {
			s.run("true")
		}
	})
	for _, sh := range testShells {
		b.Run(strings.ReplaceAll(sh.name, " ", "-"), func(b *testing.B) {
			s := openShell(b, shellOptions{}, sh.argv...)
			s.run("true")
			for b.Loop() {
				s.run("true")
			}
		})
	}
}
