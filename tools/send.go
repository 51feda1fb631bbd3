package tools

import (
	"context"
	"fmt"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/ptyservice"
	"github.com/ptykeep/ptykeep/readiness"
	"github.com/ptykeep/ptykeep/tools/wire"
)

const sendSchema = `{"type":"object","additionalProperties":false,"required":["sessionId"],"properties":{` +
	`"sessionId":{"type":"string"},` +
	`"text":{"type":"string","description":"\"\" presses Enter alone; absent: type nothing, wait on. One line end at its end is the Enter"},` +
	`"submit":{"type":"boolean","default":true,"description":"press Enter after text; false: write it raw"},` +
	`"keys":{"type":"array","items":{"type":"string"},"description":"instead of text: C-c, Up, Escape, F5, M-x, ... (tmux names)"},` +
	`"until":{"type":"string","description":"RE2: also return when the output matches"},` +
	`"resize":{"type":"object","additionalProperties":false,"required":["cols","rows"],"properties":{` +
	`"cols":{"type":"integer","minimum":20,"maximum":1000},"rows":{"type":"integer","minimum":5,"maximum":500}}},` +
	`"timeoutMs":{"type":"integer","minimum":0,"maximum":600000,"description":"longest wait; the command goes on after it"}`

const sendBackground = `,"run_in_background":{"type":"boolean","default":false,"description":"return a taskId at once, see task_output"}`

func (t *Tools) send() tool {
	schema := sendSchema
	if !t.cfg.NoBackground {
		schema += sendBackground
	}
	return tool{
		name: "terminal_send",
		description: "Type text and wait until the program wants input again; returns what it printed. wait: stdin_read = ready; " +
			"inferred_idle = quiet, probably waiting (usual for full-screen programs); timeout = it still runs: " +
			"wait on without text, or terminal_signal SIGINT. Long output is cut in the middle; terminal_read has all.",
		input: schema + "}}",
		hints: hints(false, true, false, true),
		run:   t.runSend,
	}
}

// sendFacts are the facts of terminal_send.
type sendFacts struct {
	WaitReason readiness.Reason `json:"waitReason"`
	Status     statusFact       `json:"sessionStatus"`
	Foreground foregroundFact   `json:"foreground"`
	FirstLine  int64            `json:"firstLine"`
	LastLine   int64            `json:"lastLine"`
	Truncated  bool             `json:"truncated"`
	Omitted    int64            `json:"omittedBytes,omitempty"`
	ExitCode   *int             `json:"exitCode,omitempty"`
	Dir        string           `json:"cwd,omitempty"`
	Missed     int64            `json:"missedLines,omitempty"`
	Unread     int              `json:"unreadBytes,omitempty"`
	Screen     *shownFact       `json:"screen,omitempty"`
	ElapsedMS  int64            `json:"elapsedMs"`
	BodyBytes  int              `json:"bodyBytes"`
	Code       string           `json:"code,omitempty"` // of a send that failed, inside terminal_open
}

func (t *Tools) runSend(ctx context.Context, a *arguments) (*result, error) {
	id := a.required("sessionId")
	r := ptyservice.SendRequest{
		Text: a.optional("text"), Submit: a.flag("submit", true), Keys: a.list("keys"),
		Until: a.pattern("until"), Timeout: a.timeout("timeoutMs"),
	}
	switch {
	case r.Text != nil && r.Keys != nil:
		a.fail("keys", "not together with text")
	case r.Keys != nil && len(r.Keys) == 0:
		a.fail("keys", "is empty, wanted key names")
	}
	if n := a.nested("resize"); n != nil {
		cols, hasCols := n.number("cols", ptyservice.MinCols, ptyservice.MaxCols)
		rows, hasRows := n.number("rows", ptyservice.MinRows, ptyservice.MaxRows)
		if err := n.done(); err != nil {
			return nil, fmt.Errorf("resize: %w", err)
		} else if !hasCols || !hasRows {
			a.fail("resize", "needs cols and rows")
		}
		r.Resize = &backend.Size{Cols: int(cols), Rows: int(rows)}
	}
	background, err := t.background(a)
	if err == nil {
		err = a.done()
	}
	if err != nil {
		return nil, err
	}
	session, err := t.session(ctx, id)
	if err != nil {
		return nil, err
	}
	turn, _ := wire.Ticket(ctx).(*place) // nil without a connection's order
	turn.wait()
	if background {
		defer turn.Release()
		return startTask(session, r)
	}
	snd, err := session.Begin(r)
	turn.Release()
	if err != nil {
		return nil, err
	}
	sent, err := snd.Run(ctx)
	if err != nil {
		return nil, err
	}
	return &result{
		body: sent.Viewport, bodyField: "viewport", fetch: fetchLines, marks: sendMarks(sent),
		facts: func(c cut) any { return factsOf(sent, c) },
	}, nil
}

// shownFact is what a full-screen program shows; its rows are the body.
type shownFact struct {
	Rows   int        `json:"rows"`
	Cursor cursorFact `json:"cursor"`
	Title  string     `json:"title"`
}

// sendMarks are the marks of a send; what goes without saying is left out.
func sendMarks(r ptyservice.Result) []string {
	marks := []string{"wait: " + string(r.Reason), statusOf(r.Status).mark()}
	if r.ExitCode != nil && *r.ExitCode != 0 {
		marks = append(marks, fmt.Sprintf("exit: %d", *r.ExitCode))
	}
	if r.DirChanged {
		marks = append(marks, "cwd: "+r.Dir)
	}
	if m := foregroundOf(r.Foreground).mark(r.Foreground.Own); m != "" {
		marks = append(marks, m)
	}
	if r.Screen != nil {
		marks = append(marks, fmt.Sprintf("screen: cursor row=%d col=%d", r.Screen.Row+1, r.Screen.Col+1))
	}
	if r.Missed > 0 {
		marks = append(marks, fmt.Sprintf("missed: %s before this; terminal_read from: %d", count(r.Missed, "line", "lines"), r.MissedFrom))
	}
	if r.Unread > 0 {
		marks = append(marks, fmt.Sprintf("unread: %d bytes of input", r.Unread))
	}
	return marks
}

func factsOf(r ptyservice.Result, c cut) sendFacts {
	var shown *shownFact
	if r.Screen != nil {
		shown = &shownFact{Rows: len(r.Screen.Rows), Cursor: cursorFact{Row: r.Screen.Row + 1, Col: r.Screen.Col + 1}, Title: r.Screen.Title}
	}
	return sendFacts{
		Screen:     shown,
		WaitReason: r.Reason, Status: statusOf(r.Status), Foreground: foregroundOf(r.Foreground),
		FirstLine: r.Viewport.FirstLine, LastLine: r.Viewport.LastLine,
		Truncated: c.Omitted > 0, Omitted: c.Omitted, ExitCode: r.ExitCode, Dir: r.Dir,
		Missed: r.Missed, Unread: r.Unread, ElapsedMS: r.Elapsed.Milliseconds(), BodyBytes: c.Bytes,
	}
}
