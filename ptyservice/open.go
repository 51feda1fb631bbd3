package ptyservice

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/ptyservice/screen"
	"github.com/ptykeep/ptykeep/readiness"
)

// OpenRequest is what a session shall be. Zero values mean the defaults.
type OpenRequest struct {
	Type    string // "" = shell
	Name    string
	Dir     string   // relative: under the workspace root
	Command []string // instead of the user's shell
	Env     map[string]string
	Cols    int
	Rows    int
	Timeout *time.Duration // longest wait for the terminal to be ready; nil = configured
}

// Opened is a session that has come up.
type Opened struct {
	Session  *Session
	MOTD     Excerpt
	Reason   readiness.Reason
	Withheld []string // names of environment variables that the secret filter kept back

	Foreground Foreground
}

// Open starts a session for an owner and waits until it is ready. When ctx
// ends first nothing is left of it, and the error is the cause of ctx.
func (s *Service) Open(ctx context.Context, ownerID string, r OpenRequest) (*Opened, error) {
	if r.Type == "" {
		r.Type = "shell"
	}
	if err := s.check(&r); err != nil {
		return nil, err
	}
	ctx, sp, err := s.reserve(ctx, ownerID, r.Type, r.Name)
	if err != nil {
		return nil, err
	}
	published := false
	defer func() { s.settle(ownerID, sp, r.Name, published) }()
	opened, err := s.start(ctx, ownerID, r)
	if err != nil {
		return nil, err
	}
	if err := s.publish(ctx, opened.Session); err != nil {
		return nil, s.rollback(opened.Session, err)
	}
	published = true
	return opened, nil
}

// check validates a request and fills in its defaults.
func (s *Service) check(r *OpenRequest) error {
	if s.sandboxErr != nil {
		return s.sandboxErr
	}
	if err := checkName(r.Name); err != nil {
		return err
	}
	if r.Cols == 0 {
		r.Cols = s.cfg.Cols
	}
	if r.Rows == 0 {
		r.Rows = s.cfg.Rows
	}
	if err := checkSize(r.Cols, r.Rows); err != nil {
		return err
	}
	if strings.Contains(r.Dir, "\x00") {
		return fmt.Errorf("%w: cwd: %q has a NUL", ErrInvalid, r.Dir)
	}
	if r.Dir == "" {
		r.Dir = s.cfg.WorkspaceRoot
	} else if !filepath.IsAbs(r.Dir) {
		r.Dir = filepath.Join(s.cfg.WorkspaceRoot, r.Dir)
	}
	if info, err := os.Stat(r.Dir); err != nil {
		return fmt.Errorf("%w: cwd: %w", ErrInvalid, err)
	} else if !info.IsDir() {
		return fmt.Errorf("%w: cwd: %s is not a directory", ErrInvalid, r.Dir)
	}
	for name, value := range r.Env {
		if !envName(name) || strings.Contains(value, "\x00") {
			return fmt.Errorf("%w: env: %q cannot be a variable (no =, no NUL, not empty)", ErrInvalid, name)
		}
	}
	for _, arg := range r.Command {
		if strings.Contains(arg, "\x00") {
			return fmt.Errorf("%w: command: %q has a NUL", ErrInvalid, arg)
		}
	}
	if r.Command != nil && (len(r.Command) == 0 || r.Command[0] == "") {
		return fmt.Errorf("%w: command: names no program", ErrInvalid)
	}
	return nil
}

func checkName(name string) error {
	if utf8.RuneCountInString(name) > 64 {
		return fmt.Errorf("%w: name: longer than 64 characters", ErrInvalid)
	}
	for _, r := range name {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("%w: name: %q is not printable", ErrInvalid, r)
		}
	}
	return nil
}

func checkSize(cols, rows int) error {
	if cols < MinCols || cols > MaxCols {
		return fmt.Errorf("%w: cols: %d is not in %d-%d", ErrInvalid, cols, MinCols, MaxCols)
	}
	if rows < MinRows || rows > MaxRows {
		return fmt.Errorf("%w: rows: %d is not in %d-%d", ErrInvalid, rows, MinRows, MaxRows)
	}
	return nil
}

// start brings a session up, or leaves nothing of it.
func (s *Service) start(ctx context.Context, ownerID string, r OpenRequest) (*Opened, error) {
	began := time.Now()
	tag := newNonce() // marks what descends from this session
	env, withheld := environ(s.environ, s.cfg, r.Env, tag)
	spec := backend.Spec{
		Name: newID("pty-"), Argv: slices.Clone(r.Command), Dir: r.Dir, Env: env,
		Size: backend.Size{Cols: r.Cols, Rows: r.Rows}, Grace: s.cfg.DisposeGrace,
		Sandbox: s.sandbox,
	}
	if r.Command == nil {
		spec.Argv = s.cfg.shell(s.environ)
		if s.cfg.ShellIntegration {
			spec.Nonce = newNonce()
		}
	}
	term, err := s.backends[r.Type].Start(ctx, spec)
	if err != nil {
		return nil, s.startError(ctx, spec, err)
	}
	session := s.newSession(ownerID, r, spec, term)
	timeout := s.cfg.Timeout
	if r.Timeout != nil {
		timeout = *r.Timeout
	}
	w := session.watch(watchOptions{from: screen.Pos{Line: 1}, starting: true, typedLine: -1, since: began})
	out, err := session.await(ctx, w, waitOptions{deadline: began.Add(timeout)})
	session.unwatch(w)
	var prompted bool
	session.update(func() { prompted = session.prompted; session.unsettled = !prompted })
	if prompted {
		session.settled()
	}
	if err != nil {
		return nil, s.rollback(session, err)
	}
	motd := out.excerpt
	if r.Command == nil && (out.reason == readiness.SessionExit || out.reason == readiness.Timeout) {
		failed := &StartError{Output: motd.Fit(4096).text(), Reason: spec.Argv[0] + " ended while it started"}
		if out.reason == readiness.Timeout {
			failed.Timeout = true
			failed.Reason = fmt.Sprintf("%s was not ready for input within %v", spec.Argv[0], timeout)
		} else if exit, ok := session.exitStatus(); ok {
			failed.Exit = &exit
		}
		return nil, s.rollback(session, failed)
	}
	_, _ = session.tellDir() // this result tells it
	return &Opened{
		Session: session, MOTD: motd, Reason: out.reason, Withheld: withheld,
		Foreground: foregroundOf(out.probe, out.state, out.evidence),
	}, nil
}

// startError says what a failed start means to whoever asked for it.
func (s *Service) startError(ctx context.Context, spec backend.Spec, err error) error {
	if ctx.Err() != nil {
		return abortError(ctx)
	}
	var step *backend.StartError
	if errors.As(err, &step) {
		// EAGAIN and ENOMEM are of fork(2).
		exhausted := slices.ContainsFunc([]error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM},
			func(e error) bool { return errors.Is(err, e) })
		switch {
		case exhausted || step.Step == backend.StepTerminal:
			s.mu.Lock()
			open := len(s.sessions)
			s.mu.Unlock()
			return fmt.Errorf("no pseudo-terminal, descriptor or process is left (%d sessions are open): %w: %w", open, ErrResourceLimit, step.Err)
		case step.Step == backend.StepSandbox:
			return s.cfg.unavailable("%w", step.Err)
		case step.Step == backend.StepDirectory:
			return fmt.Errorf("%w: cwd: %w", ErrInvalid, step.Err)
		case step.Step == backend.StepProgram:
			return &StartError{Reason: fmt.Sprintf("%q cannot be executed", spec.Argv[0]), Err: step.Err}
		}
	}
	return &StartError{Reason: "the terminal could not be started", Err: err}
}

// rollback closes a session that nobody will see and returns err. If that
// fails the session is kept for the disposal of its owner to try again.
func (s *Service) rollback(session *Session, err error) error {
	if _, closeErr := session.close(context.Background(), func(*Session) {}); closeErr != nil {
		s.log.Error("rolling back a session", "session", session.id, "error", closeErr)
		session.name = "" // becomes free; nobody else knows the session yet
		s.mu.Lock()
		s.admit(session)
		s.mu.Unlock()
		return errors.Join(err, closeErr)
	}
	return err
}
