package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The zoo is everything that is known to outlive the shell that started it. Each
// kind of animal has the zoo's mark and its own number in its command line.
const (
	zooSize  = 14  // kinds
	zooDeaf  = 200 // processes that ignore TERM and HUP
	zooCrowd = 7   // the kind of these
)

// zooScript starts the zoo in the shell that reads it. M is the mark, ZOO a
// directory with what it needs. What may run for ever sleeps, so that a zoo
// which gets away does not eat the machine.
const zooScript = `
sleep ${M}01 &
nohup sleep ${M}02 >/dev/null 2>&1 &
sleep ${M}03 & disown
(sleep ${M}04 &)
setsid sleep ${M}05 &
setsid sh -c '(setsid sleep "$1" </dev/null >/dev/null 2>&1 &)' sh ${M}06
bash -c 'trap "" TERM HUP; i=0; while [ $i -lt 200 ]; do sleep "$1" & i=$((i+1)); done; wait' bash ${M}07 &
setsid bash $ZOO/chain ${M}08 </dev/null >/dev/null 2>&1 &
setsid bash $ZOO/hydra ${M}09 </dev/null >/dev/null 2>&1 &
sh -c 'kill -STOP $$' ${M}10 &
setsid gdb -q -nx -batch -ex starti -ex "shell sleep ${M}12" --args sleep ${M}11 </dev/null >/dev/null 2>&1 &
tmux -L ${M}13 -f /dev/null new-session -d sleep ${M}13
$ZOO/ssh -o ControlMaster=auto -o ControlPath=$ZOO/${M}14 -o ControlPersist=yes 127.0.0.1 true
`

// zooChain is never the same process for long: each starts the next and ends.
const zooChain = `trap "" TERM HUP
sleep 0.2
bash "$0" "$@" &
exit
`

// zooHydra starts another of itself for each signal that asks it to end.
const zooHydra = `trap 'bash "$0" "$@" & ' TERM HUP
while :; do sleep 1 & wait $!; done
`

// zoo is what all animals of a test share.
type zoo struct{ dir string }

func newZoo(t *testing.T) *zoo {
	t.Helper()
	need(t, "bash", "sh", "nohup", "setsid", "gdb", "tmux", "ssh", "ssh-keygen")
	z := &zoo{dir: shortDir(t)}
	for name, text := range map[string]string{"script": zooScript, "chain": zooChain, "hydra": zooHydra} {
		if err := os.WriteFile(filepath.Join(z.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	z.startSSHD(t)
	return z
}

// shortDir returns a directory whose name leaves room for that of a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "zoo")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // the system clears what stays
	return dir
}

// startSSHD starts an SSH server that lets in only who has the zoo's key, and
// writes the command that connects to it.
func (z *zoo) startSSHD(t *testing.T) {
	t.Helper()
	sshd := "/usr/sbin/sshd"
	if gone, err := missing(sshd); err != nil {
		t.Fatal(err)
	} else if gone {
		t.Skipf("needs %s", sshd)
	}
	if os.Getuid() == 0 {
		// Made by its service at other times; sshd as root refuses to run without.
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"host", "user"} {
		out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(z.dir, key)).CombinedOutput()
		if err != nil {
			t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
	// Somebody may take the port before sshd has it: the next one is tried.
	for range 5 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(l.Addr().String()) // what Listen gave
		_ = l.Close()                                      // unused
		cmd := exec.Command(sshd, "-D", "-e", "-f", "/dev/null", "-p", port, "-h", filepath.Join(z.dir, "host"),
			"-o", "ListenAddress=127.0.0.1", "-o", "AuthorizedKeysFile="+filepath.Join(z.dir, "user.pub"), "-o", "StrictModes=no",
			"-o", "PidFile=none", "-o", "UsePAM=no", "-o", "PermitRootLogin=yes", "-o", "PasswordAuthentication=no",
			"-o", "MaxStartups=100:100:100")
		log := &lockedBuffer{}
		cmd.Stderr = log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }() // ends with sshd
		t.Cleanup(func() {
			_ = cmd.Process.Kill() // it may have ended
			<-ended
		})
		up := eventually(func() bool {
			select {
			case <-ended:
				return true
			default:
			}
			c, err := net.Dial("tcp", "127.0.0.1:"+port)
			if err == nil {
				_ = c.Close() // nothing was said
			}
			return err == nil
		})
		select {
		case <-ended:
			t.Logf("sshd: %s", log)
			continue
		default:
		}
		if !up {
			t.Fatalf("sshd does not listen: %s", log)
		}
		text := fmt.Sprintf("#!/bin/sh\nexec ssh -F /dev/null -p %s -i %s/user -o StrictHostKeyChecking=no "+
			"-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o BatchMode=yes \"$@\"\n", port, z.dir)
		if err := os.WriteFile(filepath.Join(z.dir, "ssh"), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(filepath.Join(z.dir, "ssh"), "127.0.0.1", "true").CombinedOutput(); err != nil {
			text := fmt.Sprintf("needs an account that sshd lets in: %v: %s: %s", err, out, log)
			if os.Getenv("PTYKEEP_TEST_REQUIRE_ALL") == "1" {
				t.Fatal(text)
			}
			t.Skip(text)
		}
		return
	}
	t.Fatal("sshd does not start")
}

// server starts a server whose terminals may hold a zoo.
func (z *zoo) server(t *testing.T, args ...string) *stdioServer {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"mcp", "--shell", "/bin/bash", "--dispose-grace-ms", "300",
		"--sandbox-mode", "danger-full-access"}, args...)...)
	cmd.Dir = z.dir
	cmd.Env = append(os.Environ(), "HOME="+z.dir, "TMUX_TMPDIR="+z.dir)
	return start(t, cmd)
}

// pen is a session with a zoo in it.
type pen struct {
	server   *stdioServer
	id, mark string
	pid      int // of its shell
}

// open opens a session and fills it.
func (z *zoo) open(t *testing.T, s *stdioServer) *pen {
	t.Helper()
	opened := s.must(t, "terminal_open", nil)
	pid, _ := opened.facts["pid"].(float64)
	p := &pen{server: s, id: opened.facts["sessionId"].(string), mark: newMark(), pid: int(pid)}
	r := s.must(t, "terminal_send", map[string]any{"sessionId": p.id, "timeoutMs": 60000,
		"text": fmt.Sprintf("M=%s ZOO=%s; . $ZOO/script; echo full $?", p.mark, z.dir)})
	if !strings.HasSuffix(r.body(), "full 0") {
		t.Fatalf("the zoo is not full: %s", r.text)
	}
	if !eventually(func() bool { return p.lacks() == "" }) {
		t.Fatalf("lacks %s of %v", p.lacks(), processes(p.mark))
	}
	return p
}

// lacks says what of the zoo is not alive, "" if all is.
func (p *pen) lacks() string {
	all := strings.Join(processes(p.mark), "\n")
	for kind := 1; kind <= zooSize; kind++ {
		if !strings.Contains(all, fmt.Sprintf("%s%02d", p.mark, kind)) {
			return fmt.Sprintf("kind %d", kind)
		}
	}
	if n := strings.Count(all, fmt.Sprintf("sleep %s%02d", p.mark, zooCrowd)); n < zooDeaf {
		return fmt.Sprintf("%d of the crowd", zooDeaf-n)
	}
	return ""
}

// lives wants the whole zoo alive, and its shell in use.
func (p *pen) lives(t *testing.T) {
	t.Helper()
	// One of the chain may be met between its end and its successor's start.
	if !eventually(func() bool { return p.lacks() == "" }) {
		t.Errorf("a zoo that nobody touched lacks %s", p.lacks())
	}
	if r := p.server.must(t, "terminal_send", map[string]any{"sessionId": p.id, "text": "echo alive"}); !strings.HasPrefix(r.body(), "alive") {
		t.Errorf("a shell that nobody touched: %s", r.text)
	}
}

// isGone wants nothing left now.
func (p *pen) isGone(t *testing.T, after string) {
	t.Helper()
	if left := processes(p.mark); len(left) > 0 {
		t.Errorf("after %s %d are left: %v", after, len(left), left)
	}
}

// goes wants nothing left soon.
func (p *pen) goes(t *testing.T, after string) {
	t.Helper()
	eventually(func() bool { return len(processes(p.mark)) == 0 })
	p.isGone(t, after)
}

// close closes the session and wants a good report.
func (p *pen) close(t *testing.T) reply {
	t.Helper()
	r := p.server.must(t, "terminal_close", map[string]any{"sessionId": p.id})
	if r.facts["killed"] != true || fmt.Sprint(r.facts["survivors"]) != "[]" || strings.Contains(r.text, "partly") {
		t.Errorf("close: %s, facts %v", r.text, r.facts)
	}
	return r
}

// exit ends the shell with exit; it warns of stopped jobs once.
func (p *pen) exit(t *testing.T) {
	t.Helper()
	for range 3 {
		r := p.server.must(t, "terminal_send", map[string]any{"sessionId": p.id, "text": "exit"})
		if r.facts["waitReason"] == "session_exit" {
			return
		}
	}
	t.Errorf("the shell does not exit")
}

var parentRE = regexp.MustCompile(`(?m)^PPid:\s*(\d+)$`)

// killGuard kills the session's guard.
func (p *pen) killGuard(t *testing.T) {
	t.Helper()
	p.signalGuard(t, syscall.SIGKILL)
}

// signalGuard signals the parent of the session's shell, which must be a guard,
// and returns its number.
func (p *pen) signalGuard(t *testing.T, sig syscall.Signal) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	m := parentRE.FindSubmatch(status)
	if err != nil || m == nil {
		t.Fatalf("no parent of %d: %v: %s", p.pid, err, status)
	}
	guard, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", guard)); err != nil || string(name) != "ptykeep-guard\n" {
		t.Fatalf("the parent %d is %q, %v, want a guard", guard, name, err)
	}
	if err := syscall.Kill(guard, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatal(err)
	}
	return guard
}
