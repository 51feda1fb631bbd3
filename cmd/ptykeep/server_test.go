package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// start starts a server for a test and greets it.
func start(t *testing.T, cmd *exec.Cmd) *stdioServer {
	t.Helper()
	return startAsIs(t, unconfined(cmd))
}

// startAsIs is start with the sandbox that cmd gets by itself.
func startAsIs(t *testing.T, cmd *exec.Cmd) *stdioServer {
	t.Helper()
	s, err := startStdio(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	if err := s.greet(); err != nil {
		t.Fatal(err)
	}
	return s
}

// must calls a tool and fails the test if that fails.
func (s *stdioServer) must(t *testing.T, tool string, args map[string]any) reply {
	t.Helper()
	r, err := s.tool(tool, args)
	if err != nil || r.isError || r.rpcError != "" {
		t.Fatalf("%s %v: %v, %s%s", tool, args, err, r.text, r.rpcError)
	}
	return r
}

// asOrdinaryUser makes cmd run as a user without privileges: the test's own, or
// the one that the environment names for root.
func asOrdinaryUser(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.Dir = "/"
	if os.Getuid() != 0 {
		return
	}
	name := os.Getenv("PTYKEEP_TEST_USER")
	if name == "" {
		t.Skip("needs PTYKEEP_TEST_USER, a user to run as instead of root")
	}
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	if uidErr != nil || gidErr != nil {
		t.Fatal(uidErr, gidErr)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	cmd.Env = append(cmd.Env, "HOME="+u.HomeDir)
}

func TestShellCannotReadTheServersSecrets(t *testing.T) {
	need(t, "bash", "awk", "tr")
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("needs /proc")
	}
	cmd := exec.Command(binary, "mcp", "--shell", "/bin/bash")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HIDDEN_TOKEN=hunter2-of-the-server"}
	asOrdinaryUser(t, cmd)
	s := start(t, cmd)
	id := s.must(t, "terminal_open", nil).facts["sessionId"]
	r := s.must(t, "terminal_send", map[string]any{"sessionId": id, "text": `p=$$; while [ "$p" -gt 1 ]; do echo "pid $p"; tr '\0' '\n' </proc/$p/environ; ls -l /proc/$p/fd; p=$(awk '/^PPid/ {print $2}' /proc/$p/status); done; env`})
	if strings.Contains(r.text, "hunter2") {
		t.Errorf("the secret is readable: %s", r.text)
	}
	server := fmt.Sprintf("pid %d", s.cmd.Process.Pid)
	if _, after, ok := strings.Cut(r.body(), server); !ok || !strings.Contains(after, "denied") {
		t.Errorf("the shell did not look at the server, or was not refused: %s", r.text)
	}
}

func TestProgramHasOnlyItsThreeDescriptors(t *testing.T) {
	need(t, "sh")
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("needs /proc")
	}
	// A descriptor that the server itself inherited must not go on, either.
	spare, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = spare.Close() }() // only read
	cmd := exec.Command(binary, "mcp")
	cmd.ExtraFiles = []*os.File{spare, spare}
	s := start(t, cmd)
	r := s.must(t, "terminal_open", map[string]any{"command": []string{"sh", "-c",
		`i=0; while [ $i -lt 300 ]; do if [ -e /proc/$$/fd/$i ]; then echo $i; fi; i=$((i+1)); done`}})
	if r.body() != "0\n1\n2" {
		t.Errorf("descriptors %q, want 0, 1, 2", r.body())
	}
}

// TestBusySessionsDelayNobody pipelines twelve sends that stay in flight, and then
// a list and signals: those have to be answered first.
func TestBusySessionsDelayNobody(t *testing.T) {
	need(t, "bash")
	s := start(t, exec.Command(binary, "mcp", "--shell", "/bin/bash"))
	var ids []any
	for range 12 {
		ids = append(ids, s.must(t, "terminal_open", nil).facts["sessionId"])
	}
	call := func(id int, tool string, args map[string]any) {
		t.Helper()
		line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": "tools/call",
			"params": map[string]any{"name": tool, "arguments": args}})
		if err == nil {
			err = s.write(string(line))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, id := range ids {
		call(1000+i, "terminal_send", map[string]any{"sessionId": id, "text": "sleep 600", "timeoutMs": 600000})
	}
	call(2000, "terminal_list", map[string]any{})
	line, err := s.readLine()
	if err != nil || !strings.Contains(line, `"id":2000`) {
		t.Fatalf("the list was not answered first: %s, %v", line, err)
	}
	// A signal that comes before the shell has started sleep interrupts the
	// shell's own line, so wait until all sleep.
	if !eventually(func() bool {
		r := s.must(t, "terminal_list", nil)
		return strings.Count(r.text, " sleep running") == len(ids)
	}) {
		t.Fatal("not all sessions run sleep")
	}
	for i, id := range ids {
		call(3000+i, "terminal_signal", map[string]any{"sessionId": id, "signal": "SIGINT"})
	}
	answered := map[string]bool{}
	for len(answered) < 2*len(ids) {
		line, err := s.readLine()
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			ID     json.Number
			Result struct{ IsError bool }
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.Result.IsError {
			t.Fatalf("%v in %s", err, line)
		}
		answered[m.ID.String()] = true
	}
}

func TestNothingButJSONOnStdout(t *testing.T) {
	need(t, "bash")
	s := start(t, exec.Command(binary, "mcp", "--shell", "/bin/bash", "--log-level", "debug", "--log-format", "json"))
	id := s.must(t, "terminal_open", nil).facts["sessionId"]
	s.must(t, "terminal_send", map[string]any{"sessionId": id, "text": "echo out; echo err >&2"})
	s.must(t, "terminal_close", map[string]any{"sessionId": id})
	// request fails on anything else.
}

// TestLogKnowsNoInputAndNoOutput greps the most talkative log for what was typed,
// in sight or hidden, printed, and set in environments.
func TestLogKnowsNoInputAndNoOutput(t *testing.T) {
	need(t, "bash", "sh")
	cmd := exec.Command(binary, "mcp", "--shell", "/bin/bash", "--log-level", "debug", "--dispose-grace-ms", "200")
	cmd.Env = append(os.Environ(), "CANARY_TOKEN=canary-of-the-server", "CANARY=canary-of-its-environment")
	s := start(t, cmd)
	id := s.must(t, "terminal_open", map[string]any{"env": map[string]string{"X": "canary-explicit"}, "name": "log"}).facts["sessionId"]
	send := func(args map[string]any) {
		t.Helper()
		args["sessionId"] = id
		if _, err := s.tool("terminal_send", args); err != nil {
			t.Fatal(err)
		}
	}
	send(map[string]any{"text": "read -s x"})
	send(map[string]any{"text": "canary-hidden"})
	send(map[string]any{"text": "echo canary-typed; printf '\\033]0;canary-title\\007\\033[c'"})
	send(map[string]any{"text": "sleep 0.1; echo canary-of-task", "run_in_background": true})
	send(map[string]any{"text": "canary-refused", "timeoutMs": -1})
	send(map[string]any{"text": "echo canary-bad", "until": "("})
	send(map[string]any{"text": "cat /canary-no-such-file", "until": "canary-pattern|No such"})
	for _, args := range []map[string]any{
		{"command": []string{"/canary-no-such-program"}}, {"cwd": "/canary-no-such-directory"}, {"command": []string{"sh", "-c", "exit 3", "canary-argument"}},
	} {
		if _, err := s.tool("terminal_open", args); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.tool("terminal_read", map[string]any{"sessionId": id, "search": "canary"}); err != nil {
		t.Fatal(err)
	}
	s.must(t, "terminal_close", map[string]any{"sessionId": id})
	_ = s.in.Close() // of a pipe: never fails
	if code, err := s.exit(); code != 0 || err != nil {
		t.Errorf("status %d, %v", code, err)
	}
	log := s.log()
	if !strings.Contains(log, "msg=closed") {
		t.Errorf("the log says nothing: %s", log)
	}
	for line := range strings.Lines(log) {
		if strings.Contains(line, "canary") {
			t.Errorf("the log tells: %s", line)
		}
	}
}

func TestBadSettingsStopTheStart(t *testing.T) {
	for _, test := range []struct {
		args, env []string
		says      []string
	}{
		{[]string{"--cols", "10"}, nil, []string{"cols", "20-1000"}},
		{nil, []string{"PTYKEEP_ROWS=4"}, []string{"rows", "5-500"}},
		{nil, []string{"PTYKEEP_TIMEOUT_MS=soon"}, []string{"PTYKEEP_TIMEOUT_MS"}},
		{[]string{"--max-result-bytes", "63"}, nil, []string{"maxResultBytes", "64"}},
		{[]string{"--workspace-root", "/no/such"}, nil, []string{"workspaceRoot"}},
		{[]string{"--sandbox-mode", "none"}, nil, []string{"sandbox.mode"}},
		{[]string{"--shell", "/no/such"}, nil, []string{"shell"}},
		{[]string{"--log-level", "loud"}, nil, []string{"log-level"}},
		{[]string{"--handoff-grace-ms", "40"}, nil, []string{"handoffGraceMs"}},
		{[]string{"--unknown"}, nil, []string{"unknown"}},
	} {
		cmd := exec.Command(binary, append([]string{"mcp"}, test.args...)...)
		cmd.Env = append(os.Environ(), test.env...)
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err == nil || len(out) > 0 {
			t.Errorf("%v %v: error %v, stdout %q", test.args, test.env, err, out)
		}
		for _, word := range test.says {
			if !strings.Contains(errs.String(), word) {
				t.Errorf("%v %v: %q does not say %q", test.args, test.env, errs.String(), word)
			}
		}
	}
}

func TestFlagWinsOverVariable(t *testing.T) {
	need(t, "sh")
	cmd := exec.Command(binary, "mcp", "--cols", "90")
	cmd.Env = append(os.Environ(), "PTYKEEP_COLS=80", "PTYKEEP_ROWS=30")
	s := start(t, cmd)
	r := s.must(t, "terminal_open", map[string]any{"command": []string{"sh", "-c", "stty size"}})
	if r.body() != "30 90" {
		t.Errorf("size %q, want 30 90", r.body())
	}
}

func TestBareProgramServesWhenInputIsNoTerminal(t *testing.T) {
	s := start(t, exec.Command(binary))
	if r := s.must(t, "terminal_list", nil); r.facts["sessions"] == nil {
		t.Errorf("got %s", r.text)
	}
}

func TestDemoComesOutRight(t *testing.T) {
	need(t, "bash", "python3", "gdb", "cc")
	cmd := exec.Command(binary, "demo")
	cmd.Dir = "/" // nothing that a sandbox would open
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Each step came out right.") || strings.Contains(string(out), "skipped") {
		t.Errorf("demo: %v\n%s", err, out)
	}
}

func TestDoctorFindsWhatIsNeeded(t *testing.T) {
	out, err := exec.Command(binary, "doctor").CombinedOutput()
	if err != nil {
		t.Errorf("doctor: %v\n%s", err, out)
	}
	for _, name := range []string{"terminal ", "readiness ", "teardown ", "sandbox ", "shells ", "programs "} {
		if !strings.Contains(string(out), name) {
			t.Errorf("no line for %s:\n%s", name, out)
		}
	}
}
