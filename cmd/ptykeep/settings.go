package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/ptykeep/ptykeep/ptyservice"
	"github.com/ptykeep/ptykeep/tools"
)

// settings are what an operator may set: flag > variable > file > default.
type settings struct {
	service ptyservice.Config
	tools   tools.Config

	config      string // path of the file
	sandboxMode string
	background  bool
	logLevel    string
	logFormat   string
}

// fields are the settings by their names in the configuration file. Each has a
// flag and a variable: idleSilenceMs is --idle-silence-ms and
// PTYKEEP_IDLE_SILENCE_MS, sandbox.mode is --sandbox-mode.
var fields = []string{
	"shell", "shellArgs", "shellIntegration", "rows", "cols", "scrollbackLines", "scrollbackMaxBytes", "maxReadBytes",
	"pollIntervalMs", "exactProbeAfterMs", "idleSilenceMs", "handoffGraceMs", "timeoutMs", "disposeGraceMs", "maxSessions",
	"enableRunInBackground", "maxResultBytes", "structuredResults", "workspaceRoot",
	"sandbox.mode", "sandbox.writable", "env.passthrough", "env.set",
}

// variableOnly are flags that have a variable, but no place in the file.
var variableOnly = []string{"config", "log-level", "log-format"}

// flagOf returns the flag of a field.
func flagOf(field string) string {
	var b strings.Builder
	for _, r := range field {
		switch {
		case r == '.':
			b.WriteByte('-')
		case unicode.IsUpper(r):
			b.WriteByte('-')
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// variableOf returns the environment variable of a flag.
func variableOf(flag string) string {
	return "PTYKEEP_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// bindSettings gives cmd a flag for each setting.
func bindSettings(cmd *cobra.Command) *settings {
	s := &settings{service: ptyservice.DefaultConfig(), background: true}
	s.tools.MaxResultBytes = tools.DefaultResultBytes
	s.sandboxMode = string(s.service.SandboxMode)
	f, c := cmd.Flags(), &s.service
	f.StringVar(&s.config, "config", "", "configuration file (default $XDG_CONFIG_HOME/ptykeep/config.yaml, if it is there)")
	f.StringVar(&c.Shell, "shell", "", "shell to run (default $SHELL, else /bin/bash, else /bin/sh)")
	f.StringSliceVar(&c.ShellArgs, "shell-args", nil, "arguments of the shell, separated by commas or repeated (default -i)")
	f.BoolVar(&c.ShellIntegration, "shell-integration", c.ShellIntegration, "have the shell mark its prompts and commands")
	f.IntVar(&c.Rows, "rows", c.Rows, "rows of a terminal, 5-500")
	f.IntVar(&c.Cols, "cols", c.Cols, "columns of a terminal, 20-1000")
	f.IntVar(&c.ScrollbackLines, "scrollback-lines", c.ScrollbackLines, "lines kept of each session, 1-1000000")
	f.IntVar(&c.ScrollbackMaxBytes, "scrollback-max-bytes", c.ScrollbackMaxBytes, "bytes kept of each session, 4096-1073741824")
	f.IntVar(&c.MaxReadBytes, "max-read-bytes", c.MaxReadBytes, "bytes of one page or viewport, 64 to scrollback-max-bytes")
	f.Var((*millis)(&c.PollInterval), "poll-interval-ms", "longest pause between looks in the first second of silence, 1-1000")
	f.Var((*millis)(&c.ExactProbeAfter), "exact-probe-after-ms", "wait at least this long after typing before believing the kernel, 0-10000")
	f.Var((*millis)(&c.IdleSilence), "idle-silence-ms", "silence that counts where nothing can be seen, 50-600000")
	f.Var((*millis)(&c.HandoffGrace), "handoff-grace-ms", "extra silence when the shell drew a prompt but is not seen reading, poll-interval-ms to 60000")
	f.Var((*millis)(&c.Timeout), "timeout-ms", "longest wait of a send, 0-600000")
	f.Var((*millis)(&c.DisposeGrace), "dispose-grace-ms", "time that programs get to end by themselves before SIGKILL, 0-60000")
	f.IntVar(&c.MaxSessions, "max-sessions", c.MaxSessions, "terminals of one connection, exited ones included, 1-1024")
	f.BoolVar(&s.background, "enable-run-in-background", true, "background sends and their two tools")
	f.IntVar(&s.tools.MaxResultBytes, "max-result-bytes", s.tools.MaxResultBytes, "bytes of one result's text, 64-16777216")
	f.BoolVar(&s.tools.StructuredResults, "structured-results", false, "output also in structuredContent")
	f.StringVar(&c.WorkspaceRoot, "workspace-root", "", "where terminals start, and what they may write to (default the working directory)")
	f.StringVar(&s.sandboxMode, "sandbox-mode", s.sandboxMode, "what can be written: read-only, workspace-write (workspace-root and the temporary directory) or danger-full-access (no confinement)")
	f.StringSliceVar(&c.Writable, "sandbox-writable", nil, "directories that can be written besides, in workspace-write")
	f.StringSliceVar(&c.EnvPassthrough, "env-passthrough", nil, "variables that the secret filter lets through")
	f.StringToStringVar(&c.EnvSet, "env-set", nil, "variables to set, NAME=value")
	f.StringVar(&s.logLevel, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&s.logFormat, "log-format", "text", "text or json")
	return s
}

// load takes the variables and the file for what no flag gives, and validates
// all. An error says where the bad value comes from.
func (s *settings) load(cmd *cobra.Command) error {
	flags := cmd.Flags()
	source := map[string]string{} // field -> where its value comes from
	set := func(flag string) error {
		value, ok := os.LookupEnv(variableOf(flag))
		if flags.Changed(flag) || !ok {
			return nil
		}
		if err := flags.Set(flag, value); err != nil {
			return fmt.Errorf("%s: %w", variableOf(flag), err)
		}
		return nil
	}
	for _, flag := range variableOnly {
		if err := set(flag); err != nil {
			return err
		}
	}
	for _, field := range fields {
		flag := flagOf(field)
		source[field] = "--" + flag
		if !flags.Changed(flag) {
			source[field] = variableOf(flag)
		}
		if err := set(flag); err != nil {
			return err
		}
	}
	if err := s.loadFile(flags, source); err != nil {
		return err
	}
	if s.service.WorkspaceRoot == "" {
		s.service.WorkspaceRoot = ptyservice.DefaultConfig().WorkspaceRoot
	}
	for _, dir := range append([]*string{&s.service.WorkspaceRoot}, pointers(s.service.Writable)...) {
		abs, err := filepath.Abs(*dir)
		if err != nil {
			return fmt.Errorf("%s: %w", *dir, err)
		}
		*dir = abs
	}
	s.service.SandboxMode = ptyservice.SandboxMode(s.sandboxMode)
	s.tools.NoBackground = !s.background
	return located(errors.Join(s.service.Validate(), s.tools.Validate()), source)
}

// warnUnknown tells of variables that look like settings and are none. Those of
// a terminal that ptykeep itself runs in, and of the tests, are known.
func warnUnknown(log *slog.Logger, environ []string) {
	known := map[string]bool{"PTYKEEP_SESSION": true}
	for _, field := range fields {
		known[variableOf(flagOf(field))] = true
	}
	for _, flag := range variableOnly {
		known[variableOf(flag)] = true
	}
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "PTYKEEP_") && !strings.HasPrefix(name, "PTYKEEP_TEST_") && !known[name] {
			log.Warn("no such setting", "variable", name)
		}
	}
}

// located says where the value of a bad field comes from.
func located(err error, source map[string]string) error {
	var bad *ptyservice.FieldError
	if errors.As(err, &bad) && source[bad.Field] != "" {
		return fmt.Errorf("%s: %w", source[bad.Field], bad)
	}
	return err
}

func pointers(list []string) []*string {
	var p []*string
	for i := range list {
		p = append(p, &list[i])
	}
	return p
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

// Type is how --help shows the flag's value.
func (m *millis) Type() string { return "ms" }

// maxMillis is more than any setting takes, and no overflow.
const maxMillis = 1 << 40

// Set implements the flag's value.
func (m *millis) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < -maxMillis || n > maxMillis {
		return fmt.Errorf("%q is no number of milliseconds", s)
	}
	*m = millis(time.Duration(n) * time.Millisecond)
	return nil
}
