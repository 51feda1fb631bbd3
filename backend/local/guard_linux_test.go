package local

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/backend/backendtest"
)

// TestGuardShowsNothing looks at a guard as its program can.
func TestGuardShowsNothing(t *testing.T) {
	t.Setenv("SECRET_OF_THE_SERVER", "x")
	term := begin(t, Options{}, testSpec(backendtest.Helper(t, "sleep", "x")...))
	awaitOutput(t, term, "ready")
	pid := term.warden.process.Pid
	read := func(name string) string {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
		if err != nil {
			return "" // as it should be for others than root
		}
		return string(b)
	}
	if env := read("environ"); strings.Contains(env, "SECRET_OF_THE_SERVER") {
		t.Errorf("environment: got %q, want the session's only", env)
	}
	if args := read("cmdline"); args != "ptykeep-guard\x00" {
		t.Errorf("arguments: got %q, want the name only", args)
	}
	if comm := read("comm"); comm != "ptykeep-guard\n" {
		t.Errorf("name: got %q", comm)
	}
	// Root sees everything.
	if os.Getuid() != 0 {
		if _, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err == nil {
			t.Error("environment: can be read, want the guard undumpable")
		}
	}
}

// TestIgnoredSignalsOfTheServer starts a program from a server that was itself
// started with signals ignored and blocked, as under nohup(1).
func TestIgnoredSignalsOfTheServer(t *testing.T) {
	cat := backendtest.Need(t, "cat")
	const inner = "PTYKEEP_TEST_INNER"
	if os.Getenv(inner) == "" {
		// All this test process inherits is put right by the guard; the Go
		// runtime itself hides some of it, so a process in between is needed.
		signal.Ignore(unix.SIGHUP, unix.SIGTSTP, unix.SIGTTOU, unix.SIGPIPE, unix.SIGQUIT, unix.SIGUSR1)
		defer signal.Reset()
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestIgnoredSignalsOfTheServer$", "-test.v")
		cmd.Env = append(os.Environ(), inner+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
			t.Errorf("inner test: %v\n%s", err, out)
		}
		return
	}
	blocked := unix.Sigset_t{}
	blocked.Val[0] = 1<<(unix.SIGUSR2-1) | 1<<(unix.SIGALRM-1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &blocked, nil); err != nil {
		t.Fatal(err)
	}
	got := outputOf(t, begin(t, Options{}, testSpec(cat, "/proc/self/status")))
	for _, want := range []string{"SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000"} {
		if !strings.Contains(got, want) {
			t.Errorf("status: got %q, want %q in it", got, want)
		}
	}
}
