package local

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/backend/backendtest"
)

// confined starts a program in a sandbox of dir, on a kernel whose Landlock has
// at most that ABI.
func confined(t *testing.T, abi int, dir string, argv ...string) *Terminal {
	t.Helper()
	b, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	b.abi = abi
	spec := testSpec(argv...)
	spec.Sandbox = &backend.Sandbox{Writable: []string{dir}}
	term, err := b.Start(t.Context(), spec)
	var se *backend.StartError
	if errors.As(err, &se) && se.Step == backend.StepSandbox && os.Getenv("PTYKEEP_TEST_REQUIRE_ALL") != "1" {
		t.Skipf("needs a sandbox: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = term.(backend.Terminator).Terminate(t.Context()) // the test is over
		_ = term.Close()                                        // never fails
	})
	return term.(*Terminal)
}

func canonical(t *testing.T, dir string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestOlderLandlock: what an older kernel cannot confine is no reason to confine
// nothing.
func TestOlderLandlock(t *testing.T) {
	sh := backendtest.Need(t, "sh")
	for abi := range 7 {
		inside, outside := canonical(t, t.TempDir()), canonical(t, t.TempDir())
		out := outputOf(t, confined(t, abi, inside, sh, "-c",
			`echo >"$0/a" && mkdir "$0/b" && echo inside; (echo >"$1/a") 2>/dev/null && echo outside; echo >/dev/null && echo >/dev/tty && echo end`, inside, outside))
		if !strings.Contains(out, "inside") || strings.Contains(out, "outside\r") || !strings.Contains(out, "end") {
			t.Errorf("ABI %d: got %q, want writes inside and none outside", abi, out)
		}
	}
}

// TestConfinedTreeEnds: the guard is confined itself, and still ends what ignores
// it; the server is not, and ends the guard.
func TestConfinedTreeEnds(t *testing.T) {
	for _, mode := range []string{"deaf", "daemon", "orphan"} {
		term := confined(t, 0, canonical(t, t.TempDir()), backendtest.Helper(t, mode, "x")...)
		if mode == "deaf" {
			awaitOutput(t, term, "ready")
		} else {
			<-term.Done()
		}
		r, err := term.Terminate(t.Context())
		if err != nil || len(r.Survivors) > 0 || r.Ended == 0 {
			t.Errorf("%s: got %+v, %v, want it ended", mode, r, err)
		}
	}
}

func TestSandboxOfNoDirectory(t *testing.T) {
	b, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	spec := testSpec(backendtest.Need(t, "true"))
	for _, dir := range []string{"/none", "/dev/null"} {
		spec.Sandbox = &backend.Sandbox{Writable: []string{dir}}
		_, err := b.Start(t.Context(), spec)
		var se *backend.StartError
		if !errors.As(err, &se) || se.Step != backend.StepSandbox {
			t.Errorf("%s: got %v, want step sandbox", dir, err)
		}
	}
}

func BenchmarkOpenConfined(b *testing.B) {
	o, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	spec := testSpec(backendtest.Need(b, "cat"))
	dir := b.TempDir()
	for name, sandbox := range map[string]*backend.Sandbox{"no": nil, "yes": {Writable: []string{dir}}} {
		b.Run(name, func(b *testing.B) {
			spec.Sandbox = sandbox
			for b.Loop() {
				term, err := o.Start(b.Context(), spec)
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if _, err := term.(backend.Terminator).Terminate(b.Context()); err != nil {
					b.Fatal(err)
				}
				_ = term.Close() // never fails
				b.StartTimer()
			}
		})
	}
}
