package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// causes returns a server whose tool "wait" tells on the channel why it ended.
func causes() (*server.MCPServer, <-chan string) {
	s, seen := testServer(), make(chan string, 1000)
	s.AddTool(mcp.NewTool("wait"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		seen <- cause(ctx)
		return mcp.NewToolResultText("late"), nil
	})
	return s, seen
}

func TestCancelledCallGetsNoAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, seen := causes()
		p := connect(t, s, Options{})
		p.call("1", "wait")
		synctest.Wait()
		p.send(cancelLine("1", ""))
		if got := <-seen; got != "cancelled" {
			t.Errorf("cause: got %s, want cancelled", got)
		}
		synctest.Wait()
		p.silent()
	})
}

func TestReasonDecidesCause(t *testing.T) {
	for reason, want := range map[string]string{
		``:                                      "cancelled",
		`"user pressed Escape"`:                 "cancelled",
		`"time to go"`:                          "cancelled",
		`"times out of mind"`:                   "cancelled",
		`""`:                                    "cancelled",
		`null`:                                  "cancelled",
		`17`:                                    "cancelled",
		`{"text":"timeout"}`:                    "cancelled",
		`"Request timed out"`:                   "detached",
		`"McpError: MCP error -32001: TIMEOUT"`: "detached",
		`"Time-out after 60 s"`:                 "detached",
		`"time out"`:                            "detached",
		`"context deadline exceeded"`:           "detached",
		`"AbortError: TimedOut"`:                "detached",
		`"Deadline"`:                            "detached",
	} {
		t.Run(reason, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s, seen := causes()
				p := connect(t, s, Options{})
				p.send(callLine("1", "wait"), cancelLine("1", reason))
				if got := <-seen; got != want {
					t.Errorf("cause: got %s, want %s", got, want)
				}
				synctest.Wait()
				p.silent()
			})
		})
	}
}

// Order runs in the read loop before the request's goroutine exists.
func TestCancelBeforeStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, seen := causes()
		var p *peer
		p = connect(t, s, Options{Order: func(method string, params json.RawMessage) any {
			if method == "tools/call" {
				p.conn.cancelCall(json.RawMessage(`{"requestId":1}`))
			}
			return nil
		}})
		p.call("1", "wait")
		if got := <-seen; got != "cancelled" {
			t.Errorf("cause: got %s, want cancelled", got)
		}
		synctest.Wait()
		p.silent()
	})
}

func TestCancelInTheSameRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, seen := causes()
		p := connect(t, s, Options{MaxInFlight: 1000})
		var lines []string
		for i := range 500 {
			lines = append(lines, callLine(fmt.Sprint(i), "wait"), cancelLine(fmt.Sprint(i), ""))
		}
		p.send(lines...)
		for i := range 500 {
			if got := <-seen; got != "cancelled" {
				t.Fatalf("cause of %d: got %s, want cancelled", i, got)
			}
		}
		synctest.Wait()
		p.silent()
	})
}

func TestCancelOfNothingIsIgnored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := connect(t, testServer(), Options{})
		p.call("1", "echo")
		p.next()
		p.send(cancelLine("1", ""), cancelLine("99", ""), cancelLine("null", ""), cancelLine("{}", ""),
			`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}`)
		p.silent()
		p.call("1", "echo")
		if got := p.next().text(); got != "hi" {
			t.Errorf("call with the id of a cancelled nothing: got %q, want hi", got)
		}
	})
}

func TestInitializeCannotBeCancelled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := connect(t, testServer(), Options{})
		p.send(initializeLine("1", "2025-11-25"), cancelLine("1", ""))
		if a := p.next(); string(a.ID) != "1" || a.Result == nil {
			t.Errorf("got %v, want the result of initialize", a)
		}
	})
}

func TestCancelKeepsStringAndNumberApart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, seen := causes()
		p := connect(t, s, Options{})
		p.send(callLine(`"7"`, "wait"), callLine("7", "sleep"), cancelLine(`"\u0037"`, ""))
		if got := <-seen; got != "cancelled" {
			t.Errorf("cause: got %s, want cancelled", got)
		}
		if a := p.next(); string(a.ID) != "7" || a.text() != "slept" {
			t.Errorf("got %v, want id 7 to have slept", a)
		}
	})
}

func TestCancelledIDIsFreeAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, release := stuckServer()
		defer release()
		p := connect(t, s, Options{})
		p.send(callLine("1", "stuck"), cancelLine("1", ""), callLine("1", "echo"))
		if got := p.next().text(); got != "hi" {
			t.Errorf("got %q, want hi", got)
		}
	})
}

// The read loop hears a cancellation although the client reads nothing and the queue is full.
func TestCancelWhileOutputIsBlocked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, seen := causes()
		p := connect(t, s, Options{})
		p.call(`"w"`, "wait")
		for i := range 20 { // 20 MiB into a queue of 8
			p.call(fmt.Sprint(i), "big")
		}
		synctest.Wait()
		p.send(cancelLine(`"w"`, ""))
		if got := <-seen; got != "cancelled" {
			t.Errorf("cause: got %s, want cancelled", got)
		}
		for i := range 20 { // some wait for room: these get no answer
			p.send(cancelLine(fmt.Sprint(i), ""))
		}
		synctest.Wait()
		p.send(pingLine(`"last"`))
		answered := 0
		for a := p.next(); string(a.ID) != `"last"`; a = p.next() {
			answered++
		}
		if answered < 1 || answered > 8 {
			t.Errorf("answers written: got %d, want those that fit into the queue", answered)
		}
	})
}

func TestRefusalsDoNotFillMemory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log logged
		p := connect(t, testServer(), Options{Log: log.logger()})
		id := `"` + strings.Repeat("i", 1<<20) + `"`
		for range 20 {
			p.send(`{"jsonrpc":"2.0","id":` + id + `}`)
		}
		synctest.Wait()
		if held := p.conn.out.queued(); held > 2*queueBytes {
			t.Errorf("queued: got %d bytes, want at most %d", held, 2*queueBytes)
		}
		if !strings.Contains(log.String(), "refusal dropped") {
			t.Error("nothing in the log about dropped refusals")
		}
	})
}
