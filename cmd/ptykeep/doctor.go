package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/backend/local"
)

func doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check what this host can do",
		Long: "Check what this host can do, one line each: ok, degraded or missing, and what\n" +
			"follows from it. The exit status is 1 when something needed is missing.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := context.WithTimeout(cmd.Context(), time.Minute)
			defer stop()
			return doctor(ctx, cmd.OutOrStdout())
		},
	}
}

// finding is what a check says: how it is, and the consequence.
type finding struct {
	state  string // ok, degraded, missing
	detail string
	needed bool // missing means that ptykeep does not work here
}

func doctor(ctx context.Context, out io.Writer) error {
	b, err := local.New(local.Options{})
	if err != nil {
		return err
	}
	missing := 0
	report := func(name string, f finding) {
		fmt.Fprintf(out, "%-11s %-9s %s\n", name, f.state, f.detail)
		if f.state == "missing" && f.needed {
			missing++
		}
	}
	report("terminal", checkTerminal(ctx, b))
	report("readiness", checkReadiness(ctx, b))
	report("teardown", checkTeardown(ctx, b))
	report("sandbox", checkSandbox(ctx, b))
	report("shells", checkPrograms("sh", []string{"bash", "zsh", "fish", "dash"}, "readiness of others rests on the kernel alone"))
	report("programs", checkPrograms("", []string{"python3", "node", "gdb", "sqlite3", "less", "vim", "ssh"}, "not needed by ptykeep itself"))
	if missing > 0 {
		return errors.New("something needed is missing")
	}
	return nil
}

// doctorGrace is what a check's programs get to end in order.
const doctorGrace = 500 * time.Millisecond

// run starts a program in a terminal, hands it to look, and ends it.
func run(ctx context.Context, b backend.Backend, look func(backend.Terminal) finding, argv ...string) finding {
	return runIn(ctx, b, nil, look, argv...)
}

// runIn is run in a sandbox, nil for none.
func runIn(ctx context.Context, b backend.Backend, sandbox *backend.Sandbox, look func(backend.Terminal) finding, argv ...string) finding {
	term, err := b.Start(ctx, backend.Spec{
		Name: "doctor", Argv: argv, Dir: os.TempDir(), Env: os.Environ(),
		Size: backend.Size{Cols: 80, Rows: 24}, Grace: doctorGrace, Sandbox: sandbox,
	})
	var step *backend.StartError
	if errors.As(err, &step) && step.Step == backend.StepSandbox {
		// Needed: the default is a confined mode.
		return finding{state: "missing", needed: true, detail: fmt.Sprintf("terminals cannot be confined: %v; "+
			"terminal_open fails until sandbox-mode is danger-full-access, which runs unconfined", step.Err)}
	}
	if err != nil {
		return finding{state: "missing", detail: err.Error(), needed: true}
	}
	defer func() { _ = term.Close() }()                         // the check is over
	stop := context.AfterFunc(ctx, func() { _ = term.Close() }) // unblocks a Read
	defer stop()
	found := look(term)
	if t, ok := term.(backend.Terminator); ok {
		if r, err := t.Terminate(ctx); err != nil || len(r.Survivors) > 0 {
			return finding{state: "missing", detail: fmt.Sprintf("%v could not be ended: %v, survivors %v", argv, err, r.Survivors), needed: true}
		}
	}
	return found
}

// until looks every few milliseconds until look is true or time is up.
func until(ctx context.Context, look func() bool) bool {
	ctx, stop := context.WithTimeout(ctx, 3*time.Second)
	defer stop()
	for !look() {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func checkTerminal(ctx context.Context, b backend.Backend) finding {
	return run(ctx, b, func(t backend.Terminal) finding {
		out, err := io.ReadAll(t)
		if err != nil || !strings.Contains(string(out), "works") {
			return finding{state: "missing", detail: fmt.Sprintf("a program's output did not arrive: %q, %v", out, err), needed: true}
		}
		return finding{state: "ok", detail: "a program ran behind a pseudo-terminal"}
	}, "/bin/sh", "-c", "echo works")
}

func checkReadiness(ctx context.Context, b backend.Backend) finding {
	return run(ctx, b, func(t backend.Terminal) finding {
		var seen backend.Probe
		prober, ok := t.(backend.Prober)
		if ok && until(ctx, func() bool {
			p, err := prober.Probe()
			seen = p
			return err == nil && p.Wait == backend.WaitExact
		}) {
			return finding{state: "ok", detail: "the kernel says who waits for input: " + seen.Detail}
		}
		return finding{state: "degraded", detail: fmt.Sprintf("the kernel does not say who waits for input (%v): shells are known by their marks, other programs by silence", seen.Wait)}
	}, "cat")
}

func checkTeardown(ctx context.Context, b backend.Backend) finding {
	return run(ctx, b, func(t backend.Terminal) finding {
		ended, ok := t.(backend.Terminator)
		if !ok {
			return finding{state: "missing", detail: "process trees cannot be ended", needed: true}
		}
		buf := make([]byte, 16)
		if _, err := t.Read(buf); err != nil { // until the background jobs run
			return finding{state: "missing", detail: "a shell did not start: " + err.Error(), needed: true}
		}
		r, err := ended.Terminate(ctx)
		switch {
		case err != nil || len(r.Survivors) > 0:
			return finding{state: "degraded", detail: fmt.Sprintf("processes survive a close: %v, %v", r.Survivors, err)}
		case r.Partial:
			return finding{state: "degraded", detail: "daemons that leave their session may survive a close: this system has no subreaper"}
		}
		return finding{state: "ok", detail: fmt.Sprintf("%d processes ended in %v, background jobs included", r.Ended, r.Elapsed.Round(100*time.Microsecond))}
	}, "/bin/sh", "-c", "sleep 1000 & nohup sleep 1000 >/dev/null 2>&1 & echo up; wait")
}

// checkSandbox has a confined program write where it may and where it may not.
func checkSandbox(ctx context.Context, b backend.Backend) finding {
	broken := func(err error) finding {
		return finding{state: "missing", detail: "the check needs two directories: " + err.Error(), needed: true}
	}
	var dirs [2]string
	for i := range dirs {
		dir, err := os.MkdirTemp("", "ptykeep-doctor-")
		if err != nil {
			return broken(err)
		}
		defer func() { _ = os.RemoveAll(dir) }() // a temporary directory; the system clears it
		if dirs[i], err = filepath.EvalSymlinks(dir); err != nil {
			return broken(err)
		}
	}
	const script = `echo >"$0/file" && echo inside; (echo >"$1/file") 2>/dev/null && echo outside; echo done`
	return runIn(ctx, b, &backend.Sandbox{Writable: dirs[:1]}, func(t backend.Terminal) finding {
		out, err := io.ReadAll(t)
		if err != nil || string(out) != "inside\r\ndone\r\n" {
			return finding{state: "missing", detail: fmt.Sprintf("a confined program should write inside and not outside: %q, %v", out, err), needed: true}
		}
		if gaps := local.SandboxGaps(); len(gaps) > 0 {
			return finding{state: "degraded", detail: "a confined program wrote only where it may; this system does not confine all: " + strings.Join(gaps, "; ")}
		}
		return finding{state: "ok", detail: "a confined program wrote only where it may"}
	}, "/bin/sh", "-c", script, dirs[0], dirs[1])
}

// checkPrograms looks for programs. needed is the one that has to be there.
func checkPrograms(needed string, names []string, without string) finding {
	var found, absent []string
	for _, name := range names {
		if _, err := exec.LookPath(name); err == nil {
			found = append(found, name)
		} else {
			absent = append(absent, name)
		}
	}
	if needed != "" {
		if _, err := exec.LookPath(needed); err != nil {
			return finding{state: "missing", detail: "no " + needed, needed: true}
		}
	}
	f := finding{state: "ok", detail: strings.Join(found, " ")}
	if len(absent) > 0 {
		f.state = "degraded"
		f.detail += "; not found: " + strings.Join(absent, " ") + " (" + without + ")"
	}
	return f
}
