//go:build linux || darwin

package local

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ptykeep/ptykeep/backend"
)

// What the user's start-up files do must be as without us, history apart.
func TestShellKeepsUserFiles(t *testing.T) {
	const rc = "V=fromrc; alias hey='echo hello'\nf() { echo func; }\nPS1='mine> '\n"
	for _, c := range []struct {
		name  string
		argv  []string
		env   []string
		files map[string]string
		want  map[string]string // line: output
	}{
		{"bash", []string{"bash"}, nil,
			map[string]string{".bashrc": rc + "HISTFILE=~/hist\nset -H\nreturn 3\n"},
			map[string]string{"echo $V; hey; f": "fromrc\nhello\nfunc\n", "echo ${HISTFILE-none}": "none\n",
				"shopt -q login_shell || echo no": "no\n", "echo '!!'": "!!\n"}},
		{"bash --rcfile", []string{"bash", "--rcfile", "my rc"}, nil,
			map[string]string{".bashrc": "V=wrong", "my rc": rc},
			map[string]string{"echo $V; hey; f": "fromrc\nhello\nfunc\n"}},
		{"bash login", []string{"-bash"}, nil,
			map[string]string{".bashrc": "V=wrong", ".bash_profile": rc + "LOGIN=1\nexport ENV=/my/env\n", ".profile": "V=wrong"},
			map[string]string{"echo $V; hey; f": "fromrc\nhello\nfunc\n", "shopt login_shell": "login_shell    \ton\n",
				"echo $LOGIN $ENV ${POSIXLY_CORRECT-no}": "1 /my/env no\n", "set -o | grep posix": "posix          \toff\n"}},
		{"bash login profile", []string{"bash", "--login"}, []string{"ENV=/x"},
			map[string]string{".profile": rc},
			map[string]string{"echo $V; hey; echo $ENV": "fromrc\nhello\n/x\n"}},
		{"bash norc", []string{"bash", "--norc", "-o", "vi"}, nil,
			map[string]string{".bashrc": "V=wrong"},
			map[string]string{"echo ${V-none}; set -o | grep ^vi": "none\nvi             \ton\n"}},
		{"bash strict rc", []string{"bash"}, nil,
			map[string]string{".bashrc": rc + "set -euo pipefail\nfalse\n"},
			map[string]string{"echo $V; hey": "fromrc\nhello\n"}},
		{"bash allexport", []string{"bash", "-a"}, nil,
			map[string]string{".bashrc": rc},
			map[string]string{"env | grep -e ^V= -e ^__ptykeep": "V=fromrc\n"}},
		{"bash readonly", []string{"bash"}, nil,
			map[string]string{".bashrc": rc + "PROMPT_COMMAND=:\nreadonly PROMPT_COMMAND\n"},
			map[string]string{"echo $V": "fromrc\n"}},
		{"bash posix", []string{"bash", "--posix"}, []string{"ENV=$HOME/myenv"},
			map[string]string{".bashrc": "V=wrong", "myenv": rc},
			map[string]string{"echo $V; hey; echo $ENV": "fromrc\nhello\n$HOME/myenv\n"}},
		{"bash caller's HISTFILE", []string{"bash"}, []string{"HISTFILE=/tmp/h 1"},
			map[string]string{".bashrc": rc + "HISTFILE=~/hist\n"},
			map[string]string{"echo $HISTFILE": "/tmp/h 1\n"}},
		{"zsh", []string{"zsh"}, nil,
			map[string]string{".zshenv": "W=fromenv", ".zshrc": rc + "HISTFILE=~/hist\nSAVEHIST=9\nsetopt bang_hist\n", ".zlogin": "V=wrong"},
			map[string]string{"echo $V $W; hey; f": "fromrc fromenv\nhello\nfunc\n", "echo ${HISTFILE-none}": "none\n",
				"echo ${ZDOTDIR-none}": "none\n", "echo '!!'": "!!\n"}},
		{"zsh login", []string{"-zsh"}, nil,
			map[string]string{".zprofile": "P=1", ".zshrc": rc, ".zlogin": "V=$V$P"},
			map[string]string{"echo $V; hey; [[ -o login ]] && echo login": "fromrc1\nhello\nlogin\n"}},
		{"zsh ZDOTDIR", []string{"zsh"}, nil,
			map[string]string{".zshenv": "export ZDOTDIR=$HOME/z", "z/.zshrc": rc, ".zshrc": "V=wrong"},
			map[string]string{"echo $V; echo ${ZDOTDIR##*/}; sh -c 'echo ${ZDOTDIR##*/}'": "fromrc\nz\nz\n"}},
		{"zsh ZDOTDIR from outside", []string{"zsh"}, []string{"ZDOTDIR=/nosuch"},
			map[string]string{".zshrc": "V=wrong"},
			map[string]string{"echo ${V-none} $ZDOTDIR": "none /nosuch\n"}},
		{"zsh norc", []string{"zsh", "-f", "-o", "extendedglob"}, nil,
			map[string]string{".zshenv": "V=wrong", ".zshrc": "V=wrong"},
			map[string]string{"echo ${V-none}; [[ -o rcs ]] || echo norcs; [[ -o extendedglob ]] && echo ext": "none\nnorcs\next\n"}},
		{"zsh hooks replaced", []string{"zsh"}, nil,
			map[string]string{".zshrc": rc + "precmd() { seen=$? }\nprecmd_functions=(); preexec_functions=()\nprecmd_functions+=(p)\np() { }\n" +
				"autoload -Uz add-zsh-hook; add-zsh-hook precmd __ptykeep_setup\n"},
			map[string]string{"echo $V": "fromrc\n", "(exit 4)": ""}},
		{"fish", []string{"fish"}, nil,
			map[string]string{".config/fish/config.fish": "set -g V fromrc\nalias hey 'echo hello'\nfunction fish_greeting; end\nfunction fish_prompt; echo 'mine> '; end\n"},
			map[string]string{"echo $V; hey": "fromrc\nhello\n", "echo [$fish_history]": "[]\n"}},
		{"fish noconfig", []string{"fish", "--no-config"}, nil,
			map[string]string{".config/fish/config.fish": "set -g V wrong"},
			map[string]string{"set -q V; or echo none": "none\n"}},
		{"fish init command", []string{"fish", "-C", "set -g V mine"}, nil,
			nil, map[string]string{"echo $V": "mine\n"}},
		{"dash ENV", []string{"dash"}, []string{"ENV=$HOME/my env"},
			map[string]string{"my env": rc + "set -u\n"},
			map[string]string{"echo $V; hey; f; echo \"$ENV\"": "fromrc\nhello\nfunc\n$HOME/my env\n"}},
		{"dash login", []string{"-dash"}, nil,
			map[string]string{".profile": "export ENV=$HOME/e\nP=1", "e": rc},
			map[string]string{"echo $V$P; hey": "fromrc1\nhello\n"}},
		{"mksh", []string{"mksh"}, nil,
			map[string]string{".mkshrc": rc}, map[string]string{"echo $V; hey": "fromrc\nhello\n"}},
		{"ksh93", []string{"ksh93"}, nil,
			map[string]string{".kshrc": rc}, map[string]string{"echo $V; hey": "fromrc\nhello\n"}},
		{"busybox", []string{"busybox", "ash"}, []string{"ENV=$HOME/e"},
			map[string]string{"e": rc}, map[string]string{"echo $V; hey": "fromrc\nhello\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			// The name that is looked up; integrate takes the dash off itself.
			lookShell(t, strings.TrimPrefix(c.argv[0], "-"))
			s := openShell(t, shellOptions{files: c.files, env: c.env}, c.argv...)
			for line, want := range c.want {
				if r := s.run(line); r.output != want {
					t.Errorf("%q: got %+v, want %q", line, r, want)
				}
			}
			if strings.Contains(c.files[".bashrc"]+c.files[".zshrc"]+c.files[".config/fish/config.fish"], "mine> ") {
				s.run("true")
				if !strings.Contains(s.text(), "mine> ") {
					t.Errorf("the user's prompt is gone: %s", s.text())
				}
			}
			s.send("exit\r")
			_ = s.cmd.Wait() // the status is the last line's
			for _, name := range []string{"hist", ".bash_history", ".sh_history", ".zsh_history", ".local/share/fish/fish_history"} {
				if data, err := os.ReadFile(filepath.Join(s.home, name)); err == nil {
					t.Errorf("history was written to %s: %q", name, data)
				}
			}
		})
	}
}

// Programs and shells that get no prompt must start as they were given.
func TestIntegrateLeavesOthersAlone(t *testing.T) {
	for _, line := range []string{
		"python3", "/bin/cat -", "bash -c true", "bash script", "bash -lc true", "bash --norc script x", "bash --version",
		"bash -r", "bash -p", "bash --unknown", "bash -o vi script", "bash -n",
		"zsh -c true", "zsh script", "zsh -f -c true", "zsh --version", "zsh --emulate sh", "zsh -o vi script", "zsh -is script -c",
		"fish -c true", "fish script", "fish --version", "fish -n",
		"dash -c true", "dash script", "sh -ec true", "sh -- script", "mksh -r", "ksh -p", "ksh93 x",
		"busybox", "busybox ls", "busybox sh -c true", "rbash", "-python3",
	} {
		argv := strings.Fields(line)
		env := []string{"PATH=" + os.Getenv("PATH")}
		if line == "zsh -is script -c" {
			continue // -s: the rest are positional parameters
		}
		dir := t.TempDir()
		gotArgv, gotEnv, err := integrate(backend.Spec{Argv: argv, Env: env, Dir: "/", Nonce: testNonce}, dir)
		if err != nil || !slices.Equal(gotArgv, argv) || !slices.Equal(gotEnv, env) {
			t.Errorf("%q: got %q, %q, %v", line, gotArgv, gotEnv, err)
		}
		if entries, _ := os.ReadDir(dir); len(entries) > 0 {
			t.Errorf("%q: files were written", line)
		}
	}
}

func TestIntegrateArguments(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"bash", "bash --rcfile DIR/bashrc -i"},
		{"/bin/bash -i", "/bin/bash --rcfile DIR/bashrc -i -i"},
		{"bash --noediting -o vi +O checkwinsize", "bash --rcfile DIR/bashrc --noediting -i -o vi +O checkwinsize"},
		{"bash -il", "bash --posix --login -i -i"},
		{"-bash", "bash --posix --login -i"},
		{"bash --norc --noprofile", "bash --posix -i"},
		{"bash --posix", "bash --posix -i"},
		{"bash -s one two", "bash --rcfile DIR/bashrc -i -s -- one two"},
		{"zsh -l", "zsh -l"},
		{"zsh -fi", "zsh -i"},
		{"zsh -o no_rcs -o vi", "zsh -o vi"},
		{"zsh --no-rcs +f", "zsh +f"},
		{"-zsh", "zsh -l"},
		{"fish -l -C true", "fish --init-command source\x00'DIR/config.fish' -l -C true"},
		{"dash -l", "dash -i"},
		{"-sh", "sh -i"},
		{"busybox ash -l -o vi", "busybox ash -i -o vi"},
	} {
		dir := t.TempDir()
		argv, _, err := integrate(backend.Spec{Argv: strings.Fields(c.line), Dir: "/", Nonce: testNonce}, dir)
		want := strings.Fields(strings.ReplaceAll(c.want, "DIR", dir))
		for i := range want {
			want[i] = strings.ReplaceAll(want[i], "\x00", " ")
		}
		if err != nil || !slices.Equal(argv, want) {
			t.Errorf("%q: got %q, %v, want %q", c.line, argv, err, want)
		}
	}
}
