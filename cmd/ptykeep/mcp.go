package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/backend/local"
	"github.com/ptykeep/ptykeep/ptyservice"
	"github.com/ptykeep/ptykeep/tools"
	"github.com/ptykeep/ptykeep/tools/wire"
)

func serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve terminals over MCP on standard input and output",
		Long: "Serve terminals over MCP on standard input and output, until the input ends or\n" +
			"a signal comes; then all terminals are closed with everything that runs in them.\n" +
			"Each flag has a variable: --timeout-ms is PTYKEEP_TIMEOUT_MS. Logs go to stderr.",
		Args: cobra.NoArgs,
	}
	s := bindSettings(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := s.load(cmd); err != nil {
			return err
		}
		log, err := s.logger()
		if err != nil {
			return err
		}
		if isTerminal(os.Stdin) {
			log.Warn("standard input is a terminal; this speaks JSON-RPC and is for an MCP client to start")
		}
		warnUnknown(log, os.Environ())
		// Nothing but answers may reach standard output, whatever prints.
		out := os.Stdout
		os.Stdout = os.Stderr
		return serve(cmd.Context(), s, log, os.Stdin, out)
	}
	return cmd
}

// farewell bounds the orderly end: beyond the grace of the programs, this is
// for killing what ignores it. Then the guards finish what is left.
const farewell = 12 * time.Second

// serve answers one client until it goes, and leaves nothing behind.
func serve(ctx context.Context, s *settings, log *slog.Logger, in io.Reader, out io.Writer) error {
	ctx, stop := signalled(ctx)
	defer stop()
	if err := local.Harden(); err != nil {
		return fmt.Errorf("hardening the server: %w", err)
	}
	terminals, err := local.New(local.Options{Log: log})
	if err != nil {
		return err
	}
	defer func() {
		// Last: it is what closed terminals leave.
		if err := terminals.Close(); err != nil {
			log.Warn("leaving a directory", "error", err)
		}
	}()
	if err := terminals.Adopt(); err != nil {
		return err
	}
	service, err := ptyservice.New(s.service, ptyservice.Options{
		Backends: map[string]backend.Backend{"shell": terminals}, Environ: os.Environ(), Log: log,
	})
	if err != nil {
		return err
	}
	t, err := tools.New(service, s.tools, log)
	if err != nil {
		return err
	}
	err = wire.New(t.Server(version()), out, wire.Options{Log: log, Order: t.Order}).Serve(ctx, in)
	if err != nil && !errors.Is(err, errSignal) {
		log.Warn("the connection ended", "error", err)
	}
	late := time.AfterFunc(s.service.DisposeGrace+farewell, func() {
		log.Error("disposal takes too long; leaving it to the guards, with the caches")
		os.Exit(1)
	})
	defer late.Stop()
	if err := service.Close(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("closing the terminals: %w", err)
	}
	return nil
}

// errSignal is the end that a signal asks for. It is no failure.
var errSignal = errors.New("stopped by a signal")

// signalled returns a context that ends at the first SIGTERM, SIGINT or SIGHUP.
// The second ends the server at once; the guards then end the terminals.
func signalled(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	// A client that is gone makes writes fail with EPIPE, which ends the
	// connection in order. Notify, not Ignore: that would be inherited by every
	// shell.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	done := make(chan struct{})
	go func() { // ends with stop, or with the process at the second signal
		select {
		case sig := <-signals:
			cancel(fmt.Errorf("%w: %v", errSignal, sig))
		case <-done:
			return
		}
		select {
		case <-signals:
			os.Exit(130)
		case <-done:
		}
	}()
	return ctx, func() { signal.Stop(signals); close(done); cancel(nil) }
}
