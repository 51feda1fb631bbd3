//go:build linux || darwin

package local

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// testShells are the shells we know, as they are started in the tests, with
// the lines that differ.
var testShells = []struct {
	name string
	argv []string
	fish bool
	c    bool // it tells when a command starts
}{
	{name: "bash", argv: []string{"bash"}, c: true},
	{name: "bash login", argv: []string{"bash", "-l"}, c: true},
	{name: "bash norc", argv: []string{"bash", "--norc"}, c: true},
	{name: "bash posix", argv: []string{"bash", "--posix"}, c: true},
	{name: "zsh", argv: []string{"zsh"}, c: true},
	{name: "zsh login", argv: []string{"zsh", "-l"}, c: true},
	{name: "zsh norc", argv: []string{"zsh", "-f"}, c: true},
	{name: "fish", argv: []string{"fish"}, fish: true, c: true},
	{name: "fish noconfig", argv: []string{"fish", "--no-config"}, fish: true, c: true},
	{name: "sh", argv: []string{"sh"}},
	{name: "dash", argv: []string{"dash"}},
	{name: "dash login", argv: []string{"dash", "-l"}},
	{name: "mksh", argv: []string{"mksh"}},
	{name: "ksh93", argv: []string{"ksh93"}},
	{name: "busybox", argv: []string{"busybox", "sh"}},
}

func TestShellStatusAndOutput(t *testing.T) {
	for _, sh := range testShells {
		t.Run(sh.name, func(t *testing.T) {
			t.Parallel()
			s := openShell(t, shellOptions{}, sh.argv...)
			function, loop := "f() { echo in f; return 9; }; f", "for i in 1 2; do echo $i; done"
			if sh.fish {
				function, loop = "function f; echo in f; return 9; end; f", "for i in 1 2; echo $i; end"
			}
			for _, c := range []struct {
				line   string
				status int
				output string
			}{
				{"true", 0, ""},
				{"false", 1, ""},
				{"sh -c 'exit 7'", 7, ""},
				{"printf yes", 0, "yes"},
				{"printf 'a\\nb\\n'", 0, "a\nb\n"},
				{"echo one; false | true", 0, "one\n"},
				{function, 9, "in f\n"},
				{"echo a!b '!!' '!$'", 0, "a!b !! !$\n"},
				{loop, 0, "1\n2\n"},
				{"cat /nosuchfile 2>/dev/null", 1, ""},
				{"sh -c 'kill -9 $$' 2>/dev/null; true", 0, ""},
			} {
				r := s.run(c.line)
				if strings.Contains(c.line, "kill") {
					r.output = "" // shells tell of it in their own words
				}
				if r.status != c.status || r.output != c.output || (r.commands > 0) != sh.c {
					t.Errorf("%q: got %+v, want status %d, output %q", c.line, r, c.status, c.output)
				}
			}
		})
	}
}

func TestShellManyCommands(t *testing.T) {
	count := 100
	if os.Getenv("PTYKEEP_TEST_LONG") == "1" {
		count = 2000
	}
	for _, sh := range testShells {
		t.Run(sh.name, func(t *testing.T) {
			t.Parallel()
			s := openShell(t, shellOptions{}, sh.argv...)
			seed := rand.Uint64()
			rnd := rand.New(rand.NewPCG(seed, 1))
			cwd := s.home
			for range count {
				line, status, output := "true", 0, ""
				switch rnd.IntN(5) {
				case 0:
					status = rnd.IntN(256)
					line = fmt.Sprintf("sh -c 'exit %d'", status)
				case 1:
					output = strings.Repeat("x", rnd.IntN(60))
					line = "printf %s '" + output + "'"
				case 2:
					cwd = []string{"/", "/usr", "/usr/lib", s.home, "/tmp"}[rnd.IntN(5)]
					line = "cd " + cwd
				case 3:
					n := rnd.IntN(2000)
					line = fmt.Sprintf("seq %d", n)
					for i := range n {
						output += fmt.Sprintln(i + 1)
					}
				case 4:
					line, status = "false", 1
				}
				r := s.run(line)
				if r.status != status || r.output != output || r.cwd != cwd {
					t.Fatalf("seed %d: %q: got %+v, want status %d, cwd %q, output %q", seed, line, r, status, cwd, output)
				}
			}
		})
	}
}

func TestShellNonceStaysSecret(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("no /proc")
	}
	for _, sh := range testShells {
		t.Run(sh.name, func(t *testing.T) {
			t.Parallel()
			// As it comes when ptykeep itself was started by an exporting shell.
			s := openShell(t, shellOptions{env: []string{"__ptykeep_nonce=old", "PS1=$ "}}, sh.argv...)
			if sh.fish {
				s.run("set -gx PS1 x")
			} else {
				s.run("export PS1; PS1=\"$PS1\"; set -a; cd /")
			}
			for _, line := range []string{
				"env | cat", "cat /proc/self/environ", "cat /proc/self/cmdline",
				"cd / && sh -c 'env'", "ps -ef 2>/dev/null || true",
			} {
				from := s.count()
				s.send(line + "\r")
				s.prompt(from)
				s.mu.Lock()
				for _, m := range s.marks[from:] {
					if strings.Contains(m.before, testNonce) {
						t.Errorf("%q shows the nonce: %q", line, m.before)
					}
				}
				s.mu.Unlock()
			}
			for _, file := range []string{"environ", "cmdline"} {
				data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", s.cmd.Process.Pid, file))
				if err != nil || bytes.Contains(data, []byte(testNonce)) {
					t.Errorf("%s of the shell: %q, %v", file, data, err)
				}
			}
		})
	}
}

func TestShellFilesArePrivate(t *testing.T) {
	for _, sh := range testShells {
		t.Run(sh.name, func(t *testing.T) {
			s := openShell(t, shellOptions{keep: true}, sh.argv...)
			entries, err := os.ReadDir(s.dir)
			if err != nil || len(entries) == 0 {
				t.Fatal(entries, err)
			}
			for _, e := range entries {
				if info, err := e.Info(); err != nil || info.Mode() != 0o600 {
					t.Errorf("%s: mode %v, %v", e.Name(), info.Mode(), err)
				}
			}
			// ENV and ZDOTDIR have their own values again, which is none.
			r := s.run("env")
			for _, name := range []string{"ENV=", "ZDOTDIR=", "POSIXLY_CORRECT=", "__ptykeep", s.dir} {
				if strings.Contains(r.output, name) {
					t.Errorf("environment has %q: %q", name, r.output)
				}
			}
		})
	}
}
