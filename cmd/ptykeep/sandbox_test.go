package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// ground is where the tests of the sandbox happen: a workspace, a temporary
// directory and a home beside each other, so that none is in another.
type ground struct {
	workspace, temp, home string
	env                   []string
	credential            *syscall.Credential // nil: as the test
}

func newGround(t *testing.T, ordinary bool) *ground {
	t.Helper()
	base, err := os.MkdirTemp("", "ptykeep-test-")
	if err == nil {
		base, err = filepath.EvalSymlinks(base)
	}
	if err == nil {
		err = os.Chmod(base, 0o755) // another user goes through
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) }) // a temporary directory; the system clears it
	g := &ground{workspace: base + "/work space", temp: base + "/temp", home: base + "/home"}
	cmd := exec.Command(binary)
	if ordinary {
		asOrdinaryUser(t, cmd)
		if cmd.SysProcAttr != nil {
			g.credential = cmd.SysProcAttr.Credential
		}
	}
	for _, dir := range []string{g.workspace, g.temp, g.home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		g.give(t, dir)
	}
	g.env = []string{"PATH=" + os.Getenv("PATH"), "SHELL=/bin/bash", "HOME=" + g.home, "TMPDIR=" + g.temp,
		"W=" + g.workspace, "T=" + g.temp, "H=" + g.home}
	return g
}

// give makes a file the user's.
func (g *ground) give(t *testing.T, path string) {
	t.Helper()
	if c := g.credential; c != nil {
		if err := os.Lchown(path, int(c.Uid), int(c.Gid)); err != nil {
			t.Fatal(err)
		}
	}
}

// write makes a file with content.
func (g *ground) write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	g.give(t, path)
}

func (g *ground) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = g.workspace, g.env
	if g.credential != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: g.credential}
	}
	return cmd
}

// server starts a server in the workspace, with the default sandbox unless args
// choose another.
func (g *ground) server(t *testing.T, args ...string) *stdioServer {
	t.Helper()
	return startAsIs(t, g.command(binary, append([]string{"mcp"}, args...)...))
}

// open opens a terminal, or skips the test where nothing can be confined.
func open(t *testing.T, s *stdioServer) (id any) {
	t.Helper()
	r, err := s.tool("terminal_open", nil)
	if err == nil && r.facts["code"] == "SANDBOX_UNAVAILABLE" && os.Getenv("PTYKEEP_TEST_REQUIRE_ALL") != "1" {
		t.Skipf("needs a sandbox: %s", r.text)
	}
	if err != nil || r.isError {
		t.Fatalf("terminal_open: %v, %s", err, r.text)
	}
	return r.facts["sessionId"]
}

// try is one attempt of a confined program.
type try struct {
	name    string
	command string // of bash, in the workspace; $W, $T, $H are the directories, $P is a process outside
	changes string // the file that it makes, changes or removes
	allowed [3]bool
}

// Where an attempt may succeed.
var (
	nowhere   = [3]bool{false, false, true} // but without a sandbox
	workspace = [3]bool{false, true, true}
	anywhere  = [3]bool{true, true, true}
)

var tries = []try{
	{"write in the workspace", `echo x >in`, "$W/in", workspace},
	{"append in the workspace", `echo x >>seed1`, "$W/seed1", workspace},
	{"remove in the workspace", `rm -f seed2`, "$W/seed2", workspace},
	{"move inside, to another directory", `mkdir sub; mv seed3 sub/moved`, "$W/sub/moved", workspace},
	{"write in temp", `echo x >"$T/in"`, "$T/in", workspace},
	{"mktemp", `cp seed4 "$(mktemp -d)/x" && touch "$T/made"`, "$T/made", workspace},
	{"write in home", `echo x >"$H/f"`, "$H/f", nowhere},
	{"append in home", `echo x >>"$H/seed1"`, "$H/seed1", nowhere},
	{"truncate in home", `python3 -c 'import os; os.truncate(os.environ["H"]+"/seed2", 0)'`, "$H/seed2", nowhere},
	{"remove in home", `rm -f "$H/seed3"`, "$H/seed3", nowhere},
	{"mkdir in home", `mkdir "$H/dir"`, "$H/dir", nowhere},
	{"symlink in home", `ln -s / "$H/link"`, "$H/link", nowhere},
	{"fifo in home", `mkfifo "$H/fifo"`, "$H/fifo", nowhere},
	{"socket in home", `python3 -c 'import os, socket; socket.socket(socket.AF_UNIX).bind(os.environ["H"]+"/sock")'`, "$H/sock", nowhere},
	{"through a symlink to a directory", `echo x >home/through`, "$H/through", nowhere},
	{"through a symlink to a file", `echo x >file`, "$H/seed4", nowhere},
	{"through a symlink of its own", `ln -s "$H" "$T/own"; echo x >"$T/own/through2"`, "$H/through2", nowhere},
	{"through .. of a symlink", `echo x >home/../home/through3`, "$H/through3", nowhere},
	{"through /proc/self/cwd", `cd "$H" && echo x >/proc/self/cwd/cwd; cd "$W"`, "$H/cwd", nowhere},
	{"mv out", `mv seed5 "$H/moved"`, "$H/moved", nowhere},
	{"rename out", `python3 -c 'import os; os.rename("seed6", os.environ["H"]+"/renamed")'`, "$H/renamed", nowhere},
	{"rename in", `python3 -c 'import os; os.rename(os.environ["H"]+"/seed5", "stolen")'`, "$H/seed5", nowhere},
	{"rename in home", `mv "$H/seed6" "$H/seed6.old"`, "$H/seed6", nowhere},
	{"hard link in, and write", `ln "$H/seed7" linked && echo x >>linked`, "$H/seed7", nowhere},
	{"hard link out", `ln seed7 "$H/linked"`, "$H/linked", nowhere},
	{"a child", `sh -c 'sh -c "echo x >\"\$H/child\""; true'`, "$H/child", nowhere},
	{"a background job", `(echo x >"$H/job") & wait`, "$H/job", nowhere},
	{"a session of its own", `setsid -w sh -c 'echo x >"$H/setsid"'`, "$H/setsid", nowhere},
	{"bash -c", `bash -c 'echo x >"$H/bash"'`, "$H/bash", nowhere},
	{"python", `python3 -c 'import os; open(os.environ["H"]+"/py", "w").write("x")'`, "$H/py", nowhere},
	{"/dev/null, /dev/tty and the like", `echo x >/dev/null && stty size >/dev/tty && echo x >/dev/full; touch "$T/../dev"; [ -w /dev/tty ] && stty -F /dev/tty -a >/dev/null && echo terminal`, "terminal", anywhere},
	{"read everything", `cat "$H/seed8" /etc/passwd >/dev/null && echo readable`, "readable", anywhere},
	{"a new terminal", `script -qec 'test -t 0 && echo new''pty' /dev/null`, "newpty", anywhere},
	{"shared memory", `python3 -c 'import multiprocessing; multiprocessing.Lock(); print("sem""aphore")'`, "semaphore", workspace},
	{"signal an outside process", `kill -USR1 "$P" && echo sig''nalled`, "signalled", nowhere},
	{"signal an own child", `sleep 100 & kill $!; wait $!; [ $? = 143 ] && echo own''child`, "ownchild", anywhere},
	{"setuid programs gain nothing", `grep -q 'NoNewPrivs:.*0' /proc/self/status && echo may''gain`, "maygain", nowhere},
}

// TestSandboxMatrix has every mode meet every attempt on the real kernel, and
// looks at what came of it from outside.
func TestSandboxMatrix(t *testing.T) {
	need(t, "bash", "python3", "script", "setsid", "sleep")
	for _, ordinary := range []bool{false, true} {
		user := "as the test"
		if ordinary {
			user = "as an ordinary user"
		}
		for i, mode := range []string{"read-only", "workspace-write", "danger-full-access"} {
			t.Run(user+"/"+mode, func(t *testing.T) {
				g := newGround(t, ordinary)
				g.plant(t)
				outside := g.command("sleep", newMark())
				outside.Env = nil
				if err := outside.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = outside.Process.Kill(); _ = outside.Wait() }) // it may have been ended
				s := g.server(t, "--sandbox-mode", mode)
				id := open(t, s)
				expand := strings.NewReplacer("$W", g.workspace, "$T", g.temp, "$H", g.home)
				s.must(t, "terminal_send", map[string]any{"sessionId": id, "text": fmt.Sprintf("P=%d", outside.Process.Pid)})
				for _, x := range tries {
					path := expand.Replace(x.changes)
					before := look(path)
					r := s.must(t, "terminal_send", map[string]any{"sessionId": id, "text": x.command})
					happened := look(path) != before
					if !filepath.IsAbs(path) {
						happened = strings.Contains(r.body(), path)
					}
					if happened != x.allowed[i] {
						t.Errorf("%s: happened %v, want %v; it said: %s", x.name, happened, x.allowed[i], r.text)
					}
					if r.facts["waitReason"] != "stdin_read" {
						t.Errorf("%s: %s, want an observed wait", x.name, r.text)
					}
				}
			})
		}
	}
}

// plant makes what the attempts find.
func (g *ground) plant(t *testing.T) {
	t.Helper()
	for i := range 8 {
		g.write(t, fmt.Sprintf("%s/seed%d", g.workspace, i+1), "seed")
		g.write(t, fmt.Sprintf("%s/seed%d", g.home, i+1), "seed")
	}
	for link, target := range map[string]string{"home": g.home, "file": g.home + "/seed4"} {
		if err := os.Symlink(target, g.workspace+"/"+link); err != nil {
			t.Fatal(err)
		}
		g.give(t, g.workspace+"/"+link)
	}
}

// look describes what is at a path.
func look(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return "nothing"
	}
	content := ""
	if info.Mode().IsRegular() {
		b, err := os.ReadFile(path)
		content = fmt.Sprint(string(b), err)
	}
	return fmt.Sprint(info.Mode(), content)
}

// TestSandboxAndDebuggers: what runs inside can be debugged, what runs outside
// cannot, not even by root.
func TestSandboxAndDebuggers(t *testing.T) {
	need(t, "bash", "gdb", "sleep")
	for _, ordinary := range []bool{false, true} {
		for _, mode := range []string{"read-only", "workspace-write", "danger-full-access"} {
			t.Run(fmt.Sprintf("%s ordinary user %v", mode, ordinary), func(t *testing.T) {
				g := newGround(t, ordinary)
				outside := g.command("sleep", newMark())
				if err := outside.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = outside.Process.Kill(); _ = outside.Wait() }) // only killed here
				s := g.server(t, "--sandbox-mode", mode)
				id := open(t, s)
				attach := func(pid string) reply {
					return s.must(t, "terminal_send", map[string]any{"sessionId": id,
						"text": `gdb -nx -batch -iex 'set debuginfod enabled off' -ex 'info proc' -p ` + pid})
				}
				r := attach(fmt.Sprint(outside.Process.Pid))
				if strings.Contains(r.body(), "cmdline = 'sleep") {
					if mode != "danger-full-access" {
						t.Errorf("gdb attached to an outside process: %s", r.text)
					}
				} else if mode == "danger-full-access" && os.Getuid() == 0 && !ordinary {
					t.Errorf("gdb did not attach without a sandbox: %s", r.text)
				}
				// The shell's own child; under Yama only its ancestors may, so gdb starts it.
				r = s.must(t, "terminal_send", map[string]any{"sessionId": id,
					"text": `gdb -nx -batch -iex 'set debuginfod enabled off' -ex 'starti 1' -ex 'info proc' -ex kill /bin/sleep`})
				if !strings.Contains(r.body(), "cmdline = '/") {
					t.Errorf("gdb did not run a program inside: %s", r.text)
				}
			})
		}
	}
}

func TestWorkspaceWriteIsTheDefault(t *testing.T) {
	need(t, "bash")
	g := newGround(t, false)
	s := g.server(t)
	id := open(t, s)
	s.must(t, "terminal_send", map[string]any{"sessionId": id, "text": `echo x >inside; echo x >"$H/outside"`})
	if look(g.workspace+"/inside") == "nothing" || look(g.home+"/outside") != "nothing" {
		t.Errorf("in the workspace %s, in home %s", look(g.workspace+"/inside"), look(g.home+"/outside"))
	}
}

func TestSandboxWritableOpensMore(t *testing.T) {
	need(t, "sh")
	g := newGround(t, false)
	if err := os.Symlink(g.home, g.temp+"/link"); err != nil {
		t.Fatal(err)
	}
	s := g.server(t, "--sandbox-writable", g.temp+"/link")
	open(t, s)
	s.must(t, "terminal_open", map[string]any{"command": []string{"sh", "-c", `echo x >"$H/file"`}, "cwd": "/"})
	if look(g.home+"/file") == "nothing" {
		t.Error("a directory of sandbox.writable cannot be written")
	}
}

// TestRootsThatWouldOpenEverything are refused when a terminal is opened, not
// earlier.
func TestRootsThatWouldOpenEverything(t *testing.T) {
	need(t, "bash")
	g := newGround(t, false)
	link := g.temp + "/link"
	if err := os.Symlink(g.home, link); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{"/", g.home, filepath.Dir(g.home), link, g.home + "/../home/."} {
		s := g.server(t, "--workspace-root", root)
		r, err := s.tool("terminal_open", nil)
		if err != nil || r.facts["code"] != "SANDBOX_UNAVAILABLE" || !strings.Contains(r.text, "workspaceRoot") ||
			!strings.Contains(r.text, "danger-full-access") {
			t.Errorf("root %s: got %v, %s; want SANDBOX_UNAVAILABLE that names workspaceRoot", root, err, r.text)
		}
		if r := s.must(t, "terminal_list", nil); r.isError {
			t.Errorf("root %s: %s", root, r.text)
		}
		// Nothing can be written there, so it can be anywhere.
		open(t, g.server(t, "--workspace-root", root, "--sandbox-mode", "read-only"))
	}
}

// TestReplacedWorkspace renames the workspace and puts a link in its place: a
// later session must not write where it leads.
func TestReplacedWorkspace(t *testing.T) {
	need(t, "bash")
	g := newGround(t, false)
	inner := g.temp + "/project" // in a directory that sessions can write
	if err := os.Mkdir(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	s := g.server(t, "--workspace-root", inner)
	id := open(t, s)
	s.must(t, "terminal_send", map[string]any{"sessionId": id, "text": `cd / && mv "$T/project" "$T/old" && ln -s "$H" "$T/project"`})
	r, err := s.tool("terminal_open", map[string]any{"command": []string{"sh", "-c", `echo x >"$H/file"`}})
	if err != nil || r.facts["code"] != "SANDBOX_UNAVAILABLE" || !strings.Contains(r.text, "symbolic link") {
		t.Errorf("got %v, %s; want SANDBOX_UNAVAILABLE that tells of the link", err, r.text)
	}
	if look(g.home+"/file") != "nothing" {
		t.Error("it wrote outside")
	}
}

// TestCachesOfConfinedTerminals are private, shared by the sessions of a server,
// and gone with it, however it ends.
func TestCachesOfConfinedTerminals(t *testing.T) {
	need(t, "bash")
	names := []string{"XDG_CACHE_HOME", "GOCACHE", "npm_config_cache", "HISTFILE"}
	const show = `echo "$XDG_CACHE_HOME|$GOCACHE|$npm_config_cache|$HISTFILE"`
	for _, end := range []string{"end of input", "SIGTERM", "SIGKILL"} {
		t.Run(end, func(t *testing.T) {
			g := newGround(t, false)
			s := g.server(t, "--dispose-grace-ms", "100")
			id := open(t, s)
			r := s.must(t, "terminal_send", map[string]any{"sessionId": id, "text": show})
			paths := strings.Split(strings.TrimSpace(r.body()), "|")
			second := s.must(t, "terminal_open", map[string]any{"text": show})
			if len(paths) != len(names) || !strings.Contains(second.text, r.body()) {
				t.Fatalf("first %s, second %s; want four names, the same", r.text, second.text)
			}
			private := filepath.Dir(paths[0])
			for i, path := range paths {
				if filepath.Dir(path) != private || filepath.Dir(private) != g.temp {
					t.Errorf("%s is %s, want it in a directory in %s", names[i], path, g.temp)
				}
			}
			if info, err := os.Stat(private); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("got %v, %v, want a directory with mode 0700", info, err)
			}
			s.must(t, "terminal_send", map[string]any{"sessionId": id,
				"text": `mkdir -p "$GOCACHE/a" "$XDG_CACHE_HOME/ro" && touch "$GOCACHE/a/b" "$XDG_CACHE_HOME/ro/x" && chmod 500 "$XDG_CACHE_HOME/ro"`})
			switch end {
			case "end of input":
				_ = s.in.Close() // seen by its exit
				if code, err := s.exit(); err != nil || code != 0 {
					t.Errorf("exit: %d, %v", code, err)
				}
			default:
				if err := s.signal(end); err != nil {
					t.Fatal(err)
				}
				<-s.ended
			}
			var left []os.DirEntry
			empty := func() bool { left, _ = os.ReadDir(g.temp); return len(left) == 0 }
			if end == "SIGKILL" && !eventually(empty) || end != "SIGKILL" && !empty() {
				t.Errorf("left in the temporary directory: %v", left)
			}
		})
	}
	g := newGround(t, false)
	g.env = append(g.env, "XDG_CACHE_HOME=/own/cache", "NPM_CONFIG_CACHE=/own/npm")
	s := g.server(t, "--env-set", "GOCACHE=/own/go")
	open(t, s)
	r := s.must(t, "terminal_open", map[string]any{"text": show, "env": map[string]any{"HISTFILE": "/own/history"}})
	if !strings.Contains(r.body(), "/own/cache|/own/go||/own/history") {
		t.Errorf("what is set changed: %s", r.text)
	}
}

// TestReadOnlyLeavesNothing: the guard may not write either.
func TestReadOnlyLeavesNothing(t *testing.T) {
	need(t, "bash")
	g := newGround(t, false)
	s := g.server(t, "--sandbox-mode", "read-only")
	id := open(t, s)
	r := s.must(t, "terminal_send", map[string]any{"sessionId": id, "text": `echo "[$XDG_CACHE_HOME$GOCACHE]"`})
	if r.body() != "[]" {
		t.Errorf("caches that nobody can write are named: %s", r.text)
	}
	if left, err := os.ReadDir(g.temp); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	s.must(t, "terminal_close", map[string]any{"sessionId": id})
}

// TestModeIsFixed: nothing that a client sends makes a terminal less confined.
func TestModeIsFixed(t *testing.T) {
	need(t, "sh")
	g := newGround(t, false)
	s := g.server(t, "--sandbox-mode", "read-only")
	open(t, s)
	s.must(t, "terminal_open", map[string]any{"command": []string{"sh", "-c", `echo x >"$H/file"; echo x >"$T/file"`},
		"env": map[string]any{"PTYKEEP_SANDBOX_MODE": "danger-full-access", "TMPDIR": g.home, "HOME": "/"}, "cwd": g.home})
	if look(g.home+"/file") != "nothing" || look(g.temp+"/file") != "nothing" {
		t.Error("it was written")
	}
}
