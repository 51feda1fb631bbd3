package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/process"
	"golang.org/x/sys/unix"
)

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "ptykeep-test-")
	if err == nil {
		err = os.Chmod(dir, 0o755) // another user runs it, too
	}
	if err == nil {
		binary = filepath.Join(dir, "ptykeep")
		args := []string{"build", "-o", binary}
		if raceEnabled {
			args = append(args, "-race")
		}
		var out []byte
		if out, err = exec.Command("go", append(args, ".")...).CombinedOutput(); err != nil {
			err = fmt.Errorf("building: %w: %s", err, out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir) // a temporary directory; the system clears it
	os.Exit(code)
}

// patience bounds every wait of a test: far more than a loaded machine needs.
const patience = 60 * time.Second

// eventually waits for something that happens outside of any process we could
// wait for.
func eventually(ok func() bool) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return true
		}
	}
	return ok()
}

// newMark returns a number of seconds that no other test sleeps for: it finds a
// test's processes by their command line.
func newMark() string {
	markMu.Lock()
	defer markMu.Unlock()
	marks++
	return fmt.Sprintf("%d.%06d%03d", 4000+marks, os.Getpid()%1e6, marks)
}

var (
	markMu sync.Mutex // guards marks
	marks  int
)

// processes returns the command lines that contain mark, of processes that run.
func processes(mark string) []string {
	pids, err := process.Pids()
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	for _, pid := range pids {
		line, err := commandLine(pid)
		if err != nil || !strings.Contains(line, mark) || int(pid) == os.Getpid() {
			continue // what has ended meanwhile is not there
		}
		p := process.Process{Pid: pid}
		if status, err := p.Status(); err == nil && len(status) > 0 && status[0] == process.Zombie {
			continue
		}
		found = append(found, fmt.Sprintf("%d: %s", pid, line))
	}
	return found
}

// commandLine is quick where there is a /proc: what lives for a moment only, and
// leaves a successor, must be met.
func commandLine(pid int32) (string, error) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err == nil {
		return strings.TrimRight(strings.ReplaceAll(string(line), "\x00", " "), " "), nil
	}
	if _, none := os.Stat("/proc/self"); none == nil {
		return "", err
	}
	p := process.Process{Pid: pid}
	return p.Cmdline()
}

// missing reports whether a program is missing; that is an error where
// everything has to be tested.
func missing(program string) (bool, error) {
	_, err := exec.LookPath(program)
	if err != nil && os.Getenv("PTYKEEP_TEST_REQUIRE_ALL") == "1" {
		return true, fmt.Errorf("needs %s: %w", program, err)
	}
	return err != nil, nil
}

// need skips a test that needs a program which is missing.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		switch gone, err := missing(program); {
		case err != nil:
			t.Fatal(err)
		case gone:
			t.Skipf("needs %s", program)
		}
	}
}

// stdioServer is a server and the client's end of its stdio. One call at a time.
type stdioServer struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	lines   chan string // its answers; closed at the end of its output
	errs    *lockedBuffer
	ended   chan struct{} // closed when it has exited
	waitErr error         // set before ended is closed
	next    int
	early   map[string]message // answers that came while another was waited for
}

// message is an answer.
type message struct {
	JSONRPC       string
	ID            json.RawMessage
	Result, Error json.RawMessage
}

// unconfined makes a server's terminals run without a sandbox, unless cmd asks for
// one: most dialogues are about something else and write where they like.
func unconfined(cmd *exec.Cmd) *exec.Cmd {
	if !strings.Contains(strings.Join(cmd.Args, " "), "--sandbox-mode") {
		cmd.Env = append(cmd.Environ(), "PTYKEEP_SANDBOX_MODE=danger-full-access")
	}
	return cmd
}

func startStdio(cmd *exec.Cmd) (*stdioServer, error) {
	s := &stdioServer{cmd: cmd, lines: make(chan string, 1000), ended: make(chan struct{}), errs: &lockedBuffer{}, early: map[string]message{}}
	cmd.Stderr = s.errs
	var err error
	if s.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() { // ends with the server's output
		defer close(s.ended)
		defer close(s.lines)
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				s.lines <- strings.TrimSuffix(line, "\n")
			}
			if err != nil {
				break
			}
		}
		s.waitErr = cmd.Wait()
	}()
	return s, nil
}

// stop kills the server and waits for it.
func (s *stdioServer) stop() {
	_ = s.cmd.Process.Kill() // it may have ended
	go func() {              // ends with the server's output
		for range s.lines {
		}
	}()
	<-s.ended
}

func (s *stdioServer) log() string { return s.errs.String() }

func (s *stdioServer) write(line string) error {
	_, err := io.WriteString(s.in, line+"\n")
	return err
}

func (s *stdioServer) readLine() (string, error) {
	select {
	case line, ok := <-s.lines:
		if !ok {
			return "", errors.New("end of output; log: " + s.log())
		}
		return line, nil
	case <-time.After(patience):
		return "", errors.New("no answer; log: " + s.log())
	}
}

// exit waits for the server to end by itself and returns its status.
func (s *stdioServer) exit() (int, error) {
	go func() { // ends with the server's output
		for range s.lines {
		}
	}()
	select {
	case <-s.ended:
	case <-time.After(patience):
		return 0, errors.New("the server does not end; log: " + s.log())
	}
	var status *exec.ExitError
	if errors.As(s.waitErr, &status) {
		return status.ExitCode(), nil
	}
	return 0, s.waitErr
}

func (s *stdioServer) signal(name string) error {
	sig := unix.SignalNum(name)
	if sig == 0 {
		return fmt.Errorf("unknown signal %q", name)
	}
	return s.cmd.Process.Signal(syscall.Signal(sig))
}

// request sends a request and returns its result, or its error as JSON text.
func (s *stdioServer) request(method string, params any) (result json.RawMessage, rpcError string, err error) {
	id, err := s.begin(method, params)
	if err != nil {
		return nil, "", err
	}
	return s.await(method, id)
}

// begin sends a request.
func (s *stdioServer) begin(method string, params any) (id int, err error) {
	s.next++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.next, "method": method, "params": params})
	if err != nil {
		return 0, err
	}
	return s.next, s.write(string(line))
}

// await reads until the answer to a request comes.
func (s *stdioServer) await(method string, id int) (result json.RawMessage, rpcError string, err error) {
	key := strconv.Itoa(id)
	for {
		if m, ok := s.early[key]; ok {
			delete(s.early, key)
			return m.Result, string(m.Error), nil
		}
		line, err := s.readLine()
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", method, err)
		}
		var m message
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.JSONRPC != "2.0" {
			return nil, "", fmt.Errorf("not JSON-RPC on stdout: %q", line)
		}
		s.early[string(m.ID)] = m
	}
}

func (s *stdioServer) greet() error {
	_, rpcError, err := s.request("initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"},
	})
	if err == nil && rpcError != "" {
		err = errors.New(rpcError)
	}
	if err != nil {
		return err
	}
	return s.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// reply is what a tool call gave.
type reply struct {
	text     string
	facts    map[string]any
	isError  bool
	rpcError string // instead of a result
	took     time.Duration
}

func (r reply) body() string {
	n, _ := r.facts["bodyBytes"].(float64)
	return r.text[:min(int(n), len(r.text))]
}

func (s *stdioServer) tool(name string, args map[string]any) (reply, error) {
	if args == nil {
		args = map[string]any{}
	}
	began := time.Now()
	raw, rpcError, err := s.request("tools/call", map[string]any{"name": name, "arguments": args})
	r := reply{rpcError: rpcError, took: time.Since(began)}
	if err != nil || rpcError != "" {
		return r, err
	}
	took := r.took
	r, err = parseReply(raw)
	r.took = took
	return r, err
}

// parseReply reads a tool's result.
func parseReply(raw json.RawMessage) (r reply, err error) {
	var res struct {
		Content []struct{ Type, Text string }
		IsError bool
		Meta    map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &res); err != nil {
		return r, err
	}
	if len(res.Content) != 1 || res.Content[0].Type != "text" {
		return r, fmt.Errorf("%d blocks of content, want one text", len(res.Content))
	}
	r.text, r.isError = res.Content[0].Text, res.IsError
	return r, json.Unmarshal(res.Meta["ptykeep/facts"], &r.facts)
}

// lockedBuffer is a bytes.Buffer that may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
