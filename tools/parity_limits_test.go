package tools

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/ptyservice"
)

// The same at the smallest limit: what is most important is there.
func TestTextsAtTheSmallestLimit(t *testing.T) {
	staged(t, Config{MaxResultBytes: MinResultBytes}, func(s *stage) {
		r := s.tool("terminal_open", `{"name":"`+strings.Repeat("n", 64)+`"}`)
		if got := plainText(r.text); !strings.Contains(got, "[sessionId: pty-ID]") || len(r.text) > 64 {
			s.t.Errorf("open: got %q, want the id in at most 64 bytes", r.text)
		}
		id := fmt.Sprintf(`"sessionId":%q`, r.facts["sessionId"])
		for _, call := range []struct{ tool, args, want string }{
			{"terminal_send", `{` + id + `,"text":"PTY_OK"}`, "PTY_OK\n[wait: stdin_read]\n[session: running]"},
			{"terminal_send", `{` + id + `,"text":"` + strings.Repeat("long", 100) + `"}`, "[wait: stdin_read]\n[session: running]"},
			{"terminal_read", `{` + id + `,"count":1}`, "[lines: 0-1 of"},
			{"terminal_signal", `{` + id + `,"signal":"SIGINT"}`, "[SIGINT: delivered to process group 100]"},
			{"terminal_signal", `{"sessionId":"none","signal":"SIGINT"}`, "NO_SESSION: "},
			{"terminal_list", `{}`, "[sessions: 1]"},
			{"terminal_send", `{` + id + `,"text":"x","run_in_background":true}`, "[taskId: task-ID]\n[status: running]"},
			{"terminal_close", `{` + id + `}`, "[closed: 1 process ended]"},
		} {
			r := s.tool(call.tool, call.args)
			if got := plainText(r.text); !strings.Contains(got, call.want) || len(r.text) > 64 {
				s.t.Errorf("%s %s: got %d bytes %q, want %q in at most 64", call.tool, call.args, len(r.text), got, call.want)
			}
		}
	})
}

// TestLayoutFitsEveryLimit lays bodies out at each limit: what is there is both
// ends of the body, what is missing is counted, and the marks come first.
func TestLayoutFitsEveryLimit(t *testing.T) {
	marks := []string{"wait: stdin_read", "session: running", "exit: 1"}
	for _, body := range []string{"", "short", strings.Repeat("é", 500), strings.Repeat("line\n", 300)} {
		for limit := MinResultBytes; limit < 700; limit++ {
			var c cut
			r := &result{body: ptyservice.Excerpt{Head: body, FirstLine: 1}, marks: marks, fetch: fetchLines, facts: func(x cut) any { c = x; return nil }}
			text := textOf(t, (&Tools{cfg: Config{MaxResultBytes: limit}}).layout(r))
			if len(text) > limit || !utf8.ValidString(text) {
				t.Fatalf("limit %d: %d bytes, %q", limit, len(text), text)
			}
			if !strings.HasSuffix(text, "[wait: stdin_read]\n[session: running]\n[exit: 1]") {
				t.Errorf("limit %d: %q has not all marks", limit, text)
			}
			shown := text[:c.Bytes]
			head, tail, gapped := strings.Cut(shown, gap)
			if !strings.HasPrefix(body, head) || !strings.HasSuffix(body, tail) || int64(len(head)+len(tail))+c.Omitted != int64(len(body)) || gapped != (c.Omitted > 0 && c.Bytes > 0) {
				t.Errorf("limit %d: %q of %d bytes, %d omitted", limit, shown, len(body), c.Omitted)
			}
		}
	}
}

func textOf(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	if len(r.Content) != 1 {
		t.Fatalf("%d blocks, want one text", len(r.Content))
	}
	text, ok := r.Content[0].(mcp.TextContent)
	if !ok {
		t.Fatalf("a block is %T, want text", r.Content[0])
	}
	return text.Text
}

// Each way to fail has one text that begins with its code, bounded as any other.
func TestEveryErrorFitsTheLimit(t *testing.T) {
	long := errors.New(strings.Repeat("é", 500))
	faults := []error{
		&ptyservice.StartError{Reason: "it ended", Output: strings.Repeat("é", 5000)},
		&ptyservice.StartError{Timeout: true, Reason: "it was late", Err: long},
		&ptyservice.CleanupError{Report: backend.Report{Survivors: slices.Repeat([]backend.Process{{PID: 7, Command: "stuck"}}, 100)}},
		&ptyservice.StalledError{Read: 5, Total: 500},
		long, // internal
	}
	for _, c := range codes {
		faults = append(faults, fmt.Errorf("%w: %w", c.err, long))
	}
	for _, limit := range []int{64, 65, 66, 67, 100, 300, 1000} {
		tools, err := New(nil, Config{MaxResultBytes: limit}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range faults {
			r := tools.failure("x", fault)
			text := textOf(t, r)
			code, _, _ := codeOf(fault)
			if !r.IsError || len(text) > limit || !utf8.ValidString(text) || !strings.HasPrefix(text, code+": ") {
				t.Errorf("limit %d: %d bytes, error %v: %q, want %s", limit, len(text), r.IsError, text, code)
			}
			facts := r.Meta.AdditionalFields[factsKey].(errorFacts)
			if facts.Code != code || len(facts.Message) > limit && len(facts.Message) > len(text) || !utf8.ValidString(facts.Message) {
				t.Errorf("limit %d: facts %+v, want %s and a bounded message", limit, facts, code)
			}
		}
	}
}

func TestTaskResultsFitTheLimit(t *testing.T) {
	for _, limit := range []int{64, 65, 80, 128, 300} {
		staged(t, Config{MaxResultBytes: limit}, func(s *stage) {
			id := s.open()
			f := s.backend.Last()
			f.OnWrite(func(p []byte) { begin(f, "job"); f.Emit(strings.Repeat("é", 1000) + "\r\n") })
			r := s.tool("terminal_send", fmt.Sprintf(`{"sessionId":%q,"text":"job","run_in_background":true}`, id))
			task, _ := r.facts["taskId"].(string)
			if task == "" || !strings.Contains(r.text, "[taskId: "+task+"]") || len(r.text) > limit {
				s.t.Fatalf("limit %d: %q does not tell the id", limit, r.text)
			}
			bounded := func(what string, r reply, mark string) {
				s.t.Helper()
				if len(r.text) > limit || !utf8.ValidString(r.text) || strings.Count(r.text, "[status: ") != strings.Count(mark, "[status: ") || !strings.Contains(r.text, mark) {
					s.t.Errorf("limit %d: %s: %d bytes %q, want %q once", limit, what, len(r.text), r.text, mark)
				}
			}
			synctest.Wait()
			args := fmt.Sprintf(`{"taskId":%q}`, task)
			r = s.tool("task_output", args)
			bounded("output", r, "[status: running]")
			if r.facts["truncated"] != true || r.facts["omittedBytes"] == float64(0) {
				s.t.Errorf("limit %d: facts %v of a cut output", limit, r.facts)
			}
			bounded("kill", s.tool("task_kill", args), "[killed: interrupted]")
			bounded("the end", s.tool("task_output", fmt.Sprintf(`{"taskId":%q,"wait":true}`, task)), "[status: killed]")
			bounded("kill again", s.tool("task_kill", args), "[killed: it had ended]")
			bounded("no task", s.tool("task_output", `{"taskId":"task-aaaaaaaaaa"}`), "NO_TASK: ")
			bounded("long id", s.tool("task_kill", fmt.Sprintf(`{"taskId":%q}`, strings.Repeat("é", 500))), "NO_TASK: ")
		})
	}
}

func TestLimitOutOfRangeIsRefused(t *testing.T) {
	for _, n := range []int{-1, 0, MinResultBytes - 1, MaxResultBytes + 1} {
		var fault *ptyservice.FieldError
		if _, err := New(nil, Config{MaxResultBytes: n}, nil); !errors.As(err, &fault) || fault.Field != "maxResultBytes" {
			t.Errorf("%d: %v, want it to be refused by its name", n, err)
		}
	}
	for _, n := range []int{MinResultBytes, MaxResultBytes} {
		if _, err := New(nil, Config{MaxResultBytes: n}, nil); err != nil {
			t.Errorf("%d: %v", n, err)
		}
	}
}

// A result is sized once: what comes later is not in it, and what a send has
// told is not told again.
func TestTruncatedIsNotSticky(t *testing.T) {
	staged(t, Config{MaxResultBytes: 500}, func(s *stage) {
		id := s.open()
		r := s.tool("terminal_send", fmt.Sprintf(`{"sessionId":%q,"text":%q}`, id, strings.Repeat("x", 2000)))
		if r.facts["truncated"] != true || !strings.Contains(r.text, "[omitted: ") {
			s.t.Errorf("a long one: %s", r.text)
		}
		r = s.tool("terminal_send", fmt.Sprintf(`{"sessionId":%q,"text":"short"}`, id))
		if r.facts["truncated"] != false || r.text != "short\n[wait: stdin_read]\n[session: running]" {
			s.t.Errorf("the next: %s, facts %v", r.text, r.facts)
		}
	})
}
