package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// testServer has tools for all that a handler can do to a connection.
func testServer() *server.MCPServer {
	s := server.NewMCPServer("test", "1", server.WithToolCapabilities(false))
	add := func(name string, h server.ToolHandlerFunc) { s.AddTool(mcp.NewTool(name), h) }
	add("echo", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(r.GetString("text", "")), nil
	})
	add("sleep", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-time.After(2 * time.Second):
			return mcp.NewToolResultText("slept"), nil
		case <-ctx.Done():
			return mcp.NewToolResultText(cause(ctx)), nil
		}
	})
	add("wait", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		return mcp.NewToolResultText(cause(ctx)), nil
	})
	add("owner", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(Owner(ctx) + " " + server.ClientSessionFromContext(ctx).SessionID()), nil
	})
	add("ticket", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(fmt.Sprint(Ticket(ctx))), nil
	})
	add("fail", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("secret text")
	})
	add("panic", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("secret text") })
	add("nan", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultStructured(func() {}, "secret text"), nil
	})
	add("big", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(strings.Repeat("x", 1<<20)), nil
	})
	add("notify", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 50 {
			err := server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress",
				map[string]any{"progressToken": 1, "progress": i})
			if err != nil {
				return nil, err
			}
		}
		return mcp.NewToolResultText("done"), nil
	})
	return s
}

// cause is exact: == and not errors.Is.
func cause(ctx context.Context) string {
	switch err := context.Cause(ctx); err {
	case ErrCancelled:
		return "cancelled"
	case ErrDetached:
		return "detached"
	case ErrGone:
		return "gone"
	case ErrShutdown:
		return "shutdown"
	default:
		return fmt.Sprintf("unexpected cause %v", err)
	}
}

// peer is the client's end of a connection.
type peer struct {
	t      *testing.T
	conn   *Conn
	in     *io.PipeWriter
	outEnd *io.PipeReader
	out    *bufio.Reader
	stop   context.CancelCauseFunc
	served chan error // has one value when Serve has returned
}

// connect serves s on pipes, in a bubble; whatever is left at the end of the bubble fails the test.
func connect(t *testing.T, s *server.MCPServer, o Options) *peer {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, stop := context.WithCancelCause(t.Context())
	p := &peer{
		t: t, conn: New(s, outW, o), in: inW, outEnd: outR, out: bufio.NewReaderSize(outR, 1<<16), stop: stop,
		served: make(chan error, 1),
	}
	go func() { p.served <- p.conn.Serve(ctx, inR) }() // ends with the connection, at the latest in the cleanup
	t.Cleanup(func() {
		_ = inW.Close() // never fails
		_ = outR.Close()
		stop(nil)
	})
	return p
}

// bubble runs a test with virtual time; it fails if a goroutine outlives it.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

func (p *peer) send(lines ...string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, strings.Join(lines, "\n")+"\n"); err != nil {
		p.t.Fatalf("sending: %v", err)
	}
}

func (p *peer) call(id, tool string) { p.t.Helper(); p.send(callLine(id, tool)) }

func callLine(id, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":{"text":"hi"}}}`, id, tool)
}

func cancelLine(id, reason string) string {
	if reason == "" {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":%s}}`, id, reason)
}

func pingLine(id string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, id) }

// answer is one line of the server.
type answer struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// text is the only text of a tool result.
func (a answer) text() string {
	var r struct{ Content []struct{ Text string } }
	if json.Unmarshal(a.Result, &r) != nil || len(r.Content) != 1 {
		return fmt.Sprintf("no single text in %s", a.Result)
	}
	return r.Content[0].Text
}

func (a answer) String() string {
	if a.Error != nil {
		return fmt.Sprintf("id %s: error %d %s", a.ID, a.Error.Code, a.Error.Message)
	}
	return fmt.Sprintf("id %s: %.200s", a.ID, a.Result)
}

func (p *peer) next() answer {
	p.t.Helper()
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		p.t.Fatalf("reading an answer: %v", err)
	}
	return decode(p.t, line)
}

func decode(t *testing.T, line []byte) answer {
	t.Helper()
	var a answer
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil || a.JSONRPC != "2.0" {
		t.Fatalf("not a JSON-RPC message (%v): %.300q", err, line)
	}
	return a
}

// silent fails if the server writes anything before it has nothing left to do.
func (p *peer) silent() {
	p.t.Helper()
	p.send(pingLine(`"silent"`))
	if a := p.next(); string(a.ID) != `"silent"` {
		p.t.Fatalf("got %v, want no answer but to ping", a)
	}
}

// serve runs a whole input, with the end behind it, and returns all that was written.
func serve(t *testing.T, s *server.MCPServer, o Options, input string) (answers []answer, err error) {
	t.Helper()
	var out bytes.Buffer
	err = New(s, &out, o).Serve(t.Context(), strings.NewReader(input))
	for line := range bytes.Lines(out.Bytes()) {
		answers = append(answers, decode(t, line))
	}
	return answers, err
}

// logged collects a log as text.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer // guarded by mu
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *logged) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
