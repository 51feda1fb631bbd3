package ptyservice

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/backend/backendtest"
)

// shell plays a shell with marks on a fake terminal.
type shell struct {
	*backendtest.Fake
	dir string
}

func (s *shell) mark(format string, args ...any) string {
	return "\x1b]6973;" + s.Spec().Nonce + ";" + fmt.Sprintf(format, args...) + "\x07"
}

// prompt says that the command before ended with status, and waits.
func (s *shell) prompt(status int) {
	s.UpdateProbe(func(p *backend.Probe) {
		p.Wait = backend.WaitExact
		p.PGID, p.PID, p.Own, p.Command = 100, 100, true, "bash"
	})
	s.Emit(s.mark("D;%d;100;%s", status, s.dir) + "$ " + s.mark("B;100"))
}

// begin echoes a command and starts it.
func (s *shell) begin(line string) {
	s.UpdateProbe(func(p *backend.Probe) {
		p.Wait = backend.WaitNone
		p.PGID, p.PID, p.Own, p.Command = 200, 200, false, "job"
	})
	s.Emit(line + "\r\n" + s.mark("C;100"))
}

// commands answers each submitted line with what run says, until it says no.
func (s *shell) commands(run func(line string) (out string, status int, done bool)) {
	s.OnWrite(func(p []byte) {
		line := strings.TrimSuffix(string(p), "\r")
		s.begin(line)
		if out, status, done := run(line); done {
			s.Emit(out)
			s.prompt(status)
		}
	})
}

// echo is a run for commands: it prints the line, its status is 0.
func echo(line string) (string, int, bool) { return line + "\r\n", 0, true }

// never is a run for commands that do not end.
func never(string) (string, int, bool) { return "", 0, false }

// rig is a service over fake terminals, in a synctest bubble of which t is the
// test.
type rig struct {
	*Service
	t       *testing.T
	backend *backendtest.Backend
}

// bubble runs test with a service whose terminals play a shell at its prompt.
// At the end everything is closed; synctest reports goroutines that are left.
func bubble(t *testing.T, test func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &backendtest.Backend{OnStart: func(_ context.Context, f *backendtest.Fake) error {
			sh := &shell{Fake: f, dir: "/home"}
			f.Emit(sh.mark("C;100")) // it marks the start of commands
			sh.prompt(0)
			return nil
		}}
		c := DefaultConfig()
		c.WorkspaceRoot = t.TempDir()
		s, err := New(c, Options{Backends: map[string]backend.Backend{"shell": b}, Environ: []string{"PATH=/bin", "MY_TOKEN=t"}})
		if err != nil {
			t.Fatal(err)
		}
		test(&rig{Service: s, t: t, backend: b})
		if err := s.Close(t.Context()); err != nil {
			t.Errorf("closing the service: %v", err)
		}
	})
}

// open opens a session of owner me, and returns it with its terminal.
func (r *rig) open(name string) (*Session, *shell) {
	r.t.Helper()
	o, err := r.Open(r.t.Context(), "me", OpenRequest{Name: name})
	if err != nil {
		r.t.Fatalf("Open: %v", err)
	}
	return o.Session, &shell{Fake: r.backend.Last(), dir: "/home"}
}

// send types text and waits.
func (r *rig) send(s *Session, text string) (Result, error) {
	return run(r.t.Context(), s, SendRequest{Text: &text, Submit: true})
}

func run(ctx context.Context, s *Session, q SendRequest) (Result, error) {
	snd, err := s.Begin(q)
	if err != nil {
		return Result{}, err
	}
	return snd.Run(ctx)
}

func after(d time.Duration) *time.Duration { return &d }
