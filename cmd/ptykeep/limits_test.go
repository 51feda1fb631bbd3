package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestNoTerminalLeftIsAClearError gives a server three terminals of its own.
func TestNoTerminalLeftIsAClearError(t *testing.T) {
	need(t, "bash", "sh")
	// A private instance of the file system that makes terminals (mount(8), devpts).
	own := `mount -t devpts -o newinstance,max=3,ptmxmode=0666 devpts /dev/pts && mount --bind /dev/pts/ptmx /dev/ptmx`
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount")
	}
	need(t, "unshare")
	if out, err := exec.Command("unshare", "-m", "sh", "-c", own).CombinedOutput(); err != nil {
		t.Skipf("needs a private devpts: %v: %s", err, out)
	}
	s := start(t, exec.Command("unshare", "-m", "sh", "-c", own+` && exec "$0" mcp --shell /bin/bash`, binary))
	var ids []any
	for range 3 {
		ids = append(ids, s.must(t, "terminal_open", nil).facts["sessionId"])
	}
	exhausted(t, s, ids)
}

// TestProcessBomb lets a session use up what its user may have.
func TestProcessBomb(t *testing.T) {
	need(t, "bash", "ps")
	cmd := exec.Command(binary, "mcp", "--shell", "/bin/bash", "--dispose-grace-ms", "300", "--sandbox-mode", "danger-full-access")
	asOrdinaryUser(t, cmd)
	s := start(t, cmd)
	mark := newMark()
	id := s.must(t, "terminal_open", nil).facts["sessionId"]
	// A limit on the session's own forks; the server has none. Relative to what
	// the user runs already: threads count.
	s.must(t, "terminal_send", map[string]any{"sessionId": id, "text": `ulimit -u $(($(ps -u $UID -L | wc -l) + 120)) && echo limited`})
	s.must(t, "terminal_send", map[string]any{"sessionId": id, "timeoutMs": 1000,
		"text": "f() { f & f & exec sleep " + mark + "; }; f"})
	if !eventually(func() bool { return len(processes("sleep "+mark)) > 30 }) {
		t.Fatalf("no bomb: %v", s.must(t, "terminal_read", map[string]any{"sessionId": id}).text)
	}
	s.must(t, "terminal_list", nil)
	s.must(t, "terminal_read", map[string]any{"sessionId": id})
	s.must(t, "terminal_close", map[string]any{"sessionId": id})
	if left := processes(mark); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if r := s.must(t, "terminal_open", map[string]any{"command": []string{"echo", "works"}}); r.body() != "works" {
		t.Errorf("after it: %s", r.text)
	}
}

// exhausted wants that no session can be opened, that those of ids work on, and
// that the end of one makes room.
func exhausted(t *testing.T, s *stdioServer, ids []any) {
	t.Helper()
	for range 3 {
		r, err := s.tool("terminal_open", nil)
		if err != nil || r.facts["code"] != "RESOURCE_LIMIT" || !strings.Contains(r.text, fmt.Sprint(len(ids))) {
			t.Fatalf("open %d: %v, %s; want RESOURCE_LIMIT", len(ids)+1, err, r.text)
		}
	}
	for _, id := range ids {
		if r := s.must(t, "terminal_send", map[string]any{"sessionId": id, "text": "echo works"}); r.body() != "works" {
			t.Errorf("a session that is open: %s", r.text)
		}
	}
	s.must(t, "terminal_close", map[string]any{"sessionId": ids[0]})
	s.must(t, "terminal_open", nil)
}

func TestOwnerHasSoManySessions(t *testing.T) {
	need(t, "bash")
	s := start(t, exec.Command(binary, "mcp", "--shell", "/bin/bash", "--max-sessions", "2"))
	var ids []any
	for range 2 {
		ids = append(ids, s.must(t, "terminal_open", nil).facts["sessionId"])
	}
	exhausted(t, s, ids)
	// One that has exited counts until it is closed.
	s.must(t, "terminal_send", map[string]any{"sessionId": ids[1], "text": "exit"})
	if r, err := s.tool("terminal_open", nil); err != nil || r.facts["code"] != "RESOURCE_LIMIT" {
		t.Errorf("open beside one that has exited: %v, %s", err, r.text)
	}
	s.must(t, "terminal_close", map[string]any{"sessionId": ids[1]})
	s.must(t, "terminal_open", nil)
}
