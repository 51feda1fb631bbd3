package main

import (
	"os"
	"path/filepath"
	"testing"
)

// lostMarks are ways in which a shell comes to draw none of our marks, or only
// some of them.
var lostMarks = []struct {
	shell, text string
	inner       string // the shell that reads then, "" for the same
	nested      bool   // it is another process
}{
	{shell: "bash", text: "unset PROMPT_COMMAND; PS1='> '"},
	{shell: "bash", text: "unset PROMPT_COMMAND; PS1='> ' PS0="},
	{shell: "bash", text: "PROMPT_COMMAND= PS1='$ ' PS0="},
	{shell: "bash", text: `PROMPT_COMMAND='PS1="> " PS0='`},
	{shell: "bash", text: "readonly PROMPT_COMMAND PS1 PS0"},
	{shell: "bash", text: "unset __ptykeep_nonce"},
	{shell: "bash", text: "unset -f __ptykeep_end __ptykeep_prompt; PS1='> '"},
	{shell: "bash", text: "shopt -u promptvars"},
	{shell: "bash", text: "set +o emacs"},
	{shell: "bash", text: "trap false DEBUG"},
	{shell: "bash", text: "unset PWD"},
	{shell: "bash", text: "exec 2>/dev/null"},
	{shell: "bash", text: "exec bash --norc", inner: "bash"},
	{shell: "bash", text: "export PS1 PS0; exec bash --norc --posix", inner: "bash"},
	{shell: "bash", text: "exec env -i bash --norc", inner: "bash"},
	{shell: "bash", text: "exec zsh -f", inner: "zsh"},
	{shell: "bash", text: "exec fish --no-config", inner: "fish"},
	{shell: "bash", text: "bash --norc", inner: "bash", nested: true},
	{shell: "bash", text: "export PS1 PS0 PROMPT_COMMAND; bash --norc", inner: "bash", nested: true},
	{shell: "bash", text: "env -i bash --norc", inner: "bash", nested: true},
	{shell: "bash", text: "zsh -f", inner: "zsh", nested: true},
	{shell: "bash", text: "fish --no-config", inner: "fish", nested: true},
	{shell: "bash", text: "sh", inner: "sh", nested: true},
	{shell: "bash", text: "su -s /bin/bash nobody", inner: "su", nested: true},
	{shell: "zsh", text: "precmd_functions=()"},
	{shell: "zsh", text: "preexec_functions=()"},
	{shell: "zsh", text: "precmd_functions=() preexec_functions=()"},
	{shell: "zsh", text: "unfunction __ptykeep_precmd"},
	{shell: "zsh", text: "unset __ptykeep_nonce"},
	{shell: "zsh", text: "TTY=/dev/null"},
	{shell: "zsh", text: "PS1='> ' PS2="},
	{shell: "zsh", text: "emulate sh"},
	{shell: "zsh", text: "unsetopt zle"},
	{shell: "zsh", text: "exec zsh -f", inner: "zsh"},
	{shell: "zsh", text: "exec bash --norc", inner: "bash"},
	{shell: "zsh", text: "zsh -f", inner: "zsh", nested: true},
	{shell: "zsh", text: "env -i zsh -f", inner: "zsh", nested: true},
	{shell: "zsh", text: "bash --norc", inner: "bash", nested: true},
	{shell: "zsh", text: "su -s /bin/bash nobody", inner: "su", nested: true},
	{shell: "fish", text: "functions -e __ptykeep_postexec __ptykeep_prompt"},
	{shell: "fish", text: "functions -e __ptykeep_postexec"},
	{shell: "fish", text: "functions -e __ptykeep_preexec"},
	{shell: "fish", text: "set -e __ptykeep_nonce"},
	{shell: "fish", text: "function fish_prompt; false; end"},
	{shell: "fish", text: "exec fish --no-config", inner: "fish"},
	{shell: "fish", text: "exec bash --norc", inner: "bash"},
	{shell: "fish", text: "fish --no-config", inner: "fish", nested: true},
	{shell: "fish", text: "bash --norc", inner: "bash", nested: true},
	{shell: "fish", text: "su -s /bin/bash nobody", inner: "su", nested: true},
}

// TestExitAndDirectoryWithoutMarks loses the marks. What is told then has to be
// right all the same: an exit code may be absent, a directory is that of the
// session's own program.
func TestExitAndDirectoryWithoutMarks(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			s, root, _ := startShell(t, shell, map[string]string{".zshrc": ""})
			if err := os.Mkdir(filepath.Join(root, "below"), 0o755); err != nil {
				t.Fatal(err)
			}
			for _, l := range lostMarks {
				if l.shell != shell {
					continue
				}
				t.Run(l.text, func(t *testing.T) {
					if l.inner != "" {
						need(t, l.inner)
					}
					if l.inner == "su" && os.Getuid() != 0 {
						t.Skip("needs root, whom su asks nothing")
					}
					loseMarks(t, s, root, l.text, l.nested)
				})
			}
		})
	}
}

func loseMarks(t *testing.T, s *stdioServer, root, text string, nested bool) {
	id := s.must(t, "terminal_open", nil).facts["sessionId"]
	send := func(text string) reply {
		r := s.must(t, "terminal_send", map[string]any{"sessionId": id, "text": text})
		if r.facts["waitReason"] != "stdin_read" && r.facts["waitReason"] != "inferred_idle" {
			t.Fatalf("%q: %s", text, r.text)
		}
		return r
	}
	send("sh -c 'exit 77'") // what a stale status would be
	send(text)
	for _, c := range []struct {
		text string
		exit float64
		dir  string
	}{
		{"false", 1, root}, {"sh -c 'exit 7'", 7, root}, {"true", 0, root}, {"cd below", 0, filepath.Join(root, "below")},
		{"sh -c 'exit 3'", 3, filepath.Join(root, "below")}, {"nosuch", 127, filepath.Join(root, "below")},
		{"cd nowhere", noExit, filepath.Join(root, "below")}, {"", noExit, filepath.Join(root, "below")}, {"cd ..", 0, root},
	} {
		r := send(c.text)
		exit, told := r.facts["exitCode"].(float64)
		right := exit == c.exit || c.exit < 0 && exit > 0 // shells differ in how cd fails
		if told && (!right || c.text == "") {
			t.Errorf("%q: exit %v, want %v or none", c.text, exit, c.exit)
			break
		}
		// A nested shell's directory is its own affair.
		if dir, told := r.facts["cwd"]; told && dir != c.dir && (!nested || dir != root) {
			t.Errorf("%q: cwd %v, want %v or none", c.text, dir, c.dir)
			break
		}
	}
	if nested { // and all is there again
		for _, c := range []command{
			{text: "exit 6", exit: 6, words: anything, dir: root}, {text: "false", exit: 1, dir: root}, {text: "cd below", dir: filepath.Join(root, "below")},
		} {
			if wrong := c.run(t, s, id); wrong != "" {
				t.Error(wrong)
			}
		}
	}
	s.must(t, "terminal_close", map[string]any{"sessionId": id})
}
