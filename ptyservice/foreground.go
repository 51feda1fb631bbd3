package ptyservice

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/readiness"
)

// Info is a session as terminal_list shows it.
type Info struct {
	ID, Name, Type string
	PID            int
	Status         Status
	Foreground     Foreground
	Dir            string
	Idle           time.Duration // since the last input or output
}

// Info looks at the session once.
func (s *Session) Info() Info {
	s.mu.Lock()
	idle := time.Since(s.lastUse)
	s.mu.Unlock()
	return Info{
		ID: s.id, Name: s.name, Type: s.typ, PID: pidOf(s.term),
		Status: s.Status(), Foreground: s.Foreground(), Dir: s.workingDir(), Idle: idle,
	}
}

// Status says whether the session's own program runs.
func (s *Session) Status() Status {
	exit, exited := s.exitStatus()
	return Status{Exited: exited, Exit: exit}
}

// Foreground looks who holds the terminal now.
func (s *Session) Foreground() Foreground {
	unread, err := s.unread()
	if err != nil {
		unread = true // nothing may be claimed
	}
	p, probed, err := s.probe()
	if _, exited := s.exitStatus(); exited {
		p = backend.Probe{} // whoever was there is gone
	}
	s.mu.Lock()
	f := readiness.Facts{
		Now: p, Probed: probed && err == nil, Unread: unread, Exited: s.exited,
		Marks: readiness.Marks{At: s.placeNow(), Begun: s.begun}, AltScreen: s.screen.Alt(),
	}
	s.mu.Unlock()
	state, evidence := readiness.Describe(f)
	return foregroundOf(p, state, evidence)
}

func foregroundOf(p backend.Probe, state readiness.State, evidence readiness.Evidence) Foreground {
	return Foreground{PID: p.PID, PGID: p.PGID, Command: p.Command, Own: p.Own, State: state, Evidence: evidence}
}

// workingDir is the shell's directory by its marks if it is at the prompt that
// it marked, else that of the session's own program, else "".
func (s *Session) workingDir() string {
	s.mu.Lock()
	dir, told, exited := s.dir, s.dirTold, s.exited
	s.mu.Unlock()
	if told || exited {
		return dir
	}
	if l, ok := s.term.(backend.Locator); ok {
		if d, err := l.Dir(dir); err == nil {
			return d
		}
	}
	return dir
}

// tellDir returns the working directory and whether the last result said
// another.
func (s *Session) tellDir() (string, bool) {
	dir := s.workingDir()
	changed := false
	s.update(func() {
		changed = dir != "" && dir != s.told
		if dir != "" {
			s.told = dir
		}
	})
	return dir, changed
}

// Signal sends sig to the foreground process group and returns the group.
func (s *Session) Signal(sig syscall.Signal) (int, error) {
	s.mu.Lock()
	exited, closing, exit := s.exited, s.closing != nil, s.exit
	s.mu.Unlock()
	switch {
	case exited:
		return 0, fmt.Errorf("%w (%s)", ErrSessionExited, describeExit(exit))
	case closing:
		return 0, ErrSessionClosing
	}
	t, ok := s.term.(backend.Signaller)
	if !ok {
		return 0, fmt.Errorf("%w: this type of terminal has none", ErrNoForeground)
	}
	pgid, err := t.Signal(sig)
	if err == nil {
		// A line under way is flushed with it (termios(3), NOFLSH), and who asked
		// for a reply may be gone before it is read: the shell would get it.
		s.update(func() { s.partial, s.mute = 0, time.Now().Add(muteTime) })
	}
	switch {
	case errors.Is(err, backend.ErrOwnProgram):
		return 0, ErrShellKillRefused
	case errors.Is(err, backend.ErrNoForeground):
		return 0, ErrNoForeground
	case errors.Is(err, os.ErrProcessDone):
		return 0, ErrSessionExited
	case err != nil:
		return pgid, fmt.Errorf("signalling process group %d: %w", pgid, err)
	}
	return pgid, nil
}

// describeExit says how a program ended, for people.
func describeExit(e backend.Exit) string {
	switch {
	case e.Lost:
		return "nobody saw how"
	case e.Signal != 0:
		return "killed by " + e.Signal.String()
	}
	return fmt.Sprintf("with code %d", e.Code)
}
