// Package tools is what a client of ptykeep sees: the MCP tools, each in a file
// of its own with its schema, its arguments and the layout of its results;
// package ptyservice does what they ask for.
//
// A result is one text block, complete by itself: the body, then marks in square
// brackets (result.go). Programs find the same as JSON in _meta, under
// "ptykeep/facts". An error is a result as well, "CODE: what happened. what to
// do"; codeOf gives each error of the service its code. A new mark of a send is a
// line in sendMarks and a field in sendFacts; a new argument is in a tool's
// schema and in its run function, and a test holds the two together.
package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/ptykeep/ptykeep/ptyservice"
	"github.com/ptykeep/ptykeep/tools/wire"
)

// Config holds the settings of the tools.
type Config struct {
	MaxResultBytes    int  // of the text of one result, 64 - 16 MiB
	StructuredResults bool // bodies in structuredContent, too
	NoBackground      bool // no run_in_background, no task tools
}

// Bounds and default of Config.MaxResultBytes.
const (
	MinResultBytes     = 64
	MaxResultBytes     = 16 << 20
	DefaultResultBytes = 256 << 10
)

// Validate reports a field that is out of its range.
func (c Config) Validate() error {
	if c.MaxResultBytes < MinResultBytes || c.MaxResultBytes > MaxResultBytes {
		return &ptyservice.FieldError{Field: "maxResultBytes", Problem: fmt.Sprintf("is %d, not in %d-%d", c.MaxResultBytes, MinResultBytes, MaxResultBytes)}
	}
	return nil
}

// Tools serves a Service over MCP.
type Tools struct {
	service *ptyservice.Service
	cfg     Config
	log     *slog.Logger
	lines   lines
}

// New returns the tools of service. It copies c; log may be nil.
func New(service *ptyservice.Service, c Config, log *slog.Logger) (*Tools, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Tools{service: service, cfg: c, log: log}, nil
}

// tool is one row of the list: what the client is told and what is done.
type tool struct {
	name, description string
	input, output     string // JSON schemas; output "" = none
	hints             mcp.ToolAnnotation
	run               func(context.Context, *arguments) (*result, error)
}

// list names all tools, in the order in which clients show them.
func (t *Tools) list() []tool {
	list := []tool{t.open(), t.send(), t.read(), t.signal(), t.close(), t.sessions()}
	if !t.cfg.NoBackground {
		list = append(list, t.taskOutput(), t.taskKill())
	}
	return list
}

// Server returns an MCP server with the tools.
func (t *Tools) Server(version string) *server.MCPServer {
	s := server.NewMCPServer("ptykeep", version, server.WithToolCapabilities(false))
	for _, x := range t.list() {
		d := mcp.NewToolWithRawSchema(x.name, x.description, json.RawMessage(x.input))
		d.Annotations = x.hints
		if x.output != "" {
			d.RawOutputSchema = json.RawMessage(x.output)
		}
		s.AddTool(d, t.handler(x))
	}
	return s
}

// hints are a tool's annotations: what it does besides answering. No tool
// reaches for more than the terminals, which may reach for anything.
func hints(readOnly, destructive, idempotent, openWorld bool) mcp.ToolAnnotation {
	return mcp.ToolAnnotation{ReadOnlyHint: &readOnly, DestructiveHint: &destructive, IdempotentHint: &idempotent, OpenWorldHint: &openWorld}
}

// handler decodes, runs and lays out one call. Every way out of a tool goes
// through it, so that every result is bounded, errors included.
func (t *Tools) handler(x tool) server.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		a := parseArguments(r.Params.RawArguments)
		if a.err != nil {
			return t.failure(x.name, a.err), nil
		}
		ctx, stop := withServiceCause(ctx)
		defer stop()
		res, err := x.run(ctx, a)
		if err != nil {
			return t.failure(x.name, err), nil
		}
		return t.layout(res), nil
	}
}

// withServiceCause makes the causes of package wire those of ptyservice.
func withServiceCause(ctx context.Context) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	relay := func() { cancel(serviceCause(context.Cause(ctx))) }
	if ctx.Err() != nil {
		relay()
	}
	stop := context.AfterFunc(ctx, relay)
	return inner, func() { stop(); cancel(nil) }
}

func serviceCause(cause error) error {
	switch {
	case errors.Is(cause, wire.ErrDetached):
		return ptyservice.ErrDetached
	case errors.Is(cause, wire.ErrGone), errors.Is(cause, wire.ErrShutdown):
		return ptyservice.ErrGone
	}
	return ptyservice.ErrCancelled
}

// session returns the session that a call names, if it is the caller's.
func (t *Tools) session(ctx context.Context, id string) (*ptyservice.Session, error) {
	return t.service.Session(wire.Owner(ctx), id)
}

// codes gives each error of the service its code and what to do about it. The
// first that matches counts.
var codes = []struct {
	err  error
	code string
	hint string
}{
	{ptyservice.ErrInvalid, "INVALID_ARGS", ""},
	{ptyservice.ErrNoSession, "NO_SESSION", "terminal_list shows yours"},
	{ptyservice.ErrForeignSession, "FOREIGN_SESSION", "terminal_list shows yours"},
	{ptyservice.ErrDuplicateName, "DUPLICATE_NAME", "use another name, or close that session"},
	{ptyservice.ErrNoBackend, "NO_BACKEND", ""},
	{ptyservice.ErrSendActive, "SEND_ACTIVE", "wait for it, or interrupt with terminal_signal; nothing was typed"},
	{ptyservice.ErrSessionExited, "SESSION_EXITED", "nothing was done; terminal_read still reads it, terminal_close removes it"},
	{ptyservice.ErrSessionClosing, "SESSION_CLOSING", "nothing was done"},
	{ptyservice.ErrSessionLost, "SESSION_LOST", "close it and open another"},
	{ptyservice.ErrOwnerNotLive, "OWNER_NOT_LIVE", ""},
	{ptyservice.ErrDisposing, "SERVICE_DISPOSING", ""},
	{ptyservice.ErrNoForeground, "NO_FOREGROUND", "nothing was signalled; terminal_close ends the session"},
	{ptyservice.ErrShellKillRefused, "SHELL_KILL_REFUSED", "use terminal_close"},
	{ptyservice.ErrLineTooLong, "LINE_TOO_LONG", "nothing was typed; write shorter lines, or a file"},
	{ptyservice.ErrSandboxUnavailable, "SANDBOX_UNAVAILABLE", "nothing was started; the operator can also choose --sandbox-mode danger-full-access, which runs unconfined"},
	{ptyservice.ErrResourceLimit, "RESOURCE_LIMIT", "close what you do not need"},
	{ptyservice.ErrNoTask, "NO_TASK", "tasks go with their session"},
	{errBackgroundDisabled, "BACKGROUND_DISABLED", "call without run_in_background"},
	{ptyservice.ErrAborted, "ABORTED", ""},
	{ptyservice.ErrCancelled, "ABORTED", ""},
	{ptyservice.ErrDetached, "ABORTED", ""},
	{ptyservice.ErrGone, "ABORTED", ""},
}

// codeOf returns the code, the message and the hint of an error.
func codeOf(err error) (code, message, hint string) {
	var start *ptyservice.StartError
	var cleanup *ptyservice.CleanupError
	var stalled *ptyservice.StalledError
	switch {
	case errors.As(err, &cleanup):
		return "CLEANUP_FAILED", err.Error(), "the session stays listed; terminal_close tries again"
	case errors.As(err, &start) && start.Timeout:
		return "START_TIMEOUT", err.Error(), "nothing is left of it; a longer timeoutMs may help"
	case errors.As(err, &start):
		return "START_FAILED", err.Error(), "nothing is left of it"
	case errors.As(err, &stalled):
		return "INPUT_STALLED", err.Error(), "the program does not read; interrupt it or send less"
	}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			message = err.Error()
			if c.code == "INVALID_ARGS" { // the code says it
				message = strings.TrimPrefix(message, ptyservice.ErrInvalid.Error()+": ")
			}
			return c.code, message, c.hint
		}
	}
	return "INTERNAL", "internal error", "the server's log has the details"
}
