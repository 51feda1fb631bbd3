package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ptykeep/ptykeep/ptyservice"
	"github.com/ptykeep/ptykeep/tools"
)

// settings are what an operator may set: flag > variable > default.
type settings struct {
	service ptyservice.Config
	tools   tools.Config

	sandboxMode string
	logLevel    string
	logFormat   string
	variables   map[string]string // flag -> environment variable
}

// bindSettings gives cmd a flag for each setting. A field such as
// scrollbackLines is --scrollback-lines and PTYKEEP_SCROLLBACK_LINES.
func bindSettings(cmd *cobra.Command) *settings {
	s := &settings{service: ptyservice.DefaultConfig(), variables: map[string]string{}}
	s.tools.MaxResultBytes = tools.DefaultResultBytes
	s.sandboxMode = string(s.service.SandboxMode)
	f, c := cmd.Flags(), &s.service
	f.StringVar(&c.Shell, "shell", "", "shell to run (default $SHELL, else /bin/bash, else /bin/sh)")
	f.StringSliceVar(&c.ShellArgs, "shell-args", nil, "arguments of the shell (default -i)")
	f.BoolVar(&c.ShellIntegration, "shell-integration", c.ShellIntegration, "have the shell mark its prompts and commands")
	f.IntVar(&c.Rows, "rows", c.Rows, "rows of a terminal, 5-500")
	f.IntVar(&c.Cols, "cols", c.Cols, "columns of a terminal, 20-1000")
	f.IntVar(&c.ScrollbackLines, "scrollback-lines", c.ScrollbackLines, "lines kept of each session, 1-1000000")
	f.IntVar(&c.ScrollbackMaxBytes, "scrollback-max-bytes", c.ScrollbackMaxBytes, "bytes kept of each session, 4096-1073741824")
	f.IntVar(&c.MaxReadBytes, "max-read-bytes", c.MaxReadBytes, "bytes of one page or viewport, 64 to scrollback-max-bytes")
	f.Var((*millis)(&c.PollInterval), "poll-interval-ms", "slowest look in the first second of silence, 1-1000")
	f.Var((*millis)(&c.ExactProbeAfter), "exact-probe-after-ms", "no verdict of the kernel earlier after a write, 0-10000")
	f.Var((*millis)(&c.IdleSilence), "idle-silence-ms", "silence that counts where nothing can be seen, 50-600000")
	f.Var((*millis)(&c.HandoffGrace), "handoff-grace-ms", "added when a prompt was seen but no wait, poll-interval-ms to 60000")
	f.Var((*millis)(&c.Timeout), "timeout-ms", "longest wait of a send, 0-600000")
	f.Var((*millis)(&c.DisposeGrace), "dispose-grace-ms", "what programs get to end in order, 0-60000")
	f.IntVar(&c.MaxSessions, "max-sessions", c.MaxSessions, "sessions of one owner, 1-1024")
	f.IntVar(&s.tools.MaxResultBytes, "max-result-bytes", s.tools.MaxResultBytes, "bytes of one result's text, 64-16777216")
	f.BoolVar(&s.tools.StructuredResults, "structured-results", false, "output also in structuredContent")
	f.StringVar(&c.WorkspaceRoot, "workspace-root", c.WorkspaceRoot, "where terminals start")
	f.StringVar(&s.sandboxMode, "sandbox-mode", s.sandboxMode, "confinement; only danger-full-access works yet")
	f.StringSliceVar(&c.EnvPassthrough, "env-passthrough", nil, "variables that the secret filter lets through")
	f.StringToStringVar(&c.EnvSet, "env-set", nil, "variables to set, NAME=value")
	f.StringVar(&s.logLevel, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&s.logFormat, "log-format", "text", "text or json")
	for _, name := range settingNames {
		s.variables[name] = "PTYKEEP_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	}
	return s
}

// settingNames are the flags that have a variable.
var settingNames = []string{
	"shell", "shell-args", "shell-integration", "rows", "cols", "scrollback-lines", "scrollback-max-bytes",
	"max-read-bytes", "poll-interval-ms", "exact-probe-after-ms", "idle-silence-ms", "handoff-grace-ms",
	"timeout-ms", "dispose-grace-ms", "max-sessions", "max-result-bytes", "structured-results",
	"workspace-root", "sandbox-mode", "env-passthrough", "env-set", "log-level", "log-format",
}

// load takes the variables of flags that were not given, and validates all.
func (s *settings) load(cmd *cobra.Command) error {
	for _, name := range settingNames {
		flag := cmd.Flags().Lookup(name)
		value, set := os.LookupEnv(s.variables[name])
		if flag.Changed || !set {
			continue
		}
		if err := cmd.Flags().Set(name, value); err != nil {
			return fmt.Errorf("%s: %w", s.variables[name], err)
		}
	}
	root, err := filepath.Abs(s.service.WorkspaceRoot)
	if err != nil {
		return fmt.Errorf("workspaceRoot: %w", err)
	}
	s.service.WorkspaceRoot = root
	s.service.SandboxMode = ptyservice.SandboxMode(s.sandboxMode)
	if err := s.service.Validate(); err != nil {
		return err
	}
	return s.tools.Validate()
}

// logger returns the log that the settings ask for; it goes to stderr only.
func (s *settings) logger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.logLevel)); err != nil {
		return nil, fmt.Errorf("log-level %q is not one of debug, info, warn, error", s.logLevel)
	}
	o := &slog.HandlerOptions{Level: level}
	switch s.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(os.Stderr, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(os.Stderr, o)), nil
	}
	return nil, fmt.Errorf("log-format %q is not one of text, json", s.logFormat)
}

// millis is a flag in milliseconds.
type millis time.Duration

func (m *millis) String() string { return strconv.FormatInt(time.Duration(*m).Milliseconds(), 10) }
func (m *millis) Type() string   { return "ms" }

// maxMillis is more than any setting takes, and no overflow.
const maxMillis = 1 << 40

func (m *millis) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < -maxMillis || n > maxMillis {
		return fmt.Errorf("%q is no number of milliseconds", s)
	}
	*m = millis(time.Duration(n) * time.Millisecond)
	return nil
}
