package ptyservice

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ptykeep/ptykeep/readiness"
)

// Config holds the settings of a Service. Start from
// DefaultConfig: the zero value is not valid.
type Config struct {
	Shell            string   // the user's shell; "" = $SHELL, else /bin/bash, else /bin/sh
	ShellArgs        []string // nil = by kind of shell
	ShellIntegration bool

	Rows, Cols int

	ScrollbackLines    int // lines kept of each session
	ScrollbackMaxBytes int // bytes of text kept of each session
	MaxReadBytes       int // bytes of one page and of one viewport

	PollInterval    time.Duration
	ExactProbeAfter time.Duration
	IdleSilence     time.Duration
	HandoffGrace    time.Duration
	Timeout         time.Duration
	DisposeGrace    time.Duration

	MaxSessions int // of an owner, exited ones included

	WorkspaceRoot string // absolute; relative cwd arguments stand under it
	SandboxMode   SandboxMode
	Writable      []string // directories that can be written besides, in WorkspaceWrite

	EnvPassthrough []string          // names that the secret filter lets through
	EnvSet         map[string]string // explicit values
}

// SandboxMode says how a session is confined.
type SandboxMode string

// The modes of confinement.
const (
	ReadOnly       SandboxMode = "read-only"          // nothing but the terminal, /dev/null and the like can be written
	WorkspaceWrite SandboxMode = "workspace-write"    // the workspace root, the temporary directory and Writable can, too
	FullAccess     SandboxMode = "danger-full-access" // no confinement
)

// DefaultConfig returns the defaults, with the working directory as workspace
// root.
func DefaultConfig() Config {
	root, err := os.Getwd()
	if err != nil {
		root = "/" // the directory is gone; Validate accepts it, opening says more
	}
	return Config{
		ShellIntegration: true,
		Rows:             40, Cols: 160,
		ScrollbackLines: 10000, ScrollbackMaxBytes: 4 << 20, MaxReadBytes: 256 << 10,
		PollInterval: 50 * time.Millisecond,
		IdleSilence:  3 * time.Second, HandoffGrace: 500 * time.Millisecond,
		Timeout: 30 * time.Second, DisposeGrace: 3 * time.Second,
		MaxSessions:   64,
		WorkspaceRoot: root,
		SandboxMode:   WorkspaceWrite,
	}
}

// Bounds of what a caller may ask for.
const (
	MinCols, MaxCols = 20, 1000
	MinRows, MaxRows = 5, 500
	MaxTimeout       = 600 * time.Second
)

// FieldError is a setting that is out of its range.
type FieldError struct {
	Field   string // its name in the configuration
	Problem string // what it is and what is accepted
}

func (e *FieldError) Error() string { return e.Field + " " + e.Problem }

func fieldError(field, format string, args ...any) error {
	return &FieldError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// Validate reports the first field that is out of its range, as a *FieldError.
func (c Config) Validate() error {
	ms := func(d time.Duration) int64 { return d.Milliseconds() }
	ranges := []struct {
		field     string
		value     int64
		low, high int64
	}{
		{"rows", int64(c.Rows), MinRows, MaxRows},
		{"cols", int64(c.Cols), MinCols, MaxCols},
		{"scrollbackLines", int64(c.ScrollbackLines), 1, 1_000_000},
		{"scrollbackMaxBytes", int64(c.ScrollbackMaxBytes), 4096, 1 << 30},
		{"maxReadBytes", int64(c.MaxReadBytes), 64, int64(c.ScrollbackMaxBytes)},
		{"pollIntervalMs", ms(c.PollInterval), 1, 1000},
		{"exactProbeAfterMs", ms(c.ExactProbeAfter), 0, 10_000},
		{"idleSilenceMs", ms(c.IdleSilence), 50, 600_000},
		{"handoffGraceMs", ms(c.HandoffGrace), ms(c.PollInterval), 60_000},
		{"timeoutMs", ms(c.Timeout), 0, ms(MaxTimeout)},
		{"disposeGraceMs", ms(c.DisposeGrace), 0, 60_000},
		{"maxSessions", int64(c.MaxSessions), 1, 1024},
	}
	for _, r := range ranges {
		if r.value < r.low || r.value > r.high {
			return fieldError(r.field, "is %d, not in %d-%d", r.value, r.low, r.high)
		}
	}
	if c.Shell != "" {
		if err := executable(c.Shell); err != nil {
			return fieldError("shell", "is no program: %v", err)
		}
	}
	if err := directory(c.WorkspaceRoot); err != nil {
		return fieldError("workspaceRoot", "is no directory: %v", err)
	}
	for _, dir := range c.Writable {
		if err := directory(dir); err != nil {
			return fieldError("sandbox.writable", "has no directory: %v", err)
		}
	}
	for name := range c.EnvSet {
		if !envName(name) {
			return fieldError("env.set", "has %q, which is no name of a variable", name)
		}
	}
	switch c.SandboxMode {
	case ReadOnly, WorkspaceWrite, FullAccess:
		return nil
	}
	return fieldError("sandbox.mode", "is %q, not one of %s, %s, %s", c.SandboxMode, ReadOnly, WorkspaceWrite, FullAccess)
}

// envName reports a name that a variable can have: execve(2) passes NAME=value,
// up to the first NUL.
func envName(name string) bool { return name != "" && !strings.ContainsAny(name, "=\x00") }

func directory(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%s is not absolute", path)
	}
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is something else", path)
	}
	return err
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir() || info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not an executable file", path)
	}
	return nil
}

func (c Config) limits() readiness.Limits {
	return readiness.Limits{
		IdleSilence: c.IdleSilence, HandoffGrace: c.HandoffGrace,
		Poll: c.PollInterval, ExactAfter: c.ExactProbeAfter,
	}
}

// shell returns the program to run as the user's shell, with its arguments.
func (c Config) shell(environ []string) []string {
	path := c.Shell
	for _, p := range []string{valueOf(environ, "SHELL"), "/bin/bash"} {
		if path == "" && p != "" && executable(p) == nil {
			path = p
		}
	}
	if path == "" {
		path = "/bin/sh" // POSIX has one
	}
	if c.ShellArgs != nil {
		return append([]string{path}, c.ShellArgs...)
	}
	return []string{path, "-i"}
}
