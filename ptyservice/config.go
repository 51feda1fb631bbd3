package ptyservice

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ptykeep/ptykeep/readiness"
)

// Config holds the settings of a Service (contract section 7). Start from
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

	EnvPassthrough []string          // names that the secret filter lets through
	EnvSet         map[string]string // explicit values
}

// SandboxMode says how a session is confined.
type SandboxMode string

// The modes of contract section 8.
const (
	ReadOnly       SandboxMode = "read-only"
	WorkspaceWrite SandboxMode = "workspace-write"
	FullAccess     SandboxMode = "danger-full-access"
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
		// The confined modes come with their own issue; until then this is the
		// only one that works, and so the default.
		SandboxMode: FullAccess,
	}
}

// Bounds of contract sections 3 and 7.
const (
	MinCols, MaxCols = 20, 1000
	MinRows, MaxRows = 5, 500
	MaxTimeout       = 600 * time.Second
)

// Validate reports the first field that is out of its range, by its name in
// the configuration and with the range.
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
			return fmt.Errorf("%s is %d, not in %d-%d", r.field, r.value, r.low, r.high)
		}
	}
	if c.Shell != "" {
		if err := executable(c.Shell); err != nil {
			return fmt.Errorf("shell: %w", err)
		}
	}
	if !filepath.IsAbs(c.WorkspaceRoot) {
		return fmt.Errorf("workspaceRoot %q is not an absolute path", c.WorkspaceRoot)
	}
	if info, err := os.Stat(c.WorkspaceRoot); err != nil {
		return fmt.Errorf("workspaceRoot: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("workspaceRoot %s is not a directory", c.WorkspaceRoot)
	}
	switch c.SandboxMode {
	case ReadOnly, WorkspaceWrite, FullAccess:
		return nil
	}
	return fmt.Errorf("sandbox.mode is %q, not one of %s, %s, %s", c.SandboxMode, ReadOnly, WorkspaceWrite, FullAccess)
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
func (c Config) shell() []string {
	path := c.Shell
	for _, p := range []string{os.Getenv("SHELL"), "/bin/bash"} {
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
