package teardown

import (
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"github.com/ptykeep/ptykeep/backend"
)

func TestParseStat(t *testing.T) {
	const rest = " 1 7 8 34816 9 4194304 0 0 0 0 0 0 0 0 20 0 1 0 12345 0 0"
	for _, c := range []struct {
		name, in string
		ok       bool
		command  string
	}{
		{"plain", "12 (sleep) S" + rest, true, "sleep"},
		{"blanks and parentheses", "12 (a) b (c) S" + rest, true, "a) b (c"},
		{"zombie", "12 (x) Z" + rest, false, ""},
		{"leading thread ended, others run", "12 (x) Z 1 7 8 34816 9 0 0 0 0 0 0 0 0 0 20 0 3 0 12345 0", true, "x"},
		{"cut short", "12 (x) S 1 2", false, ""},
		{"empty", "", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, ok := parseStat([]byte(c.in))
			if ok != c.ok || s.command != c.command {
				t.Fatalf("got %+v, %v, want command %q, %v for %q", s, ok, c.command, c.ok, c.in)
			}
			if ok && (s.pid != 12 || s.ppid != 1 || s.session != 8 || s.tty != 34816 || s.start != 12345) {
				t.Errorf("got %+v for %q", s, c.in)
			}
		})
	}
}

// sleeper starts a shell with a child and returns it.
func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs sh")
	}
	cmd := exec.Command("sh", "-c", "sleep 600 & echo ready; wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // whatever of the group is left, also without the shell
		_ = cmd.Wait()                                      // killed
	})
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func TestDescendantsAndScanAgree(t *testing.T) {
	cmd := sleeper(t)
	walked, err := Descendants(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	scanned, err := scanDescendants(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	same := func(a, b backend.Process) bool {
		return a.PID == b.PID && a.PPID == b.PPID && a.Start == b.Start // the child may be about to exec
	}
	if !slices.EqualFunc(walked, scanned, same) || len(walked) != 2 {
		t.Errorf("got %v by walking, %v by scanning, want a shell and its child", walked, scanned)
	}
	if walked[0].PID != cmd.Process.Pid || walked[1].PPID != cmd.Process.Pid || walked[0].UID != os.Getuid() {
		t.Errorf("got %v, want the shell %d before its child", walked, cmd.Process.Pid)
	}
	children, err := Children(os.Getpid())
	if err != nil || !slices.Equal(children, walked[:1]) {
		t.Errorf("Children: got %v, %v, want %v", children, err, walked[:1])
	}
}

func TestSendHitsNoLaterProcess(t *testing.T) {
	cmd := sleeper(t)
	p, ok := Inspect(cmd.Process.Pid)
	if !ok {
		t.Fatal("Inspect: got nothing")
	}
	earlier := p
	earlier.Start--
	if err := Send(earlier, syscall.SIGKILL); err != nil {
		t.Errorf("Send: %v", err)
	}
	if now, ok := Inspect(p.PID); !ok || now != p {
		t.Errorf("after a signal to its predecessor: got %v, %v, want %v", now, ok, p)
	}
}

func TestSendToNobodyIsNoError(t *testing.T) {
	cmd := sleeper(t)
	p, _ := Inspect(cmd.Process.Pid)
	if err := Send(p, syscall.SIGKILL); err != nil {
		t.Errorf("Send: %v", err)
	}
	_ = cmd.Wait() // killed
	if err := Send(p, syscall.SIGKILL); err != nil {
		t.Errorf("Send to a process that is gone: %v", err)
	}
	if err := Send(backend.Process{PID: 1 << 22, Start: 1}, syscall.SIGKILL); err != nil {
		t.Errorf("Send to a number that nobody has: %v", err)
	}
}
