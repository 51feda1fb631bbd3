//go:build linux || darwin

package local

import (
	"strings"
	"testing"
)

// Each line may take marks away, but what comes after must be right.
func TestZshHostileSettings(t *testing.T) {
	for _, c := range []struct{ name, line string }{
		{"PS1", `PS1='$ '`},
		{"two-line PS1", "PS1=$'\\e]0;t\\a\\n%F{green}u@h%f:%~\\n> '"},
		{"RPROMPT", `RPROMPT=right`},
		{"precmd added in front", `precmd_functions=(false $precmd_functions)`},
		{"preexec added", `f() { print pre; }; preexec_functions+=(f)`},
		{"precmd function", `precmd() { false; }`},
		{"line-init replaced", `li() { zle -M x; zle -M ""; }; zle -N zle-line-init li`},
		{"line-init hook", `autoload -Uz add-zle-hook-widget; li() { N+=x }; add-zle-hook-widget line-init li`},
		{"line-init chain", `li() { zle old }; zle -A zle-line-init old; zle -N zle-line-init li`},
		{"strict", `setopt err_exit no_unset pipe_fail`},
		{"err_return", `setopt err_return no_unset`},
		{"ksh options", `setopt ksh_arrays sh_word_split no_clobber glob_subst`},
		{"sh emulation", `emulate sh`},
		{"xtrace", `exec 9>/dev/null; setopt xtrace; unsetopt xtrace`},
		{"vi", `bindkey -v`},
		{"allexport", `setopt all_export`},
		{"IFS", `IFS=_p`},
		{"noglob", `setopt no_glob null_glob`},
		{"prompt options", `setopt prompt_subst no_prompt_percent`},
		{"no multios", `unsetopt multios`},
		{"print function", `printf() { : }; alias print=false`},
		{"trap", `TRAPZERR() { : }; TRAPDEBUG() { : }`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := openShell(t, shellOptions{}, "zsh")
			// What was appended after our C prints once before it moves.
			s.run(c.line)
			s.check("echo ok", 0, "ok\n")
			s.check("false || (exit 5) || echo no", 0, "no\n")
			if c.name == "strict" {
				return
			}
			if r := s.run("(exit 3)"); r.status != 3 {
				t.Errorf("got %+v", r)
			}
			if r := s.run("cd /usr"); r.cwd != "/usr" {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestZshOutputElsewhere(t *testing.T) {
	s := openShell(t, shellOptions{}, "zsh")
	s.run("exec >/dev/null")
	if r := s.run("echo no; (exit 3)"); r.status != 3 || r.output != "" {
		t.Errorf("got %+v", r)
	}
	s.run("exec >/dev/tty")
	s.check("echo ok", 0, "ok\n")
}

func TestZshHooksTakenAway(t *testing.T) {
	s := openShell(t, shellOptions{}, "zsh")
	s.send("precmd_functions=(false)\r")
	s.wait("B without D", func() bool { return len(s.marks) > 2 && s.marks[len(s.marks)-1].kind == 'B' })
	s.send("echo absent\r")
	s.wait("next B", func() bool {
		n := len(s.marks)
		return strings.Contains(s.marks[n-1].before, "% ") && kinds(s.marks, 'B') == 3 ||
			strings.Contains(s.marks[n-1].before, "# ") && kinds(s.marks, 'B') == 3
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := kinds(s.marks, 'D'); n != 1 {
		t.Errorf("got %d D marks, want 1: %+v", n, s.marks)
	}
}

func TestZshXtrace(t *testing.T) {
	s := openShell(t, shellOptions{}, "zsh")
	s.run("PS4='+ '; setopt xtrace")
	s.check("echo ok", 0, "+ echo ok\nok\n")
}

// The user's widget runs once a line, ours too, whoever came first.
func TestZshLineInitIsShared(t *testing.T) {
	for _, rc := range []string{
		"li() { N+=x }; zle -N zle-line-init li",
		"autoload -Uz add-zle-hook-widget; li() { N+=x }; add-zle-hook-widget line-init li",
	} {
		s := openShell(t, shellOptions{files: map[string]string{".zshrc": rc}}, "zsh")
		s.check("echo $N", 0, "x\n")
		s.check("echo $N", 0, "xx\n")
		s.run("add-zle-hook-widget line-init f 2>/dev/null; f() { N+=y }")
		s.run("N=")
		from := s.count()
		r := s.run("echo ${N//y}")
		s.mu.Lock()
		n := kinds(s.marks[from:], 'B')
		s.mu.Unlock()
		if r.output != "x\n" || n != 1 {
			t.Errorf("%s: got %+v, %d B marks", rc, r, n)
		}
	}
}

func TestZshDirectory(t *testing.T) {
	s := openShell(t, shellOptions{}, "zsh")
	for _, c := range []struct{ line, cwd string }{
		{"mkdir -p ~/'a b;c$d`e\\f!\u00e9%' && cd ~/a*", s.home + "/a b;c$d`e\\f!\u00e9%"},
		{"mkdir ~/$'x\\ay' && cd ~/x*", ""},
		{"cd /", "/"},
	} {
		if r := s.run(c.line); r.cwd != c.cwd || r.status != 0 {
			t.Errorf("%q: got %+v, want cwd %q", c.line, r, c.cwd)
		}
	}
}
