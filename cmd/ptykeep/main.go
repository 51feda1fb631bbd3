// Command ptykeep keeps terminals for agents: "ptykeep mcp" serves them over MCP
// on standard input and output, "ptykeep demo" shows that at work, "ptykeep
// doctor" says what this host can do.
package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

func main() {
	if err := rootCommand().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "ptykeep:", err)
		fmt.Fprintln(os.Stderr, "See 'ptykeep --help' and 'ptykeep mcp --help'.")
		os.Exit(1)
	}
}

func rootCommand() *cobra.Command {
	serve := serveCommand()
	root := &cobra.Command{
		Use:   "ptykeep",
		Short: "Keep terminals for AI agents, served over MCP",
		Long: "ptykeep keeps terminals for AI agents: shells, REPLs and debuggers that stay alive\n" +
			"between the calls of an agent, served over MCP on standard input and output.\n" +
			"Without a command it does as 'ptykeep mcp' when its input is no terminal.",
		SilenceUsage: true, SilenceErrors: true,
		Version: version(),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if isTerminal(os.Stdin) {
				return cmd.Help()
			}
			serve.SetContext(cmd.Context())
			return serve.RunE(serve, nil)
		},
	}
	root.AddCommand(serve, demoCommand(), doctorCommand(), versionCommand())
	return root
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), "ptykeep", version()) },
	}
}

// version is what the Go tool recorded in the binary.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// isTerminal reports whether f is a terminal: only those have a size.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}
