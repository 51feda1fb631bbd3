package backendtest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/backend"
)

var startTests = []test{
	{"SizeIsSetBeforeTheProgramRuns", sizeIsSetBeforeTheProgramRuns},
	{"OnlyStandardDescriptorsAreOpen", onlyStandardDescriptorsAreOpen},
	{"SignalsHaveDefaultActions", signalsHaveDefaultActions},
	{"EnvironmentIsTheSpecs", environmentIsTheSpecs},
	{"DirectoryIsTheSpecs", directoryIsTheSpecs},
	{"BashHasJobControl", bashHasJobControl},
	{"FailsWithStepAndCause", failsWithStepAndCause},
	{"CancelledStartLeavesNothing", cancelledStartLeavesNothing},
}

func sizeIsSetBeforeTheProgramRuns(t *testing.T, b backend.Backend) {
	s := spec(Helper(t, "size")...)
	s.Size = backend.Size{Cols: 123, Rows: 45}
	if got := start(t, b, s).all(); got != "size 123x45\r\n" {
		t.Errorf("size: got %q, want 123x45", got)
	}
}

func onlyStandardDescriptorsAreOpen(t *testing.T, b backend.Backend) {
	// The server may have been started with more, without close-on-exec.
	fd, err := unix.Dup(0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if got := run(t, b, "fds").all(); got != "fd0 fd1 fd2 " {
		t.Errorf("descriptors: got %q, want 0, 1 and 2", got)
	}
}

func signalsHaveDefaultActions(t *testing.T, b backend.Backend) {
	const file = "/proc/self/status"
	if _, err := os.Stat(file); err != nil {
		t.Skip("needs /proc")
	}
	got := start(t, b, spec(Need(t, "cat"), file)).all()
	for _, want := range []string{"SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000"} {
		if !strings.Contains(got, want) {
			t.Errorf("status: got %q, want %q in it", got, want)
		}
	}
}

func environmentIsTheSpecs(t *testing.T, b backend.Backend) {
	s := spec(Need(t, "env"))
	s.Env = []string{"A=1", "B=\xff", "PATH=/nowhere"}
	if got, want := start(t, b, s).all(), "A=1\r\nB=\xff\r\nPATH=/nowhere\r\n"; got != want {
		t.Errorf("environment: got %q, want %q", got, want)
	}
}

func directoryIsTheSpecs(t *testing.T, b backend.Backend) {
	s := spec(Need(t, "pwd"), "-P")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s.Dir = dir
	if got := start(t, b, s).all(); got != dir+"\r\n" {
		t.Errorf("directory: got %q, want %q", got, dir)
	}
}

func bashHasJobControl(t *testing.T, b backend.Backend) {
	r := start(t, b, spec(Need(t, "bash"), "--norc", "--noprofile", "-i"))
	r.write("set -o | grep monitor; echo x >/dev/tty && echo do''ne\r")
	got := r.await("done")
	if strings.Contains(got, "job control") || strings.Contains(got, "process group") {
		t.Errorf("warning in %q", got)
	}
	if !strings.Contains(strings.Join(strings.Fields(got), " "), "monitor on") {
		t.Errorf("job control is off: %q", got)
	}
}

func failsWithStepAndCause(t *testing.T, b backend.Backend) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	ok := Helper(t, "size")
	for _, c := range []struct {
		name string
		argv []string
		dir  string
		step string
		want error
	}{
		{"no directory", ok, filepath.Join(dir, "none"), backend.StepDirectory, fs.ErrNotExist},
		{"file as directory", ok, plain, backend.StepDirectory, syscall.ENOTDIR},
		{"no such file", []string{filepath.Join(dir, "none")}, dir, backend.StepProgram, fs.ErrNotExist},
		{"not on PATH", []string{"ptykeep-no-such-program"}, dir, backend.StepProgram, fs.ErrNotExist},
		{"not executable", []string{plain}, dir, backend.StepProgram, fs.ErrPermission},
		{"no program", nil, dir, backend.StepProgram, nil},
		{"NUL in argument", append(ok, "a\x00b"), dir, backend.StepProgram, syscall.EINVAL},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := spec(c.argv...)
			s.Dir = c.dir
			term, err := b.Start(t.Context(), s)
			if err == nil {
				_ = term.Close() // the test has failed already
				t.Fatal("Start: got no error")
			}
			var se *backend.StartError
			if !errors.As(err, &se) || se.Step != c.step {
				t.Errorf("Start: got %v, want step %q", err, c.step)
			}
			if c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("Start: got %v, want %v", err, c.want)
			}
		})
	}
}

func cancelledStartLeavesNothing(t *testing.T, b backend.Backend) {
	errStop := errors.New("stop")
	id := mark()
	started := 0
	for i := range 30 {
		ctx, cancel := context.WithCancelCause(t.Context())
		timer := time.AfterFunc(time.Duration(i)*300*time.Microsecond, func() { cancel(errStop) })
		term, err := b.Start(ctx, spec(Helper(t, "sleep", id)...))
		timer.Stop()
		cancel(nil)
		switch {
		case err == nil:
			started++
			r := &rig{Terminal: term, t: t}
			r.terminate()
			_ = term.Close() // never fails
		case !errors.Is(err, errStop):
			t.Fatalf("Start: got %v, want the cause of the end", err)
		}
		if left := marked(t, id); len(left) > 0 {
			t.Fatalf("after try %d (%v): left %q", i, err, left)
		}
	}
	t.Logf("%d of 30 were started before they were cancelled", started)
}
