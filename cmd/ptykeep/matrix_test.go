//go:build linux && (amd64 || arm64)

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
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
		busy(t, runtime.NumCPU())
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

// busy keeps n CPUs busy until the test ends.
func busy(t *testing.T, n int) {
	for range n {
		hog := exec.Command("sh", "-c", "while :; do :; done")
		if err := hog.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = hog.Process.Kill() // it runs for ever
			_ = hog.Wait()
		})
	}
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

// root is for rows that become another user.
func (b *bench) root(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	asOrdinaryUser(t, &exec.Cmd{}) // skips where there is none
}

// helper is a program for what is hard to find ready-made.
func (b *bench) helper(t *testing.T) {
	need(t, "cc")
	b.once(t, "helper", func() error {
		return output(exec.Command("cc", "-g", "-pthread", "-o", b.path("bin/helper"), b.file("helper.c", helperSource)))
	})
}

const helperSource = `
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char line[100];
static void *park(void *p) { pthread_mutex_lock(&lock); return p; }
static void *take(void *p) { read(0, line, sizeof line); return p; }
static void *spin(void *p) { for (volatile int i = 0;; i++); return p; }

int main(int argc, char **argv) {
	const char *how = argc > 1 ? argv[1] : "";
	struct iovec two[2] = {{line, 1}, {line + 1, sizeof line - 1}}; /* as musl's stdio reads */
	struct pollfd in = {0, POLLIN, 0};
	pthread_t t;
	puts("up");
	fflush(stdout);
	if (!strcmp(how, "read")) read(0, line, sizeof line);
	if (!strcmp(how, "readv")) readv(0, two, 2);
	if (!strcmp(how, "devtty")) read(open("/dev/tty", O_RDWR), line, sizeof line);
	if (!strcmp(how, "sleep")) sleep(1000);
	if (!strcmp(how, "pause")) pause();
	if (!strcmp(how, "spin")) spin(0);
	if (!strcmp(how, "poll")) while (poll(&in, 1, 50) == 0);
	if (!strcmp(how, "threads")) {
		pthread_mutex_lock(&lock);
		for (int i = 0; i < 20; i++) pthread_create(&t, 0, park, 0);
		read(0, line, sizeof line);
	}
	if (!strcmp(how, "reader")) {
		pthread_create(&t, 0, take, 0);
		pthread_join(t, 0);
	}
	if (!strcmp(how, "spinner")) {
		pthread_create(&t, 0, spin, 0);
		read(0, line, sizeof line);
	}
	return 0;
}
`

// scanner is a Go program that reads lines.
func (b *bench) scanner(t *testing.T) {
	need(t, "go")
	b.once(t, "scanner", func() error {
		b.file("scanner.go", `package main

import ("bufio"; "fmt"; "os")

func main() {
	fmt.Print("name? ")
	for s := bufio.NewScanner(os.Stdin); s.Scan(); fmt.Print("name? ") { fmt.Println("hello", s.Text()) }
}
`)
		build := exec.Command("go", "build", "-o", b.path("bin/scanner"), "scanner.go")
		build.Dir = b.dir
		build.Env = append(os.Environ(), "GO111MODULE=off", "GOWORK=off")
		return output(build)
	})
}

// output runs a command and puts what it says into the error.
func output(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w: %s", cmd.Args, err, out)
	}
	return nil
}

// sshd is an SSH server that the user of the test may log in to, as "box".
func (b *bench) sshd(t *testing.T) {
	const daemon = "/usr/sbin/sshd"
	need(t, "ssh", "ssh-keygen", daemon)
	b.once(t, "sshd", func() error {
		for _, key := range []string{"host", "key"} {
			if err := output(exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", b.path(key))); err != nil {
				return err
			}
		}
		me, err := user.Current()
		if err != nil {
			return err
		}
		if me.Uid == "0" {
			// Where no sshd was ever started the system has not made it yet.
			if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
				return err
			}
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		at := l.Addr().(*net.TCPAddr)
		_ = l.Close() // makes room for sshd
		conf := b.file("sshd_config", fmt.Sprintf("ListenAddress %v\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nStrictModes no\n"+
			"UsePAM no\nPermitRootLogin yes\nPasswordAuthentication yes\nKbdInteractiveAuthentication no\nPrintMotd no\n",
			at, b.path("host"), b.path("key.pub")))
		b.file("ssh_config", fmt.Sprintf("Host *\nHostName 127.0.0.1\nPort %d\nUser %s\nIdentityFile %s\nIdentitiesOnly yes\n"+
			"GlobalKnownHostsFile /dev/null\nUserKnownHostsFile /dev/null\nHost box word\nStrictHostKeyChecking no\nLogLevel ERROR\n"+
			"Host word\nPreferredAuthentications password\n", at.Port, me.Username, b.path("key")))
		server := exec.Command(daemon, "-D", "-e", "-f", conf)
		log := &lockedBuffer{}
		server.Stderr = log
		server.WaitDelay = time.Second // its children have log, too
		if err := server.Start(); err != nil {
			return err
		}
		b.t.Cleanup(func() {
			_ = server.Process.Kill() // it runs for ever
			_ = server.Wait()
		})
		if !eventually(func() bool {
			c, err := net.Dial("tcp", at.String())
			if err == nil {
				_ = c.Close() // it listens, that is all
			}
			return err == nil
		}) {
			return fmt.Errorf("it does not listen: %s", log)
		}
		return nil
	})
}

// login is sshd on a machine that lets the user of the test in, with a terminal:
// the account may be locked, and without root the terminal cannot be given away.
func (b *bench) login(t *testing.T) {
	b.sshd(t)
	if err := output(exec.Command("ssh", "-F", b.path("ssh_config"), "-o", "BatchMode=yes", "-tt", "box", "true")); err != nil {
		t.Skip(err)
	}
}

// postgres is a database server. It refuses to run as root.
func (b *bench) postgres(t *testing.T) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is good
	if len(found) == 0 {
		t.Skip("needs initdb")
	}
	program := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(filepath.Dir(found[len(found)-1]), name), args...)
		asOrdinaryUser(t, cmd)
		return cmd
	}
	b.once(t, "postgres", func() error {
		made := exec.Command("mktemp", "-d")
		asOrdinaryUser(t, made)
		out, err := made.Output()
		if err != nil {
			return err
		}
		dir := strings.TrimSpace(string(out))
		b.t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a temporary directory; the system clears it
		data := filepath.Join(dir, "data")
		if err := output(program("initdb", "-D", data, "-A", "trust", "-U", "me", "--no-sync", "-E", "UTF8", "--locale=C")); err != nil {
			return err
		}
		server := program("postgres", "-D", data, "-k", dir, "-c", "listen_addresses=", "-F")
		if err := server.Start(); err != nil {
			return err
		}
		b.t.Cleanup(func() {
			_ = server.Process.Signal(os.Interrupt) // ends it although there are clients
			_ = server.Wait()
		})
		client := program("psql", "-X", "-h", dir, "-U", "me", "postgres")
		b.file("bin/db", "#!/bin/sh\nexec "+strings.Join(client.Args, " ")+"\n")
		if err := os.Chmod(b.path("bin/db"), 0o700); err != nil {
			return err
		}
		if !eventually(func() bool { return program("pg_isready", "-q", "-h", dir).Run() == nil }) {
			return errors.New("it does not answer")
		}
		return nil
	})
}

// matrix are the rows. A program that works is one for which no input is due.
var matrix = []row{
	// Shells at their own prompts, and what they read themselves.
	{name: "bash", moves: []move{{"true", prompt + "bash kernel+prompt"}, {"", prompt + "bash kernel+prompt"}, {nil, prompt + "bash kernel+prompt"}}},
	{name: "bash sleep", moves: []move{{"sleep 30", works + "sleep kernel"}}},
	{name: "bash loop", moves: []move{{"while :; do :; done", works + "bash kernel"}}},
	{name: "bash loop of sleeps", moves: []move{{"while :; do sleep .01; done", works + "sleep|bash kernel"}}},
	{name: "bash read", moves: []move{{"read x", asks + "bash kernel"}, {"a", prompt + "bash"}}},
	{name: "bash read -p", moves: []move{{"read -p 'name? ' x", asks + "bash kernel"}, {"a", prompt + "bash"}}},
	{name: "bash read -s", moves: []move{{"read -s x", hides + "bash kernel"}, {"a", prompt + "bash"}}},
	{name: "bash read -e", moves: []move{{"read -e x", asks + "bash kernel"}, {"a", prompt + "bash"}}},
	{name: "bash read -n1", moves: []move{{"read -n1 x", asks + "bash kernel"}}},
	{name: "bash read -t", moves: []move{{"read -t 60 x", idle + "bash " + quiet}}},
	{name: "bash read, then sleep", moves: []move{{"read x; sleep 30", asks + "bash kernel"}, {"a", works + "sleep kernel"}}},
	{name: "bash read in a subshell", moves: []move{{"(read x)", asks + "bash kernel"}}},
	{name: "bash select", moves: []move{{"select x in a b; do echo; done", asks + "bash kernel"}, {"1", asks + "bash"}}},
	{name: "bash here document", moves: []move{{"cat <<E", rest + "bash kernel+prompt"}, {"a", rest + "bash"}, {"E", prompt + "bash"}}},
	{name: "bash open quote", moves: []move{{"echo 'a", rest + "bash kernel+prompt"}, {"b'", prompt + "bash"}}},
	{name: "bash if", moves: []move{{"if true", rest + "bash"}, {"then sleep 30; fi", works + "sleep"}}},
	{name: "bash wait", moves: []move{{"sleep 30 & wait", works + "bash kernel"}}},
	{name: "bash job", moves: []move{{"sleep 30 &", prompt + "bash kernel+prompt"}}},
	{name: "bash coproc works", moves: []move{{"coproc cat; read -u ${COPROC[0]} x", works + "bash kernel"}}},
	{name: "bash coproc beside a question", moves: []move{{"coproc sleep 30; read x", asks + "bash kernel"}}},
	{name: "bash stopped job", moves: []move{{"sleep 30", works + "sleep"}, {keys{"C-z"}, prompt + "bash kernel+prompt"}, {"fg", works + "sleep"}, {keys{"C-c"}, prompt + "bash"}}},
	{name: "bash in bash", moves: []move{{"bash --norc", asks + "bash kernel"}, {"true", asks + "bash kernel+prompt"}, {"sleep 30", works + "sleep"}, {keys{"C-c"}, asks + "bash"}, {"exit", prompt + "bash"}}},
	{name: "zsh in bash", needs: "zsh", moves: []move{{"zsh -f", asks + "zsh kernel"}, {"read x", asks + "zsh"}, {"a", asks + "zsh"}, {"sleep 30", works + "sleep"}}},
	{name: "dash in bash", needs: "dash", moves: []move{{"dash", asks + "dash kernel"}, {"true", asks + "dash"}, {"sleep 30", works + "sleep"}}},
	{name: "fish in bash", needs: "fish", moves: []move{{"fish -N", soon + "fish"}, {"true", asks + "fish kernel+prompt"}, {"sleep 30", works + "sleep"}}},
	{name: "busybox in bash", needs: "busybox", moves: []move{{"busybox sh", asks + "busybox kernel"}, {"true", asks + "busybox kernel+prompt"}, {"sleep 30", works + "sleep"}}},
	{name: "dash for bash", needs: "dash", moves: []move{{"exec dash", asks + "dash kernel"}, {"sleep 30", works + "sleep"}}},
	{name: "zsh", shell: "zsh", moves: []move{{"true", prompt + "zsh kernel+prompt"}, {"sleep 30", works + "sleep kernel"}, {keys{"C-c"}, prompt + "zsh"}}},
	{name: "zsh read", shell: "zsh", moves: []move{{"read x", asks + "zsh kernel"}, {"a", prompt + "zsh"}}},
	{name: "zsh read -s", shell: "zsh", moves: []move{{"read -s x", hides + "zsh kernel"}, {"a", prompt + "zsh"}}},
	{name: "zsh vared", shell: "zsh", moves: []move{{"vared -c x", asks + "zsh kernel"}, {"a", prompt + "zsh"}}},
	{name: "zsh select", shell: "zsh", moves: []move{{"select x in a b; do echo; done", asks + "zsh kernel"}}},
	{name: "zsh here document", shell: "zsh", moves: []move{{"cat <<E", rest + "zsh kernel+prompt"}, {"E", prompt + "zsh"}}},
	{name: "zsh open quote", shell: "zsh", moves: []move{{"echo 'a", rest + "zsh kernel+prompt"}, {"b'", prompt + "zsh"}}},
	{name: "fish", shell: "fish", moves: []move{{"true", prompt + "fish kernel+prompt"}, {"sleep 30", works + "sleep kernel"}, {keys{"C-c"}, prompt + "fish"}}},
	{name: "fish read", shell: "fish", moves: []move{{"read x", soon + "fish"}, {"a", prompt + "fish"}}},
	{name: "fish open quote", shell: "fish", moves: []move{{"echo 'a", "stdin_read waiting_input|continuation fish"}, {"b'", prompt + "fish"}}},
	{name: "dash", shell: "dash", moves: []move{{"true", prompt + "dash kernel+prompt"}, {"sleep 30", works + "sleep kernel"}, {keys{"C-c"}, prompt + "dash"}}},
	{name: "dash read", shell: "dash", moves: []move{{"read x", asks + "dash kernel"}, {"a", prompt + "dash"}}},
	{name: "dash open quote", shell: "dash", moves: []move{{"echo 'a", rest + "dash kernel+prompt"}, {"b'", prompt + "dash"}}},
	{name: "ksh93", shell: "ksh93", moves: []move{{"read x", asks + "ksh93 kernel"}, {"a", prompt + "ksh93"}, {"sleep 30", works + "ksh93 kernel"}}},
	{name: "mksh", shell: "mksh", moves: []move{{"read x", asks + "mksh kernel"}, {"a", prompt + "mksh"}, {"sleep 30", works + "sleep kernel"}}},

	// Programs that read lines, alone and in pipes.
	{name: "cat", moves: []move{{"cat", asks + "cat kernel"}, {"a", asks + "cat"}, {keys{"C-d"}, prompt + "bash"}}},
	{name: "cat as the session", open: map[string]any{"command": []string{"cat"}}, opened: asks + "cat kernel", moves: []move{{"a", asks + "cat kernel"}, {keys{"C-d"}, "session_exit"}}},
	{name: "sleep as the session", open: map[string]any{"command": []string{"sleep", "30"}, "timeoutMs": 500}, opened: works + "sleep kernel"},
	{name: "a timer as the session", open: map[string]any{"command": []string{"bash", "-c", "echo up; read -t 60 x"}}, opened: idle + "bash " + quiet},
	{name: "cat into cat", moves: []move{{"cat | cat", asks + "cat kernel"}, {"a", asks + "cat"}}},
	{name: "cat into sleep", moves: []move{{"cat | sleep 30", idle + "cat silence"}}},
	{name: "sleep into cat", moves: []move{{"sleep 30 | cat", works + "sleep kernel"}}},
	{name: "sleep into tee", moves: []move{{"sleep 30 | tee /dev/null", works + "sleep kernel"}}},
	{name: "sleep into tail", moves: []move{{"sleep 30 | tail", works + "sleep kernel"}}},
	{name: "sleep into a loop", moves: []move{{"sleep 30 | while read x; do :; done", works + "sleep kernel"}}},
	{name: "sleep into xargs", moves: []move{{"echo 30 | xargs sleep", works + "* kernel"}}},
	{name: "cat from a substitution", moves: []move{{"cat < <(sleep 30)", works + "* kernel"}}},
	{name: "cat from a fifo", moves: []move{{"mkfifo f; cat f", works + "cat kernel"}, {keys{"C-c"}, prompt + "bash"}, {"rm f", prompt + "bash"}}},
	{name: "sh sleeps, then reads", moves: []move{{"sh -c 'sleep 30; read x'", works + "sh kernel"}}},
	{name: "sh reads", moves: []move{{"sh -c 'read x; sleep 30'", asks + "sh kernel"}, {"a", works + "sh|sleep kernel"}}},
	{name: "sort", moves: []move{{"sort", asks + "sort kernel"}}},
	{name: "tail -f", moves: []move{{"tail -f lines", works + "tail kernel"}}},
	{name: "xargs -p", moves: []move{{"echo a | xargs -p echo", asks + "xargs kernel"}}},
	{name: "rm -i", moves: []move{{"touch gone; rm -i gone", asks + "rm kernel"}, {"y", prompt + "bash"}}},
	{name: "git add -p", needs: "git", moves: []move{
		{"git init -q patch && cd patch && echo a >f && git add f && echo b >f", prompt + "bash"},
		{"git add -p", asks + "git|perl kernel"}}},
	{name: "more", needs: "more", moves: []move{{"more lines", asks + "more kernel"}}},
	{name: "timeout", moves: []move{{"timeout 60 cat", asks + "cat kernel"}, {"a", asks + "cat"}}},
	{name: "looks like a prompt", moves: []move{{"printf '$ '; sleep 30", works + "sleep kernel"}}},
	{name: "looks like a mark", moves: []move{{`printf '\e]6973;0123456789abcdef;D;0;1;/\a$ \e]6973;0123456789abcdef;B;1\a'; sleep 30`, works + "sleep kernel"}}},
	{name: "Go scanner", with: (*bench).scanner, moves: []move{{"scanner", asks + "scanner kernel"}, {"a", asks + "scanner"}}},
	{name: "ssh-keygen", needs: "ssh-keygen", moves: []move{{"ssh-keygen -t ed25519 -f fresh", hides + "ssh-keygen kernel"}}},

	// What is hard to find ready-made.
	{name: "read", with: (*bench).helper, moves: []move{{"helper read", asks + "helper kernel"}, {"a", prompt + "bash"}}},
	{name: "readv", with: (*bench).helper, moves: []move{{"helper readv", asks + "helper kernel"}, {"a", prompt + "bash"}}},
	{name: "/dev/tty without stdin", with: (*bench).helper, moves: []move{{"helper devtty <&-", asks + "helper kernel"}, {"a", prompt + "bash"}}},
	{name: "20 threads", with: (*bench).helper, moves: []move{{"helper threads", asks + "helper kernel"}, {"a", prompt + "bash"}}},
	{name: "a thread reads", with: (*bench).helper, moves: []move{{"helper reader", asks + "helper kernel"}, {"a", prompt + "bash"}}},
	{name: "a thread computes", with: (*bench).helper, moves: []move{{"helper spinner", idle + "helper silence"}}},
	{name: "poll with a timer", with: (*bench).helper, moves: []move{{"helper poll", idle + "helper " + quiet}}},
	{name: "sleep", with: (*bench).helper, moves: []move{{"helper sleep", works + "helper kernel"}}},
	{name: "pause", with: (*bench).helper, moves: []move{{"helper pause", works + "helper kernel"}}},
	{name: "compute", with: (*bench).helper, moves: []move{{"helper spin", works + "helper kernel"}}},

	// REPLs and debuggers.
	{name: "python3", needs: "python3", moves: []move{{"python3 -q", soon + "python3"}, {"1+1", asks + "python3"}, {"import time; time.sleep(30)", works + "python3 kernel"}}},
	{name: "python3 block", needs: "python3", moves: []move{{"python3 -q", soon + "python3"}, {"if 1:", soon + "python3"}}},
	{name: "python3 system", needs: "python3", moves: []move{{"python3 -q", soon + "python3"}, {"import os; os.system('sleep 30')", works + "* kernel"}}},
	{name: "python3 as the session", needs: "python3", open: map[string]any{"command": []string{"python3", "-q"}}, opened: soon + "python3", moves: []move{{"exec('while True: pass')", works + "python3 kernel"}}},
	{name: "python3 input", needs: "python3", moves: []move{{`python3 -c "input('name? '); import time; time.sleep(30)"`, asks + "python3 kernel"}, {"a", works + "python3 kernel"}}},
	{name: "python3 getpass", needs: "python3", moves: []move{{"python3 -c 'import getpass; getpass.getpass()'", hides + "python3 kernel"}, {"a", prompt + "bash"}}},
	{name: "python3 debugger", needs: "python3", moves: []move{{"python3 -c 'breakpoint()'", asks + "python3 kernel"}, {"import time; time.sleep(30)", works + "python3 kernel"}}},
	{name: "python3 sleep", needs: "python3", moves: []move{{"python3 -c 'import time; time.sleep(30)'", works + "python3 kernel"}}},
	{name: "python3 loop", needs: "python3", moves: []move{{"python3 -c 'while 1: pass'", works + "python3 kernel"}}},
	{name: "python3 subprocess", needs: "python3", moves: []move{{"python3 -c 'import subprocess; subprocess.run([\"sleep\",\"30\"])'", works + "* kernel"}}},
	{name: "python3 thread computes", needs: "python3", moves: []move{
		{`python3 -c "import threading as t; t.Thread(target=lambda: [0 for _ in iter(int, 1)], daemon=True).start()` + "\n" + `while 1: input('name? ')"`, idle + "python3 kernel+prompt"},
		{"a", asks + "python3 kernel+prompt"}}},
	{name: "python3 http.server", needs: "python3", moves: []move{{"python3 -m http.server 0", "inferred_idle running python3 kernel"}}},
	{name: "node", needs: "node", moves: []move{{"node", asks + "node|MainThread kernel+prompt"}, {"1+1", asks + "node|MainThread kernel+prompt"}, {"while (true);", works + "node|MainThread kernel"}}},
	{name: "node as the session", needs: "node", open: map[string]any{"command": []string{"node"}}, opened: asks + "node|MainThread kernel+prompt"},
	{name: "node await", needs: "node", moves: []move{{"node", asks + "node|MainThread"}, {"await new Promise(r => setTimeout(r, 30000))", "inferred_idle|timeout"}}},
	{name: "node question", needs: "node", moves: []move{{`node -e "require('readline').createInterface(process.stdin,process.stdout).question('name? ',()=>process.exit())"`, asks + "node|MainThread kernel"}, {"a", prompt + "bash"}}},
	{name: "node raw question", needs: "node", moves: []move{{`node -e "process.stdin.setRawMode(true);process.stdout.write('word: ');process.stdin.on('data',()=>process.exit())"`, asks + "node|MainThread kernel"}, {"a", prompt + "bash"}}},
	{name: "node timer", needs: "node", moves: []move{{`node -e "process.stdin.on('data',()=>{});setInterval(()=>{},5000)"`, idle + "node|MainThread " + quiet}}},
	{name: "node fast timer", needs: "node", moves: []move{{`node -e "process.stdin.on('data',()=>{});setInterval(()=>{},20)"`, idle + "node|MainThread " + quiet}}},
	{name: "node sleeps", needs: "node", moves: []move{{`node -e "setTimeout(()=>{},30000)"`, works + "node|MainThread kernel"}}},
	{name: "node http server", needs: "node", moves: []move{{`node -e "require('http').createServer().listen(0,'127.0.0.1')"`, "inferred_idle running node|MainThread kernel"}}},
	{name: "gdb", needs: "gdb", moves: []move{{"gdb -q -nx", asks + "gdb"}, {"print 1+1", asks + "gdb"}, {"shell sleep 30", works + "* kernel"}}},
	{name: "gdb pager", needs: "gdb", moves: []move{{"gdb -q -nx -ex 'set height 5'", asks + "gdb"}, {"help", asks + "gdb kernel"}, {"q", asks + "gdb kernel+prompt"}}},
	{name: "gdb block", needs: "gdb", moves: []move{{"gdb -q -nx", asks + "gdb"}, {"python", asks + "gdb"}}},
	// gdb may still be at work when its program waits.
	{name: "gdb question", needs: "gdb", with: (*bench).helper, moves: []move{{"gdb -q -nx --args helper read", asks + "gdb"}, {"run", "stdin_read|inferred_idle waiting_input helper"}, {keys{"C-c"}, asks + "gdb"}, {"quit", asks + "gdb"}}},
	{name: "gdb program sleeps", needs: "gdb", with: (*bench).helper, moves: []move{{"gdb -q -nx --args helper sleep", asks + "gdb"}, {"run", works + "helper kernel"}, {keys{"C-c"}, asks + "gdb"}}},
	{name: "gdb program computes", needs: "gdb", with: (*bench).helper, moves: []move{{"gdb -q -nx --args helper spin", asks + "gdb"}, {"run", works + "helper kernel"}}},
	{name: "sqlite3", needs: "sqlite3", moves: []move{{"sqlite3", asks + "sqlite3"}, {"select 1", asks + "sqlite3 kernel"}, {";", asks + "sqlite3 kernel+prompt"}, {".system sleep 30", works + "* kernel"}}},
	{name: "psql", with: (*bench).postgres, moves: []move{{"db", asks + "psql"}, {"select", asks + "psql kernel"}, {"1;", asks + "psql kernel+prompt"}, {"select pg_sleep(30);", works + "psql kernel"}}},
	{name: "ed", needs: "ed", moves: []move{{"ed", asks + "ed kernel"}, {"a", asks + "ed"}, {"text", asks + "ed"}, {".", asks + "ed"}, {"!sleep 30", works + "* kernel"}}},
	{name: "bc", needs: "bc", moves: []move{{"bc -q", asks + "bc"}, {"1+1", asks + "bc"}, {"while (1) { }", works + "bc kernel"}}},
	{name: "perl debugger", needs: "perl", moves: []move{{"perl -de0", asks + "perl"}, {"p 1+1", asks + "perl"}, {"sleep 30", works + "perl kernel"}}},
	{name: "perl", needs: "perl", moves: []move{{"perl -e 'print qq(name? ); <STDIN>; sleep 30'", asks + "perl kernel"}, {"a", works + "perl kernel"}}},
	{name: "irb", needs: "irb", soft: true, moves: []move{{"irb", soon + "*"}, {"1+1", asks + "*"}, {"sleep 30", works + "*"}}},
	{name: "lua", needs: "lua", soft: true, moves: []move{{"lua", asks + "*"}, {"print(1)", asks + "*"}, {"os.execute('sleep 30')", works + "*"}}},

	// Full screens.
	{name: "less", needs: "less", moves: []move{{"less lines", shows + "less kernel"}, {keys{"Space"}, shows + "less"}}},
	{name: "less +F", needs: "less", moves: []move{{"less +F lines", still + "less screen"}}},
	{name: "man", needs: "man less", soft: true, open: map[string]any{"env": map[string]string{"MANPAGER": "less"}}, moves: []move{{"man ./page.1", shows + "less kernel"}}},
	{name: "git log", needs: "git less", open: map[string]any{"env": map[string]string{"GIT_PAGER": "less", "LESS": "R"}}, moves: []move{
		{"git init -q repo && git -C repo -c user.name=me -c user.email=me@box commit -q --allow-empty -m one", prompt + "bash"},
		{"git -C repo log", shows + "less kernel"}}},
	{name: "vim", needs: "vim", moves: []move{{"vim -u NONE -i NONE -n", "stdin_read|inferred_idle fullscreen vim"}, {":!sleep 30", works + "* kernel"}}},
	{name: "nano", needs: "nano", moves: []move{{"nano", shows + "nano kernel"}}},
	{name: "whiptail", needs: "whiptail", moves: []move{{"whiptail --msgbox hello 10 40", shows + "whiptail kernel"}}},
	{name: "top", needs: "top", moves: []move{{"top -d 1", "inferred_idle waiting_input|fullscreen top"}}},
	{name: "htop", needs: "htop", moves: []move{{"htop", still + "htop screen"}}},
	{name: "watch", needs: "watch", moves: []move{{"watch -n 60 date", still + "watch screen"}}},
	{name: "tmux", needs: "tmux", moves: []move{{"tmux -f /dev/null new", still + "tmux:_client screen"}}},

	// Terminals within terminals.
	{name: "script", needs: "script", moves: []move{{"script -qc 'bash --norc' /dev/null", asks + "bash kernel"}, {"sleep 30", works + "* kernel"}}},
	{name: "script sleep", needs: "script", moves: []move{{"script -qc 'sleep 30' /dev/null", works + "* kernel"}}},
	{name: "expect", needs: "expect", moves: []move{{"expect -c 'spawn -noecho cat; interact'", asks + "cat kernel"}}},
	{name: "expect waits", needs: "expect", moves: []move{{"expect -c 'set timeout 60; spawn -noecho cat; expect never'", works + "* kernel"}}},
	{name: "rlwrap", needs: "rlwrap", moves: []move{{"rlwrap cat", asks + "cat kernel"}, {"a", asks + "cat"}}},
	{name: "rlwrap sleep", needs: "rlwrap", moves: []move{{"rlwrap sleep 30", works + "* kernel"}}},

	// Other machines.
	{name: "ssh asks for the host", with: (*bench).sshd, moves: []move{{"ssh -F $BOX new", asks + "ssh kernel"}}},
	{name: "ssh asks for a password", with: (*bench).sshd, moves: []move{{"ssh -F $BOX word", hides + "ssh kernel"}}},
	{name: "ssh shell", with: (*bench).login, moves: []move{
		{upTo{`ssh -F $BOX -t box "PS1='there$ ' exec bash --norc --noprofile"`, `there\$`}, "matched"},
		{nil, idle + "ssh kernel+prompt"},
		{"true", asks + "ssh kernel+prompt"}, {"sleep 30", "inferred_idle|timeout * ssh"}}},
	{name: "ssh sleep", with: (*bench).login, moves: []move{{"ssh -F $BOX box sleep 30", "inferred_idle|timeout * ssh"}}},
	{name: "ssh -n sleep", with: (*bench).login, moves: []move{{"ssh -n -F $BOX box sleep 30", works + "ssh kernel"}}},

	// Other users.
	{name: "su", needs: "su", with: (*bench).root, moves: []move{{"su $OTHER -c cat", asks + "cat kernel"}, {"a", asks + "cat"}}},
	{name: "su sleep", needs: "su", with: (*bench).root, moves: []move{{"su $OTHER -c 'sleep 30'", works + "* kernel"}}},
	{name: "su shell", needs: "su", with: (*bench).root, moves: []move{{"su - $OTHER", asks + "bash kernel"}, {"sleep 30", works + "sleep kernel"}, {keys{"C-c"}, asks + "bash"}, {"sudo true", hides + "sudo kernel"}}},
	{name: "sudo", needs: "sudo", with: (*bench).root, moves: []move{{"sudo -u $OTHER cat", asks + "cat kernel"}, {"a", asks + "cat"}}},
	{name: "sudo shell", needs: "sudo", with: (*bench).root, moves: []move{{"sudo -u $OTHER bash --norc", asks + "bash kernel"}, {"sleep 30", works + "* kernel"}}},
	{name: "sudo sleep", needs: "sudo", with: (*bench).root, moves: []move{{"sudo -u $OTHER sleep 30", works + "* kernel"}}},
	{name: "sudo asks", needs: "sudo setpriv", with: (*bench).root, moves: []move{{"setpriv --reuid=$OTHER --regid=$OTHER --clear-groups sudo true", hides + "sudo kernel"}}},
	{name: "sudo asks a user", needs: "sudo", user: true, with: (*bench).root, moves: []move{{"sudo true", "inferred_idle waiting_hidden_input sudo flags"}}},
	{name: "su asks a user", needs: "su", user: true, with: (*bench).root, moves: []move{{"su -c true", "inferred_idle waiting_hidden_input su flags"}}},
	{name: "passwd asks a user", needs: "passwd", user: true, with: (*bench).root, moves: []move{{"passwd", "inferred_idle waiting_hidden_input passwd flags"}}},
	{name: "user", user: true, with: (*bench).root, moves: []move{{"cat", asks + "cat kernel"}, {keys{"C-d"}, prompt + "bash"}, {"sleep 30", works + "sleep kernel"}}},
	{name: "user's script", needs: "script", user: true, with: (*bench).root, moves: []move{{"script -qc cat /dev/null", asks + "cat kernel"}}},
}
