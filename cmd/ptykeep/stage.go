package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/shirou/gopsutil/v4/process"
)

// agent is a client of a server that runs as a child, as an agent has one.
type agent struct {
	client *client.Client
	server *exec.Cmd
	closed bool
}

// startAgent starts this program as a server and greets it.
func startAgent(ctx context.Context, args ...string) (*agent, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding own program: %w", err)
	}
	a := &agent{}
	keep := func(ctx context.Context, command string, env, args []string) (*exec.Cmd, error) {
		a.server = exec.CommandContext(ctx, command, args...)
		return a.server, nil
	}
	a.client, err = client.NewStdioMCPClientWithOptions(self, nil, append([]string{"mcp"}, args...),
		transport.WithCommandFunc(keep), transport.WithCommandStderrWriter(os.Stderr))
	if err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "ptykeep-demo", Version: version()}
	if _, err := a.client.Initialize(ctx, hello); err != nil {
		return nil, errors.Join(fmt.Errorf("greeting the server: %w", err), a.close())
	}
	return a, nil
}

// close ends the server by closing its input, and waits for it.
func (a *agent) close() error {
	if a.closed {
		return nil
	}
	a.closed = true
	return a.client.Close()
}

// answer is what a tool said.
type answer struct {
	text  string // body and marks
	body  string
	facts facts
	took  time.Duration
}

// facts are those of all tools that the demo looks at.
type facts struct {
	Code       string `json:"code"`
	SessionID  string `json:"sessionId"`
	WaitReason string `json:"waitReason"`
	ExitCode   int    `json:"exitCode"`
	Dir        string `json:"cwd"`
	Foreground struct {
		Command string `json:"command"`
		State   string `json:"state"`
	} `json:"foreground"`
	BodyBytes int `json:"bodyBytes"`
	Ended     int `json:"ended"`
}

// call calls a tool. A result that is an error is an error.
func (a *agent) call(ctx context.Context, tool string, args map[string]any) (answer, error) {
	var r mcp.CallToolRequest
	r.Params.Name, r.Params.Arguments = tool, args
	began := time.Now()
	res, err := a.client.CallTool(ctx, r)
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", tool, err)
	}
	got := answer{took: time.Since(began)}
	for _, c := range res.Content {
		if t, ok := c.(mcp.TextContent); ok {
			got.text += t.Text
		}
	}
	if res.IsError {
		return got, fmt.Errorf("%s: %s", tool, got.text)
	}
	if res.Meta != nil {
		raw, err := json.Marshal(res.Meta.AdditionalFields["ptykeep/facts"])
		if err == nil {
			err = json.Unmarshal(raw, &got.facts)
		}
		if err != nil {
			return got, fmt.Errorf("%s: its facts: %w", tool, err)
		}
	}
	got.body = got.text[:min(got.facts.BodyBytes, len(got.text))]
	return got, nil
}

// stage is one terminal of the demo, and where the dialogue is printed.
type stage struct {
	ctx   context.Context
	agent *agent
	out   io.Writer
	id    string
}

// step is a send and what has to come of it. wait and exit always count; other
// zero fields are not looked at.
type step struct {
	text       string // "" = none: wait on
	timeout    time.Duration
	wait       string
	body       string // exactly
	contains   string
	exit       int
	cwd        string
	foreground string
	atLeast    time.Duration
	mayFail    bool // older programs do not know it
}

func (s *stage) open() error {
	a, err := s.agent.call(s.ctx, "terminal_open", nil)
	if err != nil {
		return err
	}
	s.id = a.facts.SessionID
	fmt.Fprintf(s.out, "   terminal_open: %s, %s (%s)\n", s.id, a.facts.WaitReason, took(a.took))
	return nil
}

func (s *stage) steps(steps ...step) error {
	for _, x := range steps {
		if err := s.send(x); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) send(x step) error {
	args := map[string]any{"sessionId": s.id}
	said := "(waiting on)"
	if x.text != "" {
		args["text"], said = x.text, x.text
	}
	if x.timeout > 0 {
		args["timeoutMs"] = x.timeout.Milliseconds()
	}
	fmt.Fprintf(s.out, "   > %s\n", said)
	a, err := s.agent.call(s.ctx, "terminal_send", args)
	if err != nil {
		return err
	}
	if body := brief(a.body); body != "" {
		fmt.Fprintln(s.out, "     "+strings.ReplaceAll(body, "\n", "\n     "))
	}
	fmt.Fprintf(s.out, "     %s", strings.ReplaceAll(strings.TrimPrefix(a.text[len(a.body):], "\n"), "\n", " "))
	fmt.Fprintf(s.out, "  (%s)\n", took(a.took))
	if x.mayFail {
		return nil
	}
	return x.check(a)
}

// check compares an answer with what it has to be.
func (x step) check(a answer) error {
	wrong := func(what string, got, want any) error {
		return fmt.Errorf("%q: %s is %v, wanted %v", x.text, what, got, want)
	}
	switch {
	case a.facts.WaitReason != x.wait:
		return wrong("waitReason", a.facts.WaitReason, x.wait)
	case x.body != "" && a.body != x.body:
		return wrong("the output", fmt.Sprintf("%q", a.body), fmt.Sprintf("%q", x.body))
	case !strings.Contains(a.body, x.contains):
		return wrong("the output", fmt.Sprintf("%q", a.body), fmt.Sprintf("something with %q", x.contains))
	case a.facts.ExitCode != x.exit:
		return wrong("exitCode", a.facts.ExitCode, x.exit)
	case x.cwd != "" && a.facts.Dir != x.cwd:
		return wrong("cwd", a.facts.Dir, x.cwd)
	case x.foreground != "" && a.facts.Foreground.State != x.foreground:
		return wrong("the foreground", a.facts.Foreground.State, x.foreground)
	case a.took < x.atLeast:
		return wrong("the time", a.took, fmt.Sprintf("at least %v", x.atLeast))
	}
	return nil
}

func (s *stage) signal(name string) error {
	fmt.Fprintf(s.out, "   terminal_signal %s\n", name)
	_, err := s.agent.call(s.ctx, "terminal_signal", map[string]any{"sessionId": s.id, "signal": name})
	return err
}

// closeAndCount closes the terminal and proves that its processes are gone, by
// number and start time.
func (s *stage) closeAndCount() error {
	before, err := descendants(s.ctx, s.agent.server.Process.Pid)
	if err != nil {
		return err
	}
	a, err := s.agent.call(s.ctx, "terminal_close", map[string]any{"sessionId": s.id})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "   terminal_close: %d processes ended (%s)\n", a.facts.Ended, took(a.took))
	started, left := 0, 0
	for p, command := range before {
		if !strings.Contains(command, "sleep 60") {
			continue
		}
		started++
		if running(s.ctx, p) {
			fmt.Fprintf(s.out, "   still there: %d %s\n", p.pid, command)
			left++
		}
	}
	if started < 3 { // closeAct's three
		return fmt.Errorf("%d of 3 background processes were seen before the close", started)
	}
	if left > 0 {
		return fmt.Errorf("%d processes are left", left)
	}
	fmt.Fprintln(s.out, "   none of them is left")
	return nil
}

// identity is a process across the reuse of its number.
type identity struct {
	pid     int32
	created int64 // ms since the epoch
}

// descendants returns the processes below pid with their command lines.
func descendants(ctx context.Context, pid int) (map[identity]string, error) {
	found := map[identity]string{}
	p, err := process.NewProcessWithContext(ctx, int32(pid))
	if err != nil {
		return nil, fmt.Errorf("looking at the server: %w", err)
	}
	queue := []*process.Process{p}
	for len(queue) > 0 {
		children, err := queue[0].ChildrenWithContext(ctx)
		queue = queue[1:]
		if err != nil && !errors.Is(err, process.ErrorNoChildren) {
			continue // it has ended meanwhile
		}
		for _, c := range children {
			created, err := c.CreateTimeWithContext(ctx)
			if err != nil {
				continue // likewise
			}
			command, _ := c.CmdlineWithContext(ctx) // only shown
			found[identity{c.Pid, created}] = command
		}
		queue = append(queue, children...)
	}
	return found, nil
}

func running(ctx context.Context, id identity) bool {
	p, err := process.NewProcessWithContext(ctx, id.pid)
	if err != nil {
		return false
	}
	created, err := p.CreateTimeWithContext(ctx)
	return err == nil && created == id.created
}

// took shows a duration the way a person reads it.
func took(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}
