//go:build linux && (amd64 || arm64)

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// row is a real program in a terminal, and what has to be told of it.
type row struct {
	name   string
	needs  string                   // programs
	soft   bool                     // without them the row is skipped even where everything is tested
	shell  string                   // of the session, "" is bash
	user   bool                     // the server is one of a user without privileges
	with   func(*bench, *testing.T) // makes ready what the row needs besides
	open   map[string]any           // arguments of terminal_open
	opened string                   // what that has to tell, "" is the shell's prompt
	moves  []move
}

// move types something and says what has to be told then: the waitReason and
// foreground's state, command and evidence, as far as given. A|B allows both,
// * anything.
type move struct {
	say  any // a line, keys, an upTo, or nil to wait on
	want string
}

type keys []string

// upTo types a line and waits until what comes out matches.
type upTo struct{ line, match string }

// The usual beginnings of move.want.
const (
	prompt = "stdin_read prompt "
	rest   = "stdin_read continuation "
	asks   = "stdin_read waiting_input "
	hides  = "stdin_read waiting_hidden_input "
	shows  = "stdin_read fullscreen "
	works  = "timeout running "
	idle   = "inferred_idle waiting_input "
	still  = "inferred_idle fullscreen "
	quiet  = "silence|screen"                          // on a busy machine output may come late, which then looks like a redraw
	soon   = "stdin_read|inferred_idle waiting_input " // a timer may, or may not, be running beside the wait (Python 3.13, fish)
)

// How long a send may wait: for a wait that has to be seen no test should ever
// need it all; for a program that works it is long enough for a wrong silence.
const (
	matrixPatience = 20 * time.Second
	matrixSilence  = 300 * time.Millisecond
	matrixWorks    = 600 * time.Millisecond
)

// TestMatrix holds what is told of real programs against what they do. With
// PTYKEEP_TEST_LONG=1 it does so twenty times on a machine without an idle CPU.
func TestMatrix(t *testing.T) {
	need(t, "bash")
	b := newBench(t)
	passes := 1
	if os.Getenv("PTYKEEP_TEST_LONG") == "1" {
		passes = 20
		startHogs(t, runtime.NumCPU())
	}
	names := map[string]bool{}
	for pass := range passes {
		for _, r := range matrix {
			if pass == 0 && names[r.name] {
				t.Errorf("two rows are named %q", r.name)
			}
			names[r.name] = true
			t.Run(r.name, func(t *testing.T) { b.run(t, r) })
		}
	}
	t.Logf("%d rows, %d runs, %d results: %d false ready, %d timeouts where a wait was to be seen, %d other differences",
		len(matrix), b.runs, b.results, b.falseReady, b.timeouts, b.others)
}

// bench is what the rows share.
type bench struct {
	t       *testing.T // of the whole matrix; what is started for a row lasts as long
	dir     string
	servers map[place]*stdioServer
	ready   map[string]error // of what was prepared

	runs, results, falseReady, timeouts, others int
}

// place is where a session runs: what its server was started with.
type place struct {
	shell string
	user  bool
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, dir: t.TempDir(), servers: map[place]*stdioServer{}, ready: map[string]error{}}
	for _, name := range []string{"bin", "home", "work"} {
		if err := os.Mkdir(b.path(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.file("work/lines", strings.Repeat("a line\n", 200))
	b.file("work/page.1", ".TH PAGE 1\n.SH NAME\npage\n"+strings.Repeat(".PP\nA paragraph.\n", 200))
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) file(name, text string) string {
	if err := os.WriteFile(b.path(name), []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return b.path(name)
}

// server starts a server, or gives the one that runs already.
func (b *bench) server(t *testing.T, at place) *stdioServer {
	if s := b.servers[at]; s != nil {
		return s
	}
	shell, err := exec.LookPath(at.shell)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "mcp", "--sandbox-mode=danger-full-access", "--dispose-grace-ms=300", "--shell="+shell,
		fmt.Sprintf("--idle-silence-ms=%d", matrixSilence.Milliseconds()))
	path := os.Getenv("PATH")
	cmd.Env = []string{"SHELL=/bin/bash", "LANG=C.UTF-8", "LC_ALL=C.UTF-8"}
	if at.user {
		cmd.Env = append(cmd.Env, "PATH="+path)
		asOrdinaryUser(t, cmd)
	} else {
		cmd.Dir = b.path("work")
		cmd.Env = append(cmd.Env, "PATH="+b.path("bin")+string(filepath.ListSeparator)+path, "HOME="+b.path("home"),
			"TMUX_TMPDIR="+b.path("home"), "BOX="+b.path("ssh_config"), "OTHER="+os.Getenv("PTYKEEP_TEST_USER"))
	}
	s := start(b.t, cmd)
	b.t.Cleanup(func() { // in order, before it would be killed
		_ = s.in.Close() // which ends it
		if code, err := s.exit(); code != 0 || err != nil {
			b.t.Errorf("the server ends with %d, %v; log: %s", code, err, s.log())
		}
	})
	b.servers[at] = s
	return s
}

// once prepares something for all rows that need it.
func (b *bench) once(t *testing.T, name string, prepare func() error) {
	t.Helper()
	err, done := b.ready[name]
	if !done {
		err = prepare()
		b.ready[name] = err
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func (b *bench) run(t *testing.T, r row) {
	programs := strings.Fields(r.needs)
	if r.soft {
		programs = nil
		for _, program := range strings.Fields(r.needs) {
			if _, err := exec.LookPath(program); err != nil {
				t.Skipf("needs %s", program)
			}
		}
	}
	need(t, programs...)
	if r.with != nil {
		r.with(b, t)
	}
	shell := cmp.Or(r.shell, "bash")
	need(t, shell)
	s := b.server(t, place{shell, r.user})
	b.runs++
	opened := s.must(t, "terminal_open", r.open)
	id := opened.facts["sessionId"]
	defer func() { s.must(t, "terminal_close", map[string]any{"sessionId": id}) }()
	ok := b.check(t, "terminal_open", cmp.Or(r.opened, prompt+shell+" kernel+prompt"), opened)
	for _, m := range r.moves {
		ok = ok && b.move(t, s, id, m)
	}
}

// move makes one move in a session. On a busy machine a program that works may
// be long on its way to where it is wanted, and a prompt that comes over a
// network may be preceded by silence; neither is ever called ready.
func (b *bench) move(t *testing.T, s *stdioServer, id any, m move) bool {
	args := map[string]any{"sessionId": id, "timeoutMs": matrixPatience.Milliseconds()}
	onItsWay := "nothing"
	switch say := m.say.(type) {
	case string:
		args["text"] = say
	case keys:
		args["keys"] = say
	case upTo:
		args["text"], args["until"] = say.line, say.match
		onItsWay = "inferred_idle"
	}
	if strings.HasPrefix(m.want, "timeout") {
		args["timeoutMs"] = matrixWorks.Milliseconds()
		onItsWay = "timeout"
	}
	end := time.Now().Add(matrixPatience)
	r := s.must(t, "terminal_send", args)
	delete(args, "text")
	delete(args, "keys")
	for r.facts["waitReason"] == onItsWay && !agrees(m.want, told(r)) && time.Now().Before(end) {
		r = s.must(t, "terminal_send", args)
	}
	return b.check(t, fmt.Sprint(m.say), m.want, r)
}

// check compares a result with what is wanted.
func (b *bench) check(t *testing.T, what, want string, r reply) bool {
	t.Helper()
	b.results++
	got := told(r)
	if agrees(want, got) {
		t.Logf("%s: %s (%v)", what, got, r.took.Round(time.Millisecond))
		return true
	}
	kind := "differs"
	reason, _, _ := strings.Cut(want, " ")
	switch {
	case strings.HasPrefix(got, "stdin_read") && (strings.HasPrefix(want, "timeout") || strings.HasPrefix(want, "inferred_idle")):
		kind = "FALSE READY"
		b.falseReady++
	case strings.HasPrefix(got, "timeout") && !strings.Contains(reason, "timeout"):
		kind = "wait not seen"
		b.timeouts++
	default:
		b.others++
	}
	facts, _ := json.Marshal(r.facts) // it came as JSON
	t.Errorf("%s: %s: got %q, want %q after %v\n%s\n%s", kind, what, got, want, r.took, shorten(r.text), facts)
	return false
}

// told is what a result tells, in the order of move.want.
func told(r reply) string {
	front, _ := r.facts["foreground"].(map[string]any)
	words := []string{fmt.Sprint(r.facts["waitReason"])}
	for _, key := range []string{"state", "command", "evidence"} {
		word, _ := front[key].(string)
		words = append(words, cmp.Or(strings.ReplaceAll(word, " ", "_"), "-"))
	}
	return strings.Join(words, " ")
}

func agrees(want, got string) bool {
	is := strings.Fields(got)
	for i, word := range strings.Fields(want) {
		if word != "*" && !slices.Contains(strings.Split(word, "|"), is[i]) {
			return false
		}
	}
	return true
}
