package ptyservice

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ptykeep/ptykeep/backend"
)

// What a Service refuses. Package tools gives each of them its code.
var (
	ErrInvalid            = errors.New("invalid argument")
	ErrNoSession          = errors.New("no such session")
	ErrForeignSession     = errors.New("the session belongs to another owner")
	ErrDuplicateName      = errors.New("the name is taken")
	ErrNoBackend          = errors.New("no such terminal type")
	ErrSendActive         = errors.New("another send is active")
	ErrSessionExited      = errors.New("the session has exited")
	ErrSessionClosing     = errors.New("the session is closing")
	ErrSessionLost        = errors.New("the connection to the terminal is lost")
	ErrOwnerNotLive       = errors.New("the owner is gone")
	ErrDisposing          = errors.New("the server is stopping")
	ErrNoForeground       = errors.New("no foreground process group")
	ErrShellKillRefused   = errors.New("SIGKILL is aimed at the session's own program")
	ErrLineTooLong        = errors.New("the line is longer than the terminal takes")
	ErrSandboxUnavailable = errors.New("the sandbox is not available")
	ErrResourceLimit      = errors.New("limit reached")
	ErrNoTask             = errors.New("no such task")
	ErrAborted            = errors.New("aborted")
)

// Why a wait is given up, as the cause of the context that is passed in. Any
// other cause counts as ErrCancelled.
var (
	// ErrCancelled is a caller that wants the command undone: it is interrupted
	// and what it has not read is taken back.
	ErrCancelled = errors.New("cancelled")
	// ErrDetached is a caller that only stops waiting: the command goes on.
	ErrDetached = errors.New("the caller stopped waiting")
	// ErrGone is an owner that is going, whose sessions end anyway.
	ErrGone = errors.New("the owner has gone")
)

// StartError is a session that did not come up. Nothing of it is left.
type StartError struct {
	Reason  string        // what happened, a sentence without its end
	Output  string        // what it had printed
	Exit    *backend.Exit // how it ended, nil if it was ended
	Timeout bool          // it was not ready in time
	Err     error         // the cause, if there is one
}

func (e *StartError) Error() string {
	text := e.Reason
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if out := strings.TrimSpace(e.Output); out != "" {
		text += ". It printed: " + out
	}
	return text
}

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// CleanupError is a close that left processes. The session stays, and may be
// closed again.
type CleanupError struct {
	Report backend.Report
	Err    error
}

func (e *CleanupError) Error() string {
	var left []string
	for _, p := range e.Report.Survivors {
		left = append(left, fmt.Sprintf("%d (%s, user %d)", p.PID, p.Command, p.UID))
	}
	text := "not everything could be ended"
	if len(left) > 0 {
		text = fmt.Sprintf("%d processes are left: %s", len(left), strings.Join(left, ", "))
		if e.Report.Why != "" {
			text += ": " + e.Report.Why
		}
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *CleanupError) Unwrap() error { return e.Err }

// StalledError is input that the program did not read in time. What it had not
// read was taken back.
type StalledError struct {
	Read, Total int // bytes
}

func (e *StalledError) Error() string {
	return fmt.Sprintf("%d of %d bytes were read; the rest was taken back", e.Read, e.Total)
}
