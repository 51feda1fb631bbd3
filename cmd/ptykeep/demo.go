package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show the main job: drive a shell, a REPL and gdb over MCP",
		Long: "Start the server as a child, drive it over MCP as an agent would, and print the\n" +
			"dialogue. The exit status is 0 only if each step came out right. Settings are taken\n" +
			"from variables: PTYKEEP_SANDBOX_MODE=danger-full-access runs where nothing confines.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := context.WithTimeout(cmd.Context(), 2*time.Minute)
			defer stop()
			return demo(ctx, cmd.OutOrStdout())
		},
	}
}

// act is one part of the demonstration, in a terminal of its own.
type act struct {
	title string
	needs string // a program, "" = none
	play  func(*stage) error
}

func demo(ctx context.Context, out io.Writer) error {
	bash, err := exec.LookPath("bash")
	if err != nil {
		return errors.New("the demo drives bash, which is not installed")
	}
	// Not where we stand: that may be the home directory, which no sandbox opens.
	workspace, err := os.MkdirTemp("", "ptykeep-demo-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(workspace) }() // a temporary directory; the system clears it
	a, err := startAgent(ctx, "--shell", bash, "--workspace-root", workspace)
	if err != nil {
		return err
	}
	defer func() { _ = a.close() }() // the second time it does nothing
	for _, x := range []act{
		{"A shell keeps its state", "", shellAct},
		{"A REPL keeps its variables", "python3", pythonAct},
		{"A debugger keeps its program", "gdb", gdbAct},
		{"An interrupt, and a close that leaves nothing", "", closeAct},
	} {
		fmt.Fprintf(out, "\n== %s\n", x.title)
		if _, err := exec.LookPath(x.needs); x.needs != "" && err != nil {
			fmt.Fprintf(out, "   skipped: %s is not installed\n", x.needs)
			continue
		}
		if err := x.play(&stage{ctx: ctx, agent: a, out: out}); err != nil {
			return fmt.Errorf("%s: %w", x.title, err)
		}
	}
	if err := a.close(); err != nil {
		return fmt.Errorf("the server's end: %w", err)
	}
	fmt.Fprintln(out, "\nEach step came out right.")
	return nil
}

func shellAct(s *stage) error {
	if err := s.open(); err != nil {
		return err
	}
	return s.steps(
		step{text: "cd /tmp && export GREETING=hello", wait: "stdin_read", cwd: "/tmp"},
		step{text: "echo $GREETING from $PWD", wait: "stdin_read", body: "hello from /tmp"},
		step{text: "grep -q nobody /dev/null", wait: "stdin_read", exit: 1},
		step{text: "true", wait: "stdin_read"},
		step{text: "sleep 3; echo awake", wait: "stdin_read", body: "awake", atLeast: 3 * time.Second},
	)
}

func pythonAct(s *stage) error {
	if err := s.open(); err != nil {
		return err
	}
	return s.steps(
		step{text: "python3 -q", wait: "stdin_read", foreground: "waiting_input"},
		step{text: "x = 41", wait: "stdin_read"},
		step{text: "x + 1", wait: "stdin_read", contains: "42"},
		step{text: "1 / 0", wait: "stdin_read", contains: "ZeroDivisionError"},
		step{text: "exit()", wait: "stdin_read", foreground: "prompt"},
	)
}

// debuggee is what gdb is shown on.
const debuggee = `int twice(int n) { return 2 * n; }
int main(void) { return twice(21) == 42 ? 0 : 1; }
`

func gdbAct(s *stage) error {
	cc := compiler()
	if cc == "" {
		fmt.Fprintln(s.out, "   skipped: no C compiler is installed")
		return nil
	}
	dir, err := os.MkdirTemp("", "ptykeep-demo-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary directory; the system clears it
	source, program := filepath.Join(dir, "twice.c"), filepath.Join(dir, "twice")
	if err := os.WriteFile(source, []byte(debuggee), 0o600); err != nil {
		return err
	}
	if out, err := exec.CommandContext(s.ctx, cc, "-g", "-O0", "-o", program, source).CombinedOutput(); err != nil {
		return fmt.Errorf("compiling the program to debug: %w: %s", err, out)
	}
	if err := s.open(); err != nil {
		return err
	}
	return s.steps(
		step{text: "gdb -q -nx " + program, wait: "stdin_read", contains: "(gdb)"},
		step{text: "set debuginfod enabled off", wait: "stdin_read", mayFail: true},
		step{text: "break twice", wait: "stdin_read", contains: "Breakpoint 1"},
		step{text: "run", wait: "stdin_read", contains: "twice (n=21)"},
		step{text: "print 2 * n", wait: "stdin_read", contains: "= 42"},
		step{text: "continue", wait: "stdin_read", contains: "exited normally"},
		step{text: "quit", wait: "stdin_read", foreground: "prompt"},
	)
}

func compiler() string {
	for _, name := range []string{"cc", "gcc", "clang"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

func closeAct(s *stage) error {
	if err := s.open(); err != nil {
		return err
	}
	err := s.steps(
		step{text: "sleep 600", timeout: time.Second, wait: "timeout", foreground: "running"},
	)
	if err != nil {
		return err
	}
	if err := s.signal("SIGINT"); err != nil {
		return err
	}
	err = s.steps(
		step{wait: "stdin_read", foreground: "prompt", exit: 130}, // no text: wait on; 130 is 128+SIGINT
		step{text: "sleep 601 & nohup sleep 602 >/dev/null 2>&1 & (sleep 603 &) ; echo started", wait: "stdin_read", contains: "started"},
	)
	if err != nil {
		return err
	}
	return s.closeAndCount()
}

// brief shortens output for people, to its first four and last three lines.
func brief(s string) string {
	s = strings.TrimRight(s, "\n")
	if lines := strings.Split(s, "\n"); len(lines) > 8 {
		s = strings.Join(slices.Concat(lines[:4], []string{"..."}, lines[len(lines)-3:]), "\n")
	}
	return s
}
