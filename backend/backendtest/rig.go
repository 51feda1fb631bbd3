package backendtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ptykeep/ptykeep/backend"
)

// grace is what the sessions of the suite leave to programs.
const grace = 500 * time.Millisecond

// spec returns a session of the suite for argv.
func spec(argv ...string) backend.Spec {
	return backend.Spec{
		Name: "test", Argv: argv, Dir: "/", Size: backend.Size{Cols: 80, Rows: 24}, Grace: grace,
		// GORACE: the helpers end at once under the race detector too.
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=/", "TERM=dumb", "PS1=$ ", "GORACE=atexit_sleep_ms=0"},
	}
}

// rig is a terminal whose output is collected.
type rig struct {
	backend.Terminal
	t       *testing.T
	readEnd chan struct{} // closed when Read has failed

	mu      sync.Mutex // guards what follows
	output  bytes.Buffer
	readErr error
	changed chan struct{} // closed and replaced when output or readErr change
}

// start starts s and reads its output. At the end of the test everything is
// terminated and closed.
func start(t *testing.T, b backend.Backend, s backend.Spec) *rig {
	t.Helper()
	term, err := b.Start(t.Context(), s)
	if err != nil {
		t.Fatalf("starting %q: %v", s.Argv, err)
	}
	r := &rig{Terminal: term, t: t, readEnd: make(chan struct{}), changed: make(chan struct{})}
	// Ends at the end of output or with Close, which is below.
	go r.collect()
	t.Cleanup(r.end)
	return r
}

// run is start for a helper program.
func run(t *testing.T, b backend.Backend, mode string, args ...string) *rig {
	t.Helper()
	return start(t, b, spec(Helper(t, mode, args...)...))
}

func (r *rig) collect() {
	defer close(r.readEnd)
	buf := make([]byte, 4096)
	for {
		n, err := r.Read(buf)
		r.mu.Lock()
		r.output.Write(buf[:n])
		r.readErr = err
		close(r.changed)
		r.changed = make(chan struct{})
		r.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// end terminates and closes.
func (r *rig) end() {
	r.terminate()
	if err := r.Close(); err != nil {
		r.t.Errorf("Close: %v", err)
	}
	<-r.readEnd
}

// terminate terminates if the terminal can, and reports how that went.
func (r *rig) terminate() backend.Report {
	r.t.Helper()
	end, ok := r.Terminal.(backend.Terminator)
	if !ok {
		return backend.Report{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	report, err := end.Terminate(ctx)
	if err != nil || len(report.Survivors) > 0 {
		r.t.Errorf("Terminate: %v, survivors %v", err, report.Survivors)
	}
	return report
}

// await waits until the output contains text and returns the output.
func (r *rig) await(text string) string {
	r.t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		r.mu.Lock()
		output, err, changed := r.output.String(), r.readErr, r.changed
		r.mu.Unlock()
		if strings.Contains(output, text) {
			return output
		}
		if err != nil {
			r.t.Fatalf("awaiting %q: output ended (%v) with %q", text, err, output)
		}
		select {
		case <-changed:
		case <-timeout.C:
			r.t.Fatalf("awaiting %q: still not there in %q", text, output)
		}
	}
}

// all waits for the end of the output and returns all of it.
func (r *rig) all() string {
	r.t.Helper()
	r.within(r.readEnd, "end of output")
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.readErr != io.EOF {
		r.t.Errorf("end of output: got %v, want EOF", r.readErr)
	}
	return r.output.String()
}

// exit waits for the program's end.
func (r *rig) exit() backend.Exit {
	r.t.Helper()
	r.within(r.Done(), "end of program")
	return r.Exit()
}

// write writes all of text.
func (r *rig) write(text string) {
	r.t.Helper()
	if n, err := r.Write([]byte(text)); err != nil {
		r.t.Fatalf("writing %q: %d bytes, %v", text, n, err)
	}
}

func (r *rig) within(c <-chan struct{}, what string) {
	r.t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		r.t.Fatalf("%s: still not there after %v", what, patience)
	}
}

// power returns the power P of the terminal, or skips the test.
func power[P any](r *rig) P {
	r.t.Helper()
	p, ok := r.Terminal.(P)
	if !ok {
		r.t.Skipf("%T is no %T", r.Terminal, (*P)(nil))
	}
	return p
}

// mark returns an argument that no other process has.
func mark() string { return "mark-" + rand.Text() }

// marked lists the processes with mark among their arguments, "NUMBER COMMAND"
// each, and skips the test where there is no /proc.
func marked(t *testing.T, mark string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		t.Skip("needs /proc")
	}
	var list []string
	for _, file := range files {
		// A process that ended meanwhile is none; a zombie has no arguments.
		b, _ := os.ReadFile(file)
		if args := strings.ReplaceAll(string(b), "\x00", " "); strings.Contains(args, mark) {
			list = append(list, filepath.Base(filepath.Dir(file))+" "+args)
		}
	}
	return list
}

// awaitMarked waits until n processes have mark.
func awaitMarked(t *testing.T, mark string, n int) {
	t.Helper()
	Await(t, mark+" processes", func() bool { return len(marked(t, mark)) == n })
}

func discard(r io.Reader) (int64, error) { return io.Copy(io.Discard, r) }
