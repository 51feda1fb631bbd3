//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// plainServer starts a server without the race detector, which would cost more
// than what is measured. The test is skipped unless a long run was asked for.
func plainServer(t *testing.T) *stdioServer {
	t.Helper()
	if os.Getenv("PTYKEEP_TEST_LONG") != "1" {
		t.Skip("takes a minute; PTYKEEP_TEST_LONG=1 runs it")
	}
	need(t, "bash")
	program := binary
	if raceEnabled {
		program = filepath.Join(t.TempDir(), "ptykeep")
		if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
			t.Fatalf("building: %v: %s", err, out)
		}
	}
	cmd := exec.Command(program, "mcp", "--shell", "/bin/bash", "--shell-args=--norc")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	return start(t, cmd)
}

// spent is the CPU time of a process so far, which has a resolution of 10 ms.
func spent(t *testing.T, pid int32) time.Duration {
	t.Helper()
	p, err := process.NewProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	times, err := p.Times()
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration((times.User + times.System) * float64(time.Second))
}

// family is the CPU time and memory of the server's processes by what they are.
type family struct {
	server, guards, others time.Duration
	count                  int // of guards and others
	memory                 map[string]uint64
}

func measure(t *testing.T, s *stdioServer) family {
	t.Helper()
	all, err := process.Processes()
	if err != nil {
		t.Fatal(err)
	}
	children := map[int32][]*process.Process{}
	for _, p := range all {
		if parent, err := p.Ppid(); err == nil { // or it has ended
			children[parent] = append(children[parent], p)
		}
	}
	server := int32(s.cmd.Process.Pid)
	f := family{server: spent(t, server), memory: map[string]uint64{"server": proportional(t, server)}}
	for queue := children[server]; len(queue) > 0; queue = queue[1:] {
		p := queue[0]
		queue = append(queue, children[p.Pid]...)
		name, err := p.Name()
		if err != nil {
			continue
		}
		f.count++
		if strings.HasPrefix(name, "ptykeep") {
			f.guards += spent(t, p.Pid)
			f.memory["guards"] += proportional(t, p.Pid)
		} else {
			f.others += spent(t, p.Pid)
			f.memory["others"] += proportional(t, p.Pid)
		}
	}
	return f
}

// proportional is the memory of a process, what it shares divided by those who
// share it; where that may not be read, all of it.
func proportional(t *testing.T, pid int32) uint64 {
	t.Helper()
	for _, file := range []struct{ name, field string }{{"smaps_rollup", "Pss:"}, {"status", "VmRSS:"}} {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file.name))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			var kb uint64
			if rest, ok := strings.CutPrefix(line, file.field); ok {
				if _, err := fmt.Sscan(rest, &kb); err != nil {
					t.Fatal(err)
				}
				return kb << 10
			}
		}
	}
	t.Fatalf("memory of process %d cannot be read", pid)
	return 0
}

// since is what was spent since before was measured.
func (f family) since(before family) family {
	f.server, f.guards, f.others = f.server-before.server, f.guards-before.guards, f.others-before.others
	return f
}

// sendLong is a send that may take longer than a test's patience.
func sendLong(t *testing.T, s *stdioServer, limit time.Duration, args map[string]any) reply {
	t.Helper()
	id, err := s.begin("tools/call", map[string]any{"name": "terminal_send", "arguments": args})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case line := <-s.lines:
		s.lines <- line // there is room
	case <-time.After(limit):
		t.Fatalf("no answer in %v; log: %s", limit, s.log())
	}
	raw, rpcError, err := s.await("tools/call", id)
	if err != nil || rpcError != "" {
		t.Fatal(err, rpcError)
	}
	r, err := parseReply(raw)
	if err != nil || r.isError {
		t.Fatal(err, r.text)
	}
	return r
}

// TestSilenceCostsLittle wants at most one percent of a core while a program in
// the foreground is silent.
func TestSilenceCostsLittle(t *testing.T) {
	const pool = `require("fs").stat("/", () => {});` // starts the threads of node's pool
	for _, test := range []struct {
		name, text, reason string
		lasts              time.Duration
		threads            int  // at least
		background         bool // in the foreground it counts as idle after a while
	}{
		{"sleep", "sleep 60", "stdin_read", time.Minute, 1, false},
		{"pipeline", `sleep 30 | sleep 30 | sh -c 'sleep 30; true'`, "stdin_read", 30 * time.Second, 1, false},
		{"node", `node -e '` + pool + `setInterval(() => {}, 1e8)'`, "timeout", 30 * time.Second, 7, false},
		{"node with a short timer", `node -e '` + pool + `setInterval(() => {}, 100)'`, "timeout", 30 * time.Second, 7, false},
		{"node that listens", `node -e '` + pool + `require("http").createServer(() => {}).listen(0, "127.0.0.1")'`, "", 30 * time.Second, 7, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := plainServer(t)
			if test.threads > 1 {
				need(t, "node")
			}
			id := s.must(t, "terminal_open", nil).facts["sessionId"]
			s.must(t, "terminal_send", map[string]any{"sessionId": id, "text": "true"})
			lasts := test.lasts + 5*time.Second
			before, began := measure(t, s), time.Now()
			if test.background {
				task := s.must(t, "terminal_send", map[string]any{"sessionId": id, "text": test.text, "run_in_background": true}).facts["taskId"]
				time.Sleep(lasts)
				if r := s.must(t, "task_output", map[string]any{"taskId": task}); r.facts["status"] != "running" {
					t.Errorf("the task has ended: %s", r.text)
				}
			} else {
				r := sendLong(t, s, lasts+patience, map[string]any{"sessionId": id, "text": test.text, "timeoutMs": lasts.Milliseconds()})
				if r.facts["waitReason"] != test.reason {
					t.Errorf("%s", r.text)
				}
			}
			took, cost, threads := time.Since(began), measure(t, s).since(before), threadsInFront(t, s)
			t.Logf("%v of silence, %d threads in front: server %v (%.2f %% of a core), guard %v, programs %v",
				took.Round(time.Millisecond), threads, cost.server, 100*cost.server.Seconds()/took.Seconds(), cost.guards, cost.others)
			if took < test.lasts || threads < test.threads || cost.server > took/100 {
				t.Errorf("silence of %v with %d threads cost %v; want %v, %d threads, at most one percent", took, threads, cost.server, test.lasts, test.threads)
			}
		})
	}
}

// threadsInFront counts the threads of the foreground's first process.
func threadsInFront(t *testing.T, s *stdioServer) int {
	t.Helper()
	sessions, _ := s.must(t, "terminal_list", nil).facts["sessions"].([]any)
	if len(sessions) == 0 {
		t.Fatal("no session")
	}
	facts, _ := sessions[0].(map[string]any)
	front, _ := facts["foreground"].(map[string]any)
	pid, _ := front["pid"].(float64)
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", int(pid)))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestIdleSessionsCostNothing wants 50 sessions at their prompts to cost no CPU
// that could be measured, and the server to stay small.
func TestIdleSessionsCostNothing(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	for range 50 {
		id := s.must(t, "terminal_open", nil).facts["sessionId"]
		s.must(t, "terminal_send", map[string]any{"sessionId": id, "text": "seq 500; sleep 1000 &"})
	}
	const lasts = 30 * time.Second
	// What the last send left to do is done when nothing is done any more.
	if !eventually(func() bool {
		before := measure(t, s)
		time.Sleep(300 * time.Millisecond)
		return measure(t, s).since(before).server == 0
	}) {
		t.Error("the server never comes to rest")
	}
	before := measure(t, s)
	time.Sleep(lasts)
	after := measure(t, s)
	cost := after.since(before)
	t.Logf("50 sessions, %d processes, %v: server %v (%.3f %% of a core), guards %v, shells %v",
		after.count, lasts, cost.server, 100*cost.server.Seconds()/lasts.Seconds(), cost.guards, cost.others)
	t.Logf("memory: server %d MB, guards %d MB, shells %d MB", after.memory["server"]>>20, after.memory["guards"]>>20, after.memory["others"]>>20)
	if cost.server > lasts/1000 {
		t.Errorf("the server used %v in %v, want at most %v", cost.server, lasts, lasts/1000)
	}
	if after.memory["server"] > 200<<20 {
		t.Errorf("the server holds %d MB, want at most 200", after.memory["server"]>>20)
	}
}
