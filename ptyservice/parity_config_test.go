package ptyservice

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestShellOfATerminal(t *testing.T) {
	for _, test := range []struct {
		name  string
		env   string // SHELL
		shell string
		args  []string
		want  []string
	}{
		{"of the user", "/bin/sh", "", nil, []string{"/bin/sh", "-i"}},
		{"without one", "", "", nil, []string{firstOf("/bin/bash", "/bin/sh"), "-i"}},
		{"missing", "/no/such/shell", "", nil, []string{firstOf("/bin/bash", "/bin/sh"), "-i"}},
		{"configured", "/bin/bash", "/bin/sh", nil, []string{"/bin/sh", "-i"}},
		{"with arguments", "", "/bin/sh", []string{"-e", "-i"}, []string{"/bin/sh", "-e", "-i"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("SHELL", test.env)
			c := Config{Shell: test.shell, ShellArgs: test.args}
			if got := c.shell(os.Environ()); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q, SHELL %q, config %q %q", got, test.want, test.env, test.shell, test.args)
			}
		})
	}
}

func firstOf(programs ...string) string {
	for _, p := range programs {
		if executable(p) == nil {
			return p
		}
	}
	return ""
}

func TestConfigBounds(t *testing.T) {
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	for _, test := range []struct {
		field     string
		set       func(c *Config, n int64)
		low, high int64
	}{
		{"rows", func(c *Config, n int64) { c.Rows = int(n) }, 5, 500},
		{"cols", func(c *Config, n int64) { c.Cols = int(n) }, 20, 1000},
		{"scrollbackLines", func(c *Config, n int64) { c.ScrollbackLines = int(n) }, 1, 1_000_000},
		{"scrollbackMaxBytes", func(c *Config, n int64) { c.ScrollbackMaxBytes, c.MaxReadBytes = int(n), 64 }, 4096, 1 << 30},
		{"maxReadBytes", func(c *Config, n int64) { c.ScrollbackMaxBytes, c.MaxReadBytes = 8192, int(n) }, 64, 8192},
		{"pollIntervalMs", func(c *Config, n int64) { c.PollInterval, c.HandoffGrace = ms(n), ms(2000) }, 1, 1000},
		{"exactProbeAfterMs", func(c *Config, n int64) { c.ExactProbeAfter = ms(n) }, 0, 10000},
		{"idleSilenceMs", func(c *Config, n int64) { c.IdleSilence = ms(n) }, 50, 600000},
		{"handoffGraceMs", func(c *Config, n int64) { c.PollInterval, c.HandoffGrace = ms(10), ms(n) }, 10, 60000},
		{"timeoutMs", func(c *Config, n int64) { c.Timeout = ms(n) }, 0, 600000},
		{"disposeGraceMs", func(c *Config, n int64) { c.DisposeGrace = ms(n) }, 0, 60000},
		{"maxSessions", func(c *Config, n int64) { c.MaxSessions = int(n) }, 1, 1024},
	} {
		for _, n := range []int64{test.low, test.high} {
			c := DefaultConfig()
			if test.set(&c, n); c.Validate() != nil {
				t.Errorf("%s %d: %v, want it to be accepted", test.field, n, c.Validate())
			}
		}
		for _, n := range []int64{test.low - 1, test.high + 1} {
			c := DefaultConfig()
			test.set(&c, n)
			var fault *FieldError
			if err := c.Validate(); !errors.As(err, &fault) || fault.Field != test.field {
				t.Errorf("%s %d: %v, want it to be refused by its name", test.field, n, err)
			}
		}
	}
}

func TestDefaultsAreValid(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
}

func TestConfigValuesThatAreNoNumbers(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		field string
		set   func(c *Config)
	}{
		{"shell", func(c *Config) { c.Shell = "/no/such" }},
		{"shell", func(c *Config) { c.Shell = plain }},
		{"shell", func(c *Config) { c.Shell = "/" }},
		{"workspaceRoot", func(c *Config) { c.WorkspaceRoot = "relative" }},
		{"workspaceRoot", func(c *Config) { c.WorkspaceRoot = plain }},
		{"workspaceRoot", func(c *Config) { c.WorkspaceRoot = "" }},
		{"sandbox.writable", func(c *Config) { c.Writable = []string{"/", "/no/such"} }},
		{"sandbox.mode", func(c *Config) { c.SandboxMode = "" }},
		{"env.set", func(c *Config) { c.EnvSet = map[string]string{"A=B": ""} }},
	} {
		c := DefaultConfig()
		test.set(&c)
		var fault *FieldError
		if err := c.Validate(); !errors.As(err, &fault) || fault.Field != test.field {
			t.Errorf("%+v: %v, want a fault of %s", c, err, test.field)
		}
	}
}

func TestSecretsHaveAnyCase(t *testing.T) {
	base := []string{"openai_api_key=k", "GitHub_Token=t", "ptykeep_internal=x", "Path=/bin", "MONKEY=m", "SECRETS=s"}
	env, withheld := environ(base, DefaultConfig(), nil, "tag")
	for _, kv := range base {
		if name, _, _ := strings.Cut(kv, "="); slices.Contains(env, kv) != (name == "Path") {
			t.Errorf("%s: in the environment %v, of %q", kv, slices.Contains(env, kv), env)
		}
	}
	if want := []string{"GitHub_Token", "MONKEY", "SECRETS", "openai_api_key"}; !slices.Equal(withheld, want) {
		t.Errorf("withheld %q, want %q", withheld, want)
	}
}
