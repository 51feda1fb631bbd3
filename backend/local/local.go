// Package local runs terminals on this machine: a pseudo-terminal for each,
// with a guard process (package guard) between the server and the program.
//
// The server's side of a terminal is [Terminal]. It holds the master, a slave
// of its own, which tells what input has not been read, and one end of the
// control socket to the guard. No descriptor leaves the package.
package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/backend/local/guard"
)

// guardSlack is what a guard may take beyond the grace to end a tree that was
// just started, before it is killed itself. More than it takes to give up on a
// process that cannot be killed (package teardown: 10 s).
const guardSlack = 12 * time.Second

// Options configure a Backend. The zero value works.
type Options struct {
	// Executable is run as the guard. It must import package guard. "" means
	// this program, on Linux also after its file was replaced.
	Executable string
	// Log gets what no caller is told. nil discards it.
	Log *slog.Logger
}

// Backend starts terminals on this machine. It may be used concurrently. Whoever
// starts terminals with a Temp in their sandbox calls Close in the end.
type Backend struct {
	executable string
	log        *slog.Logger
	orphanage  *orphanage // nil unless Adopt was called
	group      string     // the control group that takes fences, "" for none

	abi int // of Landlock, not to be exceeded; for tests of older kernels

	mu      sync.Mutex // guards private
	private string     // caches of confined terminals, "" until there is one
}

var _ backend.Backend = (*Backend)(nil)

// New returns a Backend. It fails only if it cannot find its own program.
func New(o Options) (*Backend, error) {
	b := &Backend{executable: o.Executable, log: o.Log}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	if b.executable == "" {
		path, err := executable()
		if err != nil {
			return nil, fmt.Errorf("finding own program for the guard: %w", err)
		}
		b.executable = path
	}
	return b, nil
}

// Start implements backend.Backend. The terminal it returns has every power of
// package backend.
func (b *Backend) Start(ctx context.Context, spec backend.Spec) (backend.Terminal, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := check(spec); err != nil {
		return nil, err
	}
	t, slave, err := b.open(spec)
	if err != nil {
		return nil, err
	}
	err = b.launch(t, spec, slave)
	_ = slave.Close() // the guard has its own; nothing was written
	if err == nil {
		err = t.awaitStart(ctx, spec.Argv)
	}
	if err != nil {
		_ = t.Close() // never fails
		return nil, err
	}
	return t, nil
}

// check finds what no system call could be told.
func check(spec backend.Spec) error {
	if len(spec.Argv) == 0 || spec.Argv[0] == "" {
		return &backend.StartError{Step: backend.StepProgram, Err: errors.New("no program given")}
	}
	hasNUL := func(s string) bool { return strings.Contains(s, "\x00") }
	if slices.ContainsFunc(spec.Argv, hasNUL) || slices.ContainsFunc(spec.Env, hasNUL) {
		return &backend.StartError{Step: backend.StepProgram,
			Err: fmt.Errorf("NUL byte in arguments or environment: %w", syscall.EINVAL)}
	}
	if hasNUL(spec.Dir) || !filepath.IsAbs(spec.Dir) {
		return &backend.StartError{Step: backend.StepDirectory,
			Err: &fs.PathError{Op: "chdir", Path: spec.Dir, Err: syscall.EINVAL}}
	}
	return nil
}

// open makes the terminal, still without a program, and the slave for it.
func (b *Backend) open(spec backend.Spec) (t *Terminal, slave *os.File, err error) {
	p, err := openPair(spec.Size)
	if err != nil {
		return nil, nil, &backend.StartError{Step: backend.StepTerminal, Err: err}
	}
	t = newTerminal(p, spec, b.log)
	t.orphanage = b.orphanage
	return t, p.forGuard, nil
}

// launch starts the guard of t and gives it its orders. After an error nothing
// of the guard is left.
func (b *Backend) launch(t *Terminal, spec backend.Spec, slave *os.File) error {
	env, private, err := b.redirect(spec.Env, spec.Sandbox)
	if err != nil {
		return &backend.StartError{Step: backend.StepSandbox, Err: err}
	}
	spec.Env = env
	if spec.Nonce != "" {
		// Not a name that could come again: the guard removes it at the end
		// even if it has been removed before.
		dir, err := os.MkdirTemp(temp(spec.Sandbox), "ptykeep-"+rand.Text()+"-")
		if err == nil {
			dir, err = filepath.Abs(dir) // TMPDIR may be relative, the guard is elsewhere
		}
		if err != nil {
			return &backend.StartError{Step: backend.StepProgram, Err: fmt.Errorf("making start-up directory: %w", err)}
		}
		t.startup = dir
		if spec.Argv, spec.Env, err = integrate(spec, dir); err != nil {
			return &backend.StartError{Step: backend.StepProgram, Err: fmt.Errorf("integrating shell: %w", err)}
		}
	}
	if b.group != "" {
		var err error
		if t.fence, err = newFence(b.group); err != nil {
			b.log.Debug("no control group for the session", "session", t.name, "err", err)
		}
	}
	w, err := startGuard(b.orphanage, t.fence, b.executable, spec.Env, slave, t.finish)
	if err != nil {
		step := backend.StepGuard
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			step = backend.StepTerminal
		}
		return &backend.StartError{Step: step, Err: err}
	}
	t.warden = w
	// An error means that the guard is gone, which awaitStart reports.
	_ = w.send(guard.Spec{
		Argv: raw(spec.Argv), Dir: []byte(spec.Dir), Env: raw(spec.Env), Grace: spec.Grace, Startup: []byte(t.startup),
		Confinement: b.confinement(spec.Sandbox), Private: []byte(private),
	})
	return nil
}

// awaitStart waits until the program runs or cannot. After an error the guard
// and what it started are gone.
func (t *Terminal) awaitStart(ctx context.Context, argv []string) error {
	var e guard.Event
	select {
	case e = <-t.warden.first:
	case <-t.warden.gone:
		select {
		case e = <-t.warden.first:
		default:
			_, _ = t.Terminate(ctx) // logs what is left
			return &backend.StartError{Step: backend.StepGuard, Err: fmt.Errorf("guard ended early: %v", t.warden.state)}
		}
	case <-ctx.Done():
		t.abandon()
		return context.Cause(ctx)
	}
	if f := e.Failed; f != nil {
		<-t.warden.gone
		op := "exec"
		switch f.Step {
		case backend.StepDirectory:
			op = "chdir"
		case backend.StepSandbox:
			return &backend.StartError{Step: f.Step, Err: sandboxError(f)}
		}
		return &backend.StartError{Step: f.Step, Err: &fs.PathError{Op: op, Path: string(f.Path), Err: f.Errno}}
	}
	t.begin(e.Started.Program)
	// Ends with the guard, which Close sees to, and what that leaves.
	go t.survive()
	return nil
}

// abandon ends a start that is under way, and returns when nothing is left.
func (t *Terminal) abandon() {
	ctx, cancel := context.WithTimeout(context.Background(), t.grace+guardSlack)
	defer cancel()
	if _, err := t.Terminate(ctx); err != nil {
		t.log.Warn("ending abandoned start", "session", t.name, "err", err)
		_ = t.warden.process.Kill() // it ended by itself or does not answer
	}
	t.warden.hangUp()
	<-t.warden.gone
	if t.warden.lost() {
		_, _ = t.Terminate(ctx) // logs what is left
	}
}

func raw(list []string) [][]byte {
	b := make([][]byte, len(list))
	for i, s := range list {
		b[i] = []byte(s)
	}
	return b
}
