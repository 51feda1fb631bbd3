package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/backend/backendtest"
	"github.com/ptykeep/ptykeep/teardown"
)

func testSpec(argv ...string) backend.Spec {
	return backend.Spec{
		Name: "test", Argv: argv, Dir: "/", Size: backend.Size{Cols: 80, Rows: 24}, Grace: 200 * time.Millisecond,
		Env: []string{"PATH=" + os.Getenv("PATH"), "TERM=dumb", "HOME=/", "PS1=$ "},
	}
}

// begin starts a terminal that is terminated and closed at the end of the test.
func begin(t testing.TB, o Options, s backend.Spec) *Terminal {
	t.Helper()
	b, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	term, err := b.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = term.(backend.Terminator).Terminate(context.Background()) // the test looks at it where it matters
		_ = term.Close()                                                 // never fails
	})
	return term.(*Terminal)
}

func outputOf(t *testing.T, term *Terminal) string {
	t.Helper()
	b, err := io.ReadAll(term)
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	return string(b)
}

// awaitOutput reads until text has come.
func awaitOutput(t testing.TB, term *Terminal, text string) {
	t.Helper()
	var got strings.Builder
	buf := make([]byte, 1024)
	for !strings.Contains(got.String(), text) {
		n, err := term.Read(buf)
		got.Write(buf[:n])
		if err != nil {
			t.Fatalf("awaiting %q: %v after %q", text, err, got.String())
		}
	}
}

func TestLostGuard(t *testing.T) {
	term := begin(t, Options{}, testSpec(backendtest.Need(t, "bash"), "--norc", "--noprofile", "-i"))
	awaitOutput(t, term, "$ ")
	if _, err := term.Write([]byte("sleep 600 & echo rea''dy\r")); err != nil {
		t.Fatal(err)
	}
	awaitOutput(t, term, "ready")
	tree, err := teardown.OnTerminal(term.PID(), term.rdev)
	if err != nil || len(tree) != 2 {
		t.Fatalf("on the terminal: got %v, %v, want a shell and its job", tree, err)
	}
	if err := term.warden.process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-term.Done()
	if e := term.Exit(); !e.Lost {
		t.Errorf("exit: got %+v, want lost", e)
	}
	report, err := term.Terminate(t.Context())
	if err != nil || report.Ended != 2 || !report.Partial || len(report.Survivors) > 0 {
		t.Errorf("Terminate: got %+v, %v, want 2 ended and a partial report", report, err)
	}
	for _, p := range tree {
		if now, ok := teardown.Inspect(p.PID); ok && now.Start == p.Start {
			t.Errorf("left: %v", now)
		}
	}
	_ = outputOf(t, term) // to its end
}

func TestGuardThatIsNone(t *testing.T) {
	b, err := New(Options{Executable: backendtest.Need(t, "true")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Start(t.Context(), testSpec("x"))
	var se *backend.StartError
	if !errors.As(err, &se) || se.Step != backend.StepGuard {
		t.Errorf("Start: got %v, want step guard", err)
	}
	b.executable = "/nowhere"
	if _, err = b.Start(t.Context(), testSpec("x")); !errors.As(err, &se) || se.Step != backend.StepGuard ||
		!errors.Is(err, os.ErrNotExist) {
		t.Errorf("Start: got %v, want step guard and not found", err)
	}
}

func TestNoDescriptorLeft(t *testing.T) {
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	b, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &old) }) // as it was
	list, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Skip("needs /dev/fd")
	}
	// Too few for a start, whatever step it gets to.
	for spare := range 7 {
		limit := old
		limit.Cur = uint64(len(list) + spare)
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		term, err := b.Start(t.Context(), testSpec("true"))
		if err == nil {
			_ = term.Close() // enough for once
			continue
		}
		var se *backend.StartError
		if !errors.As(err, &se) || se.Step != backend.StepTerminal || !errors.Is(err, unix.EMFILE) {
			t.Errorf("Start with %d descriptors left: got %v, want step terminal and EMFILE", spare, err)
		}
	}
}

func TestStartUpDirectoryGoes(t *testing.T) {
	spec := testSpec(backendtest.Need(t, "bash"))
	for _, c := range []struct {
		name string
		end  func(t *testing.T, term *Terminal)
	}{
		{"Settled", func(_ *testing.T, term *Terminal) { term.Settled() }},
		{"Close", func(_ *testing.T, term *Terminal) { _ = term.Close() }},
		{"Terminate", func(t *testing.T, term *Terminal) {
			if _, err := term.Terminate(t.Context()); err != nil {
				t.Errorf("Terminate: %v", err)
			}
		}},
		{"the guard alone", func(_ *testing.T, term *Terminal) {
			term.warden.hangUp()
			<-term.warden.gone
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			spec := spec
			spec.Nonce = rand.Text()
			term := begin(t, Options{}, spec)
			info, err := os.Stat(term.startup)
			if err != nil || info.Mode().Perm() != 0o700 {
				t.Fatalf("start-up directory: got %v, %v, want mode 0700", info, err)
			}
			c.end(t, term)
			if _, err := os.Stat(term.startup); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("start-up directory: got %v, want it gone", err)
			}
		})
	}
}

func TestStartUpDirectoryGoesWhenTheStartFails(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	spec := testSpec(backendtest.Need(t, "bash"))
	spec.Nonce, spec.Dir = rand.Text(), filepath.Join(tmp, "none")
	b, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Start(t.Context(), spec); err == nil {
		t.Fatal("Start: got no error")
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestClosedTerminalEndsItsTree(t *testing.T) {
	term := begin(t, Options{}, testSpec(backendtest.Helper(t, "deaf", "x")...))
	awaitOutput(t, term, "ready")
	program := term.program
	_ = term.Close() // never fails
	<-term.Done()
	if e := term.Exit(); e.Signal != syscall.SIGKILL {
		t.Errorf("exit: got %+v, want SIGKILL", e)
	}
	<-term.warden.gone
	if _, ok := teardown.Inspect(program.PID); ok {
		t.Errorf("left: %v", program)
	}
}

func TestNapIsShort(t *testing.T) {
	term := begin(t, Options{}, testSpec(backendtest.Need(t, "true")))
	began := time.Now()
	term.Nap(0)
	term.Nap(time.Hour)
	if took := time.Since(began); took < time.Millisecond || took > time.Minute {
		t.Errorf("Nap: took %v, want a millisecond", took)
	}
}

func BenchmarkOpenAndClose(b *testing.B) {
	o, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	spec := testSpec(backendtest.Need(b, "bash"), "--norc", "--noprofile", "-i")
	var opening, ending time.Duration
	var memory int
	for b.Loop() {
		began := time.Now()
		term, err := o.Start(b.Context(), spec)
		if err != nil {
			b.Fatal(err)
		}
		opening += time.Since(began)
		awaitOutput(b, term.(*Terminal), "$ ")
		memory = proportional(b, term.(*Terminal).warden.process.Pid)
		began = time.Now()
		if _, err := term.(backend.Terminator).Terminate(b.Context()); err != nil {
			b.Fatal(err)
		}
		ending += time.Since(began)
		_ = term.Close() // never fails
	}
	b.ReportMetric(float64(opening.Microseconds())/float64(b.N), "µs/open")
	b.ReportMetric(float64(ending.Microseconds())/float64(b.N), "µs/terminate")
	if memory > 0 {
		b.ReportMetric(float64(memory), "guard-KiB")
	}
}

// proportional returns the proportional memory of a process in KiB, 0 where it
// cannot be seen: a guard shows it to root only.
func proportional(b *testing.B, pid int) (kib int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "\nPss:")
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		b.Fatalf("%v in %s", err, text)
	}
	return kib
}
