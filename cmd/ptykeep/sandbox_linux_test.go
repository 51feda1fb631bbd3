package main

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// withoutLandlock makes this process one that cannot use Landlock, and then the
// server.
const withoutLandlock = "PTYKEEP_TEST_WITHOUT_LANDLOCK"

func init() {
	if path := os.Getenv(withoutLandlock); path != "" {
		fmt.Fprintln(os.Stderr, refuseLandlock(path))
		os.Exit(1)
	}
}

// refuseLandlock becomes the program at path, for which landlock_create_ruleset
// fails as on a kernel without it: a seccomp(2) filter.
func refuseLandlock(path string) error {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	const number = 0 // offset of the system call's number in struct seccomp_data
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_LANDLOCK_CREATE_RULESET, Jt: 0, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
		return err
	}
	runtime.KeepAlive(filter)
	return syscall.Exec(path, append([]string{path}, os.Args[1:]...), os.Environ())
}

func TestHostThatCannotConfine(t *testing.T) {
	need(t, "sh")
	g := newGround(t, false)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	start := func(args ...string) *stdioServer {
		cmd := g.command(self, args...)
		cmd.Env = append(cmd.Env, withoutLandlock+"="+binary)
		return startAsIs(t, cmd)
	}
	for _, mode := range []string{"read-only", "workspace-write"} {
		s := start("mcp", "--sandbox-mode", mode)
		r, err := s.tool("terminal_open", map[string]any{"command": []string{"sh", "-c", `echo x >"$H/file"`}})
		if err != nil || r.facts["code"] != "SANDBOX_UNAVAILABLE" {
			t.Fatalf("got %v, %s; want SANDBOX_UNAVAILABLE", err, r.text)
		}
		for _, word := range []string{mode, "Landlock", "--sandbox-mode danger-full-access"} {
			if !strings.Contains(r.text, word) {
				t.Errorf("%q is not in: %s", word, r.text)
			}
		}
		if look(g.home+"/file") != "nothing" {
			t.Error("it ran unconfined")
		}
	}
	start("mcp", "--sandbox-mode", "danger-full-access").must(t, "terminal_open", nil)
	cmd := g.command(self, "doctor")
	cmd.Env = append(cmd.Env, withoutLandlock+"="+binary)
	if out, err := cmd.CombinedOutput(); err == nil || !regexp.MustCompile(`(?m)^sandbox +missing .*danger-full-access`).Match(out) {
		t.Errorf("doctor: %v\n%s", err, out)
	}
}
