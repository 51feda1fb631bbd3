package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// nobody is the user of the programs that the server may not signal.
const nobody = 65534

// asNobody returns the command line of a program that runs as another user
// than the server, what sudo is elsewhere, and a server as an ordinary user that
// was changed before its start.
func asNobody(t *testing.T, change ...func(*exec.Cmd)) (prefix string, s *stdioServer) {
	t.Helper()
	need(t, "bash", "sh", "setpriv")
	if os.Getuid() != 0 {
		t.Skip("needs root, to make a program set-user-ID")
	}
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path, err := exec.LookPath("setpriv")
	if err != nil {
		t.Fatal(err)
	}
	from, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }() // only read
	other := filepath.Join(dir, "other")
	to, err := os.OpenFile(other, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(to, from)
	if closed := to.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Chown(other, nobody, nobody)
	}
	if err == nil {
		err = os.Chmod(other, 0o755|os.ModeSetuid)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "mcp", "--shell", "/bin/bash", "--dispose-grace-ms", "200", "--sandbox-mode", "danger-full-access")
	asOrdinaryUser(t, cmd)
	for _, f := range change {
		f(cmd)
	}
	s = start(t, cmd)
	prefix = fmt.Sprintf("%s --reuid %d ", other, nobody)
	probe := exec.Command(other, "--reuid", fmt.Sprint(nobody), "sh", "-c", "id -ru")
	asOrdinaryUser(t, probe)
	if out, err := probe.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != fmt.Sprint(nobody) {
		t.Skipf("needs set-user-ID programs: %v: %s", err, out)
	}
	return prefix, s
}

// Only the terminal's own signals reach another user's program.
func TestForeignProgramEndsByTheTerminal(t *testing.T) {
	other, s := asNobody(t)
	for _, c := range []struct{ name, shell, run string }{
		{"interrupt", "", "sleep %s"},
		{"quit", "", `sh -c 'trap "" INT HUP; sleep %s'`},
		{"hang-up of the shell", "", `sh -c 'trap "" INT QUIT; sleep %s & wait'`},
		{"hang-up of the terminal", "command", `sh -c 'trap "" INT QUIT TERM; sleep %s & wait'`},
	} {
		t.Run(c.name, func(t *testing.T) {
			mark := newMark()
			t.Cleanup(func() { killMarked(t, mark) })
			line := other + fmt.Sprintf(c.run, mark)
			args := map[string]any{}
			if c.shell == "command" {
				args = map[string]any{"command": []string{"sh", "-c", "exec " + line}, "timeoutMs": 1000}
			}
			id := s.must(t, "terminal_open", args).facts["sessionId"]
			if c.shell == "" {
				s.must(t, "terminal_send", map[string]any{"sessionId": id, "text": line, "timeoutMs": 500})
			}
			if !eventually(func() bool { return len(processes("sleep "+mark)) > 0 }) {
				t.Fatalf("nothing runs")
			}
			r := s.must(t, "terminal_close", map[string]any{"sessionId": id})
			if left := processes(mark); len(left) > 0 || r.facts["killed"] != true {
				t.Errorf("left %v: %s", left, r.text)
			}
		})
	}
}

// What nothing reaches is named, and does not keep the rest alive.
func TestForeignSurvivorIsReported(t *testing.T) {
	other, s := asNobody(t)
	mark := newMark()
	t.Cleanup(func() { killMarked(t, mark) })
	id := s.must(t, "terminal_open", nil).facts["sessionId"]
	s.must(t, "terminal_send", map[string]any{"sessionId": id, "timeoutMs": 500,
		"text": fmt.Sprintf("sleep %s1 & setsid sleep %s2 & %s sh -c 'trap \"\" INT QUIT HUP TERM; sleep %s3'", mark, mark, other, mark)})
	if !eventually(func() bool { return len(processes("sleep "+mark)) >= 3 }) {
		t.Fatalf("runs only %v", processes(mark))
	}
	r, err := s.tool("terminal_close", map[string]any{"sessionId": id})
	if err != nil || r.facts["code"] != "CLEANUP_FAILED" {
		t.Fatalf("close: %v, %s, want CLEANUP_FAILED", err, r.text)
	}
	var left []string
	for _, x := range r.facts["survivors"].([]any) {
		p := x.(map[string]any)
		left = append(left, fmt.Sprint(p["command"], " of ", p["uid"]))
		if !strings.Contains(r.text, fmt.Sprint(p["pid"])) {
			t.Errorf("%v is not named in %s", p, r.text)
		}
	}
	if want := "[sh of 65534 sleep of 65534]"; fmt.Sprint(left) != want || !strings.Contains(r.text, "another user") {
		t.Errorf("survivors %v, want %s: %s", left, want, r.text)
	}
	if now := processes(mark); len(now) != 2 || strings.Count(strings.Join(now, " "), mark+"3") != 2 {
		t.Errorf("left %v, want what cannot be signalled only", now)
	}
	if !strings.Contains(s.log(), "survivors") {
		t.Errorf("the log does not tell: %s", s.log())
	}
	if list := s.must(t, "terminal_list", nil); !strings.Contains(list.text, fmt.Sprint(id)) {
		t.Errorf("the session is not listed: %s", list.text)
	}
	killMarked(t, mark)
	s.must(t, "terminal_close", map[string]any{"sessionId": id})
}
