package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// delegated returns a control group that an ordinary user may write.
func delegated(t *testing.T, uid int) (dir string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to make a control group")
	}
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		if _, err := os.Stat(root + "/cgroup.procs"); err != nil {
			continue
		}
		dir = fmt.Sprintf("%s/test-of-%d", root, os.Getpid())
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Skipf("needs a control group: %v", err)
		}
		t.Cleanup(func() {
			if !eventually(func() bool { return os.Remove(dir) == nil }) {
				t.Errorf("%s cannot be removed", dir)
			}
		})
		if _, err := os.Stat(dir + "/cgroup.kill"); err != nil {
			t.Skip("needs Linux 5.14")
		}
		for _, file := range []string{dir, dir + "/cgroup.procs"} {
			if err := os.Chown(file, uid, -1); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	t.Skip("needs control groups of version 2")
	return ""
}

// In a control group of its own the server ends what it may not signal, and
// leaves no group behind.
func TestControlGroupEndsAnotherUsersProgram(t *testing.T) {
	var group string
	other, s := asNobody(t, func(cmd *exec.Cmd) {
		group = delegated(t, int(cmd.SysProcAttr.Credential.Uid))
		fd, err := os.Open(group)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = fd.Close() }) // a directory
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(fd.Fd())
	})
	mark := newMark()
	t.Cleanup(func() { killMarked(t, mark) })
	neighbour := s.must(t, "terminal_open", map[string]any{"command": []string{"sleep", mark + "9"}, "timeoutMs": 0}).facts["sessionId"]
	id := s.must(t, "terminal_open", nil).facts["sessionId"]
	s.must(t, "terminal_send", map[string]any{"sessionId": id, "timeoutMs": 500,
		"text": fmt.Sprintf("sleep %s1 & %s sh -c 'trap \"\" INT QUIT HUP TERM; sleep %s3'", mark, other, mark)})
	if !eventually(func() bool { return len(processes("sleep "+mark)) >= 3 }) {
		t.Fatalf("runs only %v", processes(mark))
	}
	if dirs, err := filepath.Glob(group + "/ptykeep-*"); err != nil || len(dirs) != 2 {
		t.Errorf("control groups: %v, %v, want one for each session", dirs, err)
	}
	r := s.must(t, "terminal_close", map[string]any{"sessionId": id})
	// The shell may go with the hang-up, before anybody counts.
	if fmt.Sprint(r.facts["survivors"]) != "[]" || r.facts["ended"].(float64) < 2 || !strings.Contains(r.text, "2 of them killed") {
		t.Errorf("close: %s; log: %s", r.text, s.log())
	}
	if left := processes(mark); len(left) != 1 || !strings.Contains(left[0], mark+"9") {
		t.Errorf("left %v, want the neighbour", left)
	}
	s.must(t, "terminal_close", map[string]any{"sessionId": neighbour})
	if !eventually(func() bool { dirs, _ := filepath.Glob(group + "/ptykeep-*"); return len(dirs) == 0 }) {
		t.Error("a control group is left")
	}
}
