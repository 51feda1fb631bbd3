package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/backend/backendtest"
	"github.com/ptykeep/ptykeep/ptyservice"
	"github.com/ptykeep/ptykeep/tools/wire"
)

var update = flag.Bool("update", false, "write the golden files")

// newTools returns the tools of a service whose terminals show a prompt and echo
// what is typed as the output of a command.
func newTools(t *testing.T, c Config) *Tools {
	t.Helper()
	b := &backendtest.Backend{OnStart: func(_ context.Context, f *backendtest.Fake) error {
		mark := func(s string) string { return "\x1b]6973;" + f.Spec().Nonce + ";" + s + "\x07" }
		prompt := mark("D;0;100;/") + "$ " + mark("B;100")
		f.UpdateProbe(func(p *backend.Probe) {
			p.Wait = backend.WaitExact
			p.PGID, p.PID, p.Own, p.Command, p.Flags.Canonical = 100, 100, true, "sh", false
		})
		f.OnWrite(func(p []byte) {
			line := strings.TrimSuffix(string(p), "\r")
			f.Emit(line + "\r\n" + mark("C;100") + strings.ReplaceAll(line, ";", "\r\n") + "\r\n" + prompt)
		})
		f.Emit(mark("C;100") + prompt)
		return nil
	}}
	cfg := ptyservice.DefaultConfig()
	cfg.WorkspaceRoot = t.TempDir()
	service, err := ptyservice.New(cfg, ptyservice.Options{Backends: map[string]backend.Backend{"shell": b}})
	if err != nil {
		t.Fatal(err)
	}
	if c.MaxResultBytes == 0 {
		c.MaxResultBytes = DefaultResultBytes
	}
	tools, err := New(service, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

// client is one connection to the tools.
type client struct {
	t     *testing.T
	in    *io.PipeWriter
	out   *bufio.Reader
	ended chan error
}

func connect(t *testing.T, tools *Tools) *client {
	t.Helper()
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	c := &client{t: t, in: in, out: bufio.NewReader(out), ended: make(chan error, 1)}
	conn := wire.New(tools.Server("test"), toClient, wire.Options{Order: tools.Order})
	go func() { c.ended <- conn.Serve(context.Background(), fromClient) }() // ends with close
	return c
}

func (c *client) close() {
	c.t.Helper()
	_ = c.in.Close() // of a pipe: never fails
	if err := <-c.ended; err != nil {
		c.t.Errorf("the connection ended with %v", err)
	}
}

func (c *client) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// answer reads one answer.
func (c *client) answer() (id string, r reply) {
	c.t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	var m struct {
		ID     json.RawMessage
		Error  json.RawMessage
		Result struct {
			Content           []struct{ Type, Text string }
			IsError           bool
			StructuredContent json.RawMessage
			Meta              map[string]json.RawMessage `json:"_meta"`
		}
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		c.t.Fatalf("%v in %q", err, line)
	}
	r = reply{raw: line, rpcError: string(m.Error), isError: m.Result.IsError, structured: string(m.Result.StructuredContent)}
	if len(m.Result.Content) == 1 {
		r.text = m.Result.Content[0].Text
	}
	if facts := m.Result.Meta[factsKey]; facts != nil {
		if err := json.Unmarshal(facts, &r.facts); err != nil {
			c.t.Fatal(err)
		}
	}
	return string(m.ID), r
}

type reply struct {
	raw, text, structured, rpcError string
	isError                         bool
	facts                           map[string]any
}

func (c *client) tool(name string, args string) reply {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, args))
	_, r := c.answer()
	return r
}

func (c *client) open() string {
	c.t.Helper()
	r := c.tool("terminal_open", `{}`)
	id, _ := r.facts["sessionId"].(string)
	if id == "" {
		c.t.Fatalf("terminal_open: %s", r.raw)
	}
	return id
}

// bubble runs test in a synctest bubble with a connection to fresh tools.
func bubble(t *testing.T, cfg Config, test func(t *testing.T, tools *Tools, c *client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tools := newTools(t, cfg)
		c := connect(t, tools)
		test(t, tools, c)
		c.close()
		if err := tools.service.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestToolsListIsGolden(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, _ *Tools, c *client) {
		list := func() string {
			c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			_, r := c.answer()
			return r.raw
		}
		got := list()
		if again := list(); again != got {
			t.Error("tools/list is another the second time")
		}
		golden := filepath.Join("testdata", "tools_list.json")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || got != string(want) {
			t.Errorf("tools/list differs from %s (%v); -update writes it:\n%s", golden, err, got)
		}
		if len(got) > 8000 {
			t.Errorf("tools/list has %d bytes, at most 8000 are promised", len(got))
		}
	})
}

func TestWhatTheModelReadsIsSmall(t *testing.T) {
	size := 0
	for _, x := range newTools(t, Config{}).list() {
		size += len(x.name) + len(x.description) + len(x.input)
	}
	if size > 5000 {
		t.Errorf("names, descriptions and input schemas have %d bytes, at most 5000 are promised", size)
	}
}

// TestSchemasAndArgumentsAgree calls each tool with nothing but an unknown
// field: the refusal lists what the tool reads, and that is what its schema has.
func TestSchemasAndArgumentsAgree(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, tools *Tools, c *client) {
		for _, x := range tools.list() {
			var schema struct {
				Properties           map[string]any
				Required             []string
				AdditionalProperties *bool
			}
			if err := json.Unmarshal([]byte(x.input), &schema); err != nil {
				t.Fatalf("%s: %v", x.name, err)
			}
			if schema.AdditionalProperties == nil || *schema.AdditionalProperties {
				t.Errorf("%s: its schema lets unknown fields pass", x.name)
			}
			a := parseArguments(json.RawMessage(`{"signal":"SIGINT","sessionId":"none","count":5}`))
			_, _ = x.run(t.Context(), a) // fails: no such session, or a field it does not know
			for name := range schema.Properties {
				if !slices.Contains(a.asked, name) {
					t.Errorf("%s: the schema has %s, which is not read", x.name, name)
				}
			}
			for _, name := range a.asked {
				if schema.Properties[name] == nil {
					t.Errorf("%s: %s is read, but not in the schema", x.name, name)
				}
			}
			for _, name := range schema.Required {
				if r := c.tool(x.name, `{}`); !r.isError || !strings.HasPrefix(r.text, "INVALID_ARGS: ") {
					t.Errorf("%s without %s: %s", x.name, name, r.text)
				}
			}
		}
	})
}

func TestOtherConnectionsSessionIsForeign(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, tools *Tools, c *client) {
		id := c.open()
		other := connect(t, tools)
		defer other.close()
		for _, call := range []struct{ tool, args string }{
			{"terminal_send", `{"sessionId":%q,"text":"x"}`},
			{"terminal_read", `{"sessionId":%q}`},
			{"terminal_signal", `{"sessionId":%q,"signal":"SIGINT"}`},
			{"terminal_close", `{"sessionId":%q}`},
		} {
			r := other.tool(call.tool, fmt.Sprintf(call.args, id))
			if !r.isError || r.facts["code"] != "FOREIGN_SESSION" {
				t.Errorf("%s: %s, want FOREIGN_SESSION", call.tool, r.text)
			}
		}
		if r := other.tool("terminal_list", `{}`); strings.Contains(r.raw, id) {
			t.Errorf("another's list shows it: %s", r.raw)
		}
		if r := c.tool("terminal_send", fmt.Sprintf(`{"sessionId":%q,"text":"mine"}`, id)); r.isError || !strings.HasPrefix(r.text, "mine\n") {
			t.Errorf("its owner's send: %s", r.text)
		}
	})
}

func TestPipelinedSendsTakeTheSlotInOrder(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, _ *Tools, c *client) {
		id := c.open()
		for round := range 200 {
			const n = 4
			var lines []string
			for i := range n {
				lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"terminal_send","arguments":{"sessionId":%q,"text":"r%d-%d"}}}`, i, id, round, i))
			}
			c.send(strings.Join(lines, "\n"))
			for range n {
				number, r := c.answer()
				switch {
				case number == "0" && r.isError:
					t.Fatalf("round %d: the first send: %s", round, r.text)
				case number != "0" && !r.isError:
					// It may well come after the end of the first.
				case number != "0" && r.facts["code"] != "SEND_ACTIVE":
					t.Fatalf("round %d: send %s: %s", round, number, r.text)
				}
			}
		}
	})
}

func TestResultsFitTheLimit(t *testing.T) {
	for _, limit := range []int{64, 65, 100, 200, 300, 1000} {
		bubble(t, Config{MaxResultBytes: limit}, func(t *testing.T, tools *Tools, c *client) {
			r := c.tool("terminal_open", fmt.Sprintf(`{"name":%q}`, strings.Repeat("é", 64)))
			id, _ := r.facts["sessionId"].(string)
			if len(r.text) > limit || !strings.Contains(r.text, id) || id == "" {
				t.Errorf("limit %d: open has %d bytes: %s", limit, len(r.text), r.text)
			}
			for _, call := range []struct{ tool, args string }{
				{"terminal_send", fmt.Sprintf(`{"sessionId":%q,"text":%q}`, id, strings.Repeat("été;", 1000))},
				{"terminal_read", fmt.Sprintf(`{"sessionId":%q}`, id)},
				{"terminal_read", fmt.Sprintf(`{"sessionId":%q,"view":"screen"}`, id)},
				{"terminal_list", `{}`},
				{"terminal_send", fmt.Sprintf(`{"sessionId":%q}`, strings.Repeat("é", 1000))},
				{"terminal_signal", fmt.Sprintf(`{"sessionId":%q,"signal":%q}`, id, strings.Repeat("é", 1000))},
				{"terminal_close", fmt.Sprintf(`{"sessionId":%q}`, id)},
			} {
				r := c.tool(call.tool, call.args)
				if len(r.text) > limit || !utf8.ValidString(r.text) || r.text == "" {
					t.Errorf("limit %d: %s has %d bytes: %q", limit, call.tool, len(r.text), r.text)
				}
			}
		})
	}
}

func TestCutTellsHowMuchIsMissing(t *testing.T) {
	bubble(t, Config{MaxResultBytes: 1000}, func(t *testing.T, _ *Tools, c *client) {
		id := c.open()
		whole := strings.TrimSuffix(strings.Repeat("abcdefgh;", 500), ";")
		r := c.tool("terminal_send", fmt.Sprintf(`{"sessionId":%q,"text":%q}`, id, whole))
		body, _, _ := strings.Cut(r.text, "\n[omitted: ")
		head, tail, ok := strings.Cut(body, gap)
		omitted, _ := r.facts["omittedBytes"].(float64)
		if !ok || len(head)+len(tail)+int(omitted) != len(whole) || r.facts["truncated"] != true {
			t.Errorf("%d and %d bytes, %v omitted, of %d: %s", len(head), len(tail), omitted, len(whole), r.text)
		}
		if n, _ := r.facts["bodyBytes"].(float64); r.text[:int(n)] != body {
			t.Errorf("bodyBytes %v is not where the body ends", n)
		}
	})
}

func TestStructuredResults(t *testing.T) {
	bubble(t, Config{StructuredResults: true}, func(t *testing.T, _ *Tools, c *client) {
		id := c.open()
		r := c.tool("terminal_send", fmt.Sprintf(`{"sessionId":%q,"text":"hello"}`, id))
		var s struct{ Viewport, WaitReason string }
		if err := json.Unmarshal([]byte(r.structured), &s); err != nil || s.Viewport != "hello" || s.WaitReason != "stdin_read" {
			t.Errorf("structured content %s", r.structured)
		}
	})
	bubble(t, Config{}, func(t *testing.T, _ *Tools, c *client) {
		id := c.open()
		if r := c.tool("terminal_send", fmt.Sprintf(`{"sessionId":%q,"text":"hello"}`, id)); r.structured != "" {
			t.Errorf("a send has structured content unasked: %s", r.structured)
		}
		if r := c.tool("terminal_list", `{}`); !strings.Contains(r.structured, id) {
			t.Errorf("terminal_list has none: %s", r.raw)
		}
	})
}

func TestOpenWithTextIsOneCall(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, _ *Tools, c *client) {
		r := c.tool("terminal_open", `{"text":"hello"}`)
		send, _ := r.facts["send"].(map[string]any)
		if r.isError || !strings.HasPrefix(r.text, "hello\n") || send["waitReason"] != "stdin_read" || send["exitCode"] != float64(0) {
			t.Errorf("got %s", r.raw)
		}
	})
}

func TestEndOfInputAnswersWhatWasRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tools := newTools(t, Config{})
		c := connect(t, tools)
		var lines []string
		for i := range 50 {
			lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"terminal_list","arguments":{}}}`, i))
		}
		go func() { c.send(strings.Join(lines, "\n")); _ = c.in.Close() }()
		for range 50 {
			if _, r := c.answer(); r.isError || r.rpcError != "" {
				t.Errorf("got %s", r.raw)
			}
		}
		c.close()
		if err := tools.service.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestInternalErrorsStayInside(t *testing.T) {
	code, message, _ := codeOf(fmt.Errorf("secret path /x: %w", io.ErrUnexpectedEOF))
	if code != "INTERNAL" || strings.Contains(message, "secret") {
		t.Errorf("got %s: %s", code, message)
	}
}
