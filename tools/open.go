package tools

import (
	"context"
	"strings"

	"github.com/ptykeep/ptykeep/ptyservice"
	"github.com/ptykeep/ptykeep/readiness"
	"github.com/ptykeep/ptykeep/tools/wire"
)

const openSchema = `{"type":"object","additionalProperties":false,"properties":{` +
	`"type":{"type":"string","enum":["shell"]},` +
	`"name":{"type":"string","maxLength":64},` +
	`"cwd":{"type":"string","description":"default and base: the workspace root"},` +
	`"command":{"type":"array","items":{"type":"string"},"description":"program and arguments instead of the user's shell; exit codes are told by the shell only"},` +
	`"env":{"type":"object","additionalProperties":{"type":"string"}},` +
	`"cols":{"type":"integer","minimum":20,"maximum":1000},` +
	`"rows":{"type":"integer","minimum":5,"maximum":500},` +
	`"text":{"type":"string","description":"submitted once ready, as by terminal_send"},` +
	`"timeoutMs":{"type":"integer","minimum":0,"maximum":600000}}}`

func (t *Tools) open() tool {
	return tool{
		name: "terminal_open",
		description: "Open a terminal that stays: its shell or program lives until terminal_close. " +
			"For state between calls and for interactive programs.",
		input: openSchema,
		hints: hints(false, true, false, true),
		run:   t.runOpen,
	}
}

// openFacts are the facts of terminal_open.
type openFacts struct {
	SessionID  string           `json:"sessionId"`
	Name       string           `json:"name,omitempty"`
	Type       string           `json:"type"`
	PID        int              `json:"pid,omitempty"`
	WaitReason readiness.Reason `json:"waitReason"`
	Status     statusFact       `json:"status"`
	Foreground foregroundFact   `json:"foreground"`
	Dir        string           `json:"cwd,omitempty"`
	Withheld   []string         `json:"withheldEnv,omitempty"`
	Truncated  bool             `json:"truncated"`
	Omitted    int64            `json:"omittedBytes,omitempty"`
	BodyBytes  int              `json:"bodyBytes"`
	Send       *sendFacts       `json:"send,omitempty"`
}

func (t *Tools) runOpen(ctx context.Context, a *arguments) (*result, error) {
	r := ptyservice.OpenRequest{
		Type: a.str("type"), Name: a.str("name"), Dir: a.str("cwd"),
		Command: a.list("command"), Env: a.object("env"),
	}
	if cols, ok := a.number("cols", ptyservice.MinCols, ptyservice.MaxCols); ok {
		r.Cols = int(cols)
	}
	if rows, ok := a.number("rows", ptyservice.MinRows, ptyservice.MaxRows); ok {
		r.Rows = int(rows)
	}
	text := a.optional("text")
	r.Timeout = a.timeout("timeoutMs")
	if name := a.fields["name"]; string(name) == `""` {
		a.fail("name", "is empty, wanted 1-64 printable characters")
	}
	if err := a.done(); err != nil {
		return nil, err
	}
	opened, err := t.service.Open(ctx, wire.Owner(ctx), r)
	if err != nil {
		return nil, err
	}
	info := opened.Session.Info()
	status, foreground := statusOf(info.Status), foregroundOf(opened.Foreground)
	marks := []string{"sessionId: " + info.ID}
	if info.Name != "" {
		marks = append(marks, "name: "+info.Name)
	}
	facts := openFacts{
		SessionID: info.ID, Name: info.Name, Type: info.Type, PID: info.PID,
		WaitReason: opened.Reason, Status: status, Foreground: foreground,
		Dir: info.Dir, Withheld: opened.Withheld,
	}
	res := &result{body: opened.MOTD, bodyField: "motd", fetch: fetchLines}
	if len(opened.Withheld) > 0 {
		defer func() { res.marks = append(res.marks, "env withheld: "+strings.Join(opened.Withheld, " ")) }()
	}
	if text != nil {
		return res, t.openAndSend(ctx, opened, *text, facts, marks, res)
	}
	marks = append(marks, "wait: "+string(opened.Reason), status.mark())
	if info.Dir != "" {
		marks = append(marks, "cwd: "+info.Dir)
	}
	if m := foreground.mark(opened.Foreground.Own); m != "" {
		marks = append(marks, m)
	}
	res.marks = marks
	res.facts = func(c cut) any {
		facts.Truncated, facts.Omitted, facts.BodyBytes = c.Omitted > 0, c.Omitted, c.Bytes
		return facts
	}
	return res, nil
}

// openAndSend submits text to the terminal that was opened, and makes one result
// of both. A session that was opened is told of even if the send fails.
func (t *Tools) openAndSend(ctx context.Context, opened *ptyservice.Opened, text string, facts openFacts, marks []string, res *result) error {
	snd, err := opened.Session.Begin(ptyservice.SendRequest{Text: &text, Submit: true})
	var sent ptyservice.Result
	if err == nil {
		sent, err = snd.Run(ctx)
	}
	if err != nil {
		code, message, hint := codeOf(err)
		facts.Send = &sendFacts{Code: code}
		res.marks = append(marks, "wait: "+string(facts.WaitReason), facts.Status.mark(),
			"text not submitted: "+code+": "+message+" "+hint)
		res.facts = func(c cut) any { facts.BodyBytes = c.Bytes; return facts }
		return nil
	}
	res.body = join(opened.MOTD, sent.Viewport)
	res.marks = append(marks, sendMarks(sent)...)
	res.facts = func(c cut) any {
		facts.Truncated, facts.Omitted, facts.BodyBytes = c.Omitted > 0, c.Omitted, c.Bytes
		f := factsOf(sent, c)
		facts.Send, facts.Status, facts.Foreground, facts.Dir = &f, f.Status, f.Foreground, sent.Dir
		facts.WaitReason = sent.Reason
		return facts
	}
	return nil
}

// join puts what a command wrote under the greeting of its terminal.
func join(motd, viewport ptyservice.Excerpt) ptyservice.Excerpt {
	if motd.Len() == 0 || motd.Omitted > 0 {
		return viewport
	}
	if viewport.Len() > 0 {
		motd.Head += "\n"
	}
	viewport.Head = motd.Head + viewport.Head
	return viewport
}
