package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// startShell starts a server with a shell in an empty home, and a directory to
// work in.
func startShell(t *testing.T, shell string, files map[string]string) (s *stdioServer, root, home string) {
	t.Helper()
	need(t, shell, "sh", "seq")
	program, err := exec.LookPath(shell)
	if err != nil {
		t.Fatal(err)
	}
	// As the shells see it; below a link on macOS.
	root, err = filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, err = filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// Without it fish fills this directory in the background.
	if err := os.MkdirAll(filepath.Join(home, ".local/share/fish/generated_completions"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(binary, "mcp", "--shell", program, "--workspace-root", root, "--timeout-ms", fmt.Sprint(patience.Milliseconds()*9/10))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C.UTF-8", "USER=tester"}
	return start(t, cmd), root, home
}

// TestExitAndDirectory types random commands, of which a model knows what they
// do, and compares exit code, directory and output after each.
func TestExitAndDirectory(t *testing.T) {
	count := 200
	if os.Getenv("PTYKEEP_TEST_LONG") == "1" {
		count = 5000
	}
	for _, test := range []struct {
		name, shell string
		files       map[string]string
	}{
		{"bash", "bash", nil},
		{"bash without pastes", "bash", map[string]string{".inputrc": "set enable-bracketed-paste off\n"}},
		{"zsh", "zsh", map[string]string{".zshrc": ""}},
		{"fish", "fish", nil},
		{"dash", "dash", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, root, home := startShell(t, test.shell, test.files)
			seed := rand.Uint64()
			m := &shellModel{
				rnd: rand.New(rand.NewPCG(seed, 1)), kind: test.shell, root: root, home: home, dir: root, old: root, functions: map[string]int{},
			}
			for _, name := range strangeDirs {
				dir := filepath.Join(root, name)
				if hasControl(name) && m.dash() || strings.Contains(name, "\x1b") && m.fish() {
					continue // dash has no words for that; fish prints it raw in a title, of which the end shows
				}
				if name == "link" {
					if err := os.Symlink("deep/er", dir); err != nil {
						t.Fatal(err)
					}
				} else if os.MkdirAll(dir, 0o755) != nil {
					continue // not a name for this file system
				}
				m.dirs = append(m.dirs, name)
			}
			id := s.must(t, "terminal_open", nil).facts["sessionId"]
			s.must(t, "terminal_send", map[string]any{"sessionId": id, "text": "cd '" + root + "'"})
			var before []string
			for n := 0; n < count; {
				for _, c := range generators[m.rnd.IntN(len(generators))](m) {
					n++
					if wrong := c.run(t, s, id); wrong != "" {
						t.Errorf("seed %d, command %d, %s\nafter %q", seed, n, wrong, before[max(0, len(before)-4):])
					}
					if c.exit != noExit && !c.orNone {
						m.status = c.exit
					}
					before = append(before, c.text)
				}
			}
			t.Logf("seed %d, %d commands", seed, len(before))
		})
	}
}

// run types the command and says what is wrong with what came.
func (c command) run(t *testing.T, s *stdioServer, id any) string {
	t.Helper()
	args := map[string]any{"sessionId": id}
	if args["text"] = c.text; c.keys != nil {
		delete(args, "text")
		args["keys"] = c.keys
	}
	r := s.must(t, "terminal_send", args)
	exit, told := r.facts["exitCode"].(float64)
	if !told {
		exit = noExit
	}
	words := c.words
	if words == "" {
		words = regexp.QuoteMeta(strings.TrimSuffix(regexp.MustCompile(`(?m)[ \t]+$`).ReplaceAllString(c.body, ""), "\n"))
	}
	front, _ := r.facts["foreground"].(map[string]any)
	state := c.state
	if state == "" {
		state = "prompt"
	}
	dir := strings.ToValidUTF8(c.dir, "\uFFFD")
	fits := regexp.MustCompile(`\A(?:` + strings.ToValidUTF8(words, "\uFFFD") + `)\z`).MatchString(r.body())
	if (exit == float64(c.exit) || c.orNone && !told) && r.facts["cwd"] == dir && fits && front["state"] == state && r.facts["waitReason"] == "stdin_read" {
		return ""
	}
	return fmt.Sprintf("%q %q:\ngot  exit %v, cwd %q, %v, %v, body %q\nwant exit %v, cwd %q, %s, stdin_read, body %q",
		c.text, c.keys, exit, r.facts["cwd"], front["state"], r.facts["waitReason"], shorten(r.body()), c.exit, dir, state, shorten(words))
}
