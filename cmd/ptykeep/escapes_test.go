package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNothingEscapes ends sessions in every way there is, with everything in
// them that is known to survive such an end, and wants nothing left of them and
// nothing else touched: neither the neighbour in the same server, nor another
// server's session.
func TestNothingEscapes(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("needs /proc")
	}
	z := newZoo(t)
	other := z.open(t, z.server(t))
	rounds := 2
	if os.Getenv("PTYKEEP_TEST_LONG") == "1" {
		rounds = 100
	}
	for i := range rounds {
		z.roundOfEnds(t, other)
		if t.Failed() {
			t.Fatalf("in round %d", i+1)
		}
	}
	other.close(t)
	other.isGone(t, "close")
}

func (z *zoo) roundOfEnds(t *testing.T, other *pen) {
	s := z.server(t)
	neighbour := z.open(t, s)

	p := z.open(t, s)
	p.close(t)
	p.isGone(t, "close")

	p = z.open(t, s)
	p.exit(t)
	p.close(t)
	p.isGone(t, "exit and close")

	// The tree goes without being asked to; the close only reports.
	p = z.open(t, s)
	p.killGuard(t)
	p.goes(t, "SIGKILL of the guard")
	if list := s.must(t, "terminal_list", nil); !strings.Contains(list.text, p.id) || !strings.Contains(list.text, "exited") {
		t.Errorf("a session without its guard is listed as %s", list.text)
	}
	if r := p.close(t); r.facts["ended"].(float64) < zooDeaf {
		t.Errorf("ended %v, want all: %s", r.facts["ended"], r.text)
	}

	p = z.open(t, s)
	p.killGuard(t)
	p.close(t)
	p.isGone(t, "SIGKILL of the guard and close")

	neighbour.lives(t)
	other.lives(t)

	_ = s.in.Close() // of a pipe: never fails
	if code, err := s.exit(); code != 0 || err != nil {
		t.Errorf("after end of input: status %d, %v", code, err)
	}
	neighbour.isGone(t, "end of input")

	for _, end := range []struct {
		signal string
		code   int
	}{{"SIGTERM", 0}, {"SIGKILL", -1}} {
		p := z.open(t, z.server(t))
		if err := p.server.signal(end.signal); err != nil {
			t.Fatal(err)
		}
		if code, err := p.server.exit(); code != end.code || err != nil {
			t.Errorf("after %s: status %d, %v, want %d", end.signal, code, err, end.code)
		}
		p.goes(t, end.signal)
	}
	other.lives(t)
}

// TestStrangersOfTheServerLiveOn kills a guard under a server that was started
// with children, by whoever executed it: they are no session's.
func TestStrangersOfTheServerLiveOn(t *testing.T) {
	need(t, "bash", "sh", "setsid")
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("needs /proc")
	}
	stranger, own := newMark(), newMark()
	// The second stranger is an orphan: it comes to the server later, as what the
	// guard leaves does.
	cmd := exec.Command("sh", "-c", `sh -c 'read x; sleep "$1" & exit' sh `+stranger+`2 <"$2" & sleep "$1" & exec "$0" mcp --shell /bin/bash --dispose-grace-ms 300 --log-level debug`,
		binary, stranger+"1", fifo(t))
	s := start(t, cmd)
	t.Cleanup(func() { killMarked(t, stranger) })
	opened := s.must(t, "terminal_open", nil)
	pid, _ := opened.facts["pid"].(float64)
	p := &pen{server: s, id: opened.facts["sessionId"].(string), mark: own, pid: int(pid)}
	s.must(t, "terminal_send", map[string]any{"sessionId": p.id, "text": "sleep " + own + "1 & setsid sleep " + own + "2 & (sleep " + own + "3 &)"})
	if err := os.WriteFile(cmd.Args[len(cmd.Args)-1], []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	if !eventually(func() bool { return len(processes("sleep "+stranger)) == 2 && len(processes("sleep "+own)) == 3 }) {
		t.Fatalf("not all there: %v, %v", processes(stranger), processes(own))
	}
	p.killGuard(t)
	r := s.must(t, "terminal_close", map[string]any{"sessionId": p.id})
	p.isGone(t, "SIGKILL of the guard and close")
	if left := processes("sleep " + stranger); len(left) != 2 {
		t.Errorf("of two strangers there are left %v", left)
	}
	// A control group tells what is whose; without one it may not be all.
	if fenced := !strings.Contains(s.log(), "no control group"); strings.Contains(r.text, "partly") == fenced {
		t.Errorf("control groups: %v, but the close says: %s", fenced, r.text)
	}
}

// fifo makes a pipe with a name.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// killMarked kills what a test started outside of any session.
func killMarked(t *testing.T, mark string) {
	t.Helper()
	for _, line := range processes(mark) {
		pid, _, _ := strings.Cut(line, ":")
		if n, err := strconv.Atoi(pid); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL) // it may have ended
		}
	}
}

// A guard that somebody has stopped does its work all the same.
func TestStoppedGuardEndsItsTree(t *testing.T) {
	need(t, "bash", "setsid")
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("needs /proc")
	}
	for _, end := range []string{"close", "SIGKILL"} {
		t.Run(end, func(t *testing.T) {
			s := start(t, exec.Command(binary, "mcp", "--shell", "/bin/bash", "--dispose-grace-ms", "300"))
			opened := s.must(t, "terminal_open", nil)
			pid, _ := opened.facts["pid"].(float64)
			p := &pen{server: s, id: opened.facts["sessionId"].(string), mark: newMark(), pid: int(pid)}
			s.must(t, "terminal_send", map[string]any{"sessionId": p.id, "text": "sleep " + p.mark + " & setsid sleep " + p.mark + " &"})
			if !eventually(func() bool { return len(processes(p.mark)) == 2 }) {
				t.Fatalf("runs %v", processes(p.mark))
			}
			guard := p.signalGuard(t, syscall.SIGSTOP)
			if !eventually(func() bool {
				stat, err := os.ReadFile("/proc/" + strconv.Itoa(guard) + "/stat")
				return err == nil && strings.Contains(string(stat), ") T ")
			}) {
				t.Fatal("the guard does not stop")
			}
			if end == "close" {
				p.close(t)
				p.isGone(t, end)
				return
			}
			if err := s.signal(end); err != nil {
				t.Fatal(err)
			}
			p.goes(t, end)
		})
	}
}
