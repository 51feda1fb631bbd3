package tools

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/ptyservice"
	"github.com/ptykeep/ptykeep/readiness"
)

// factsKey is where programs find the facts of a result.
const factsKey = "ptykeep/facts"

// result is what a tool has to say, before it is laid out and bounded.
type result struct {
	body  ptyservice.Excerpt
	marks []string // without their brackets, the most important first
	// facts returns what goes into _meta, once it is known what of the body
	// goes out. It may be nil.
	facts func(cut) any
	// fetch tells how to get what was left out of the body, with the number of
	// the line after which it is missing; "" = there is no way.
	fetch string
	// bodyField is the body's name among the facts, for structured results; ""
	// for tools whose facts are complete, and always go out structured.
	bodyField string
}

// cut tells what became of a body.
type cut struct {
	Bytes   int   // where it ends in the text
	Omitted int64 // bytes left out of it, in the text or before
}

// fetchLines is how to get lines that have numbers.
const fetchLines = "terminal_read from: %d"

// gap stands where something was left out.
const gap = "\n[...]\n"

// layout makes the result of a call: the body, then the marks in brackets, in
// at most MaxResultBytes. Marks go before the body, and the first before the
// last.
func (t *Tools) layout(r *result) *mcp.CallToolResult {
	limit := t.cfg.MaxResultBytes
	marks := layMarks(r.marks, limit)
	room := max(limit-len(marks)-1, 0) // 1 for the line end between
	body, note, omitted := fitBody(r.body, room, r.fetch)
	text := body
	if body != "" && (note != "" || marks != "") {
		text += "\n"
	}
	text += note + marks
	res := &mcp.CallToolResult{Content: []mcp.Content{mcp.NewTextContent(text)}}
	if r.facts != nil {
		facts := r.facts(cut{Bytes: len(body), Omitted: omitted})
		res.Meta = &mcp.Meta{AdditionalFields: map[string]any{factsKey: facts}}
		switch {
		case r.bodyField == "":
			res.StructuredContent = facts
		case t.cfg.StructuredResults:
			res.StructuredContent = withBody(facts, r.bodyField, body)
		}
	}
	return res
}

// layMarks lays out as many marks as fit.
func layMarks(marks []string, limit int) string {
	var b strings.Builder
	for _, m := range marks {
		line := "[" + strings.Map(oneLine, m) + "]"
		if b.Len() > 0 {
			line = "\n" + line
		}
		if b.Len()+len(line) > limit {
			break
		}
		b.WriteString(line)
	}
	return b.String()
}

// oneLine keeps what a name or a path may hold from looking like more marks.
func oneLine(r rune) rune {
	if r < 0x20 || r == 0x7f {
		return ' '
	}
	return r
}

// fitBody renders a body in at most room bytes, and the mark that says what is
// missing and how to get it.
func fitBody(e ptyservice.Excerpt, room int, fetch string) (body, note string, omitted int64) {
	if e.Omitted == 0 && e.Len() <= room {
		return e.Head, "", 0
	}
	whole := e.Omitted + int64(e.Len())
	const noteRoom = 100 // the longest note, with its brackets and line end
	e = e.Fit(room - len(gap) - noteRoom)
	note = fmt.Sprintf("[omitted: %d bytes]\n", e.Omitted)
	switch {
	case fetch != "" && e.Lost:
		note = fmt.Sprintf("[omitted: %d bytes; partly kept: "+fetch+"]\n", e.Omitted, e.GapLine)
	case fetch != "":
		note = fmt.Sprintf("[omitted: %d bytes; "+fetch+"]\n", e.Omitted, max(e.GapLine, 1))
	}
	if len(note) > room {
		note = fmt.Sprintf("[omitted: %d bytes]\n", e.Omitted)
	}
	switch {
	case len(note) > room:
		return "", "", whole
	case e.Len() == 0:
		return "", note, whole
	}
	return e.Head + gap + e.Tail, note, e.Omitted
}

// withBody adds the body to the facts.
func withBody(facts any, field, body string) any {
	raw, err := json.Marshal(facts)
	m := map[string]any{}
	if err == nil {
		err = json.Unmarshal(raw, &m)
	}
	if err != nil { // facts are our own structs: a programmer's mistake
		panic(fmt.Sprintf("facts of %s: %v", field, err))
	}
	m[field] = body
	return m
}

// count is a number with its noun.
func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// errorFacts are the facts of a failed call.
type errorFacts struct {
	Code      string        `json:"code"`
	Message   string        `json:"message"`
	Survivors []processFact `json:"survivors,omitempty"`
	BytesRead *int          `json:"bytesRead,omitempty"`
	Bytes     int           `json:"bytes,omitempty"`
}

type processFact struct {
	PID     int    `json:"pid"`
	UID     int    `json:"uid"`
	Command string `json:"command"`
}

// statusFact is how the terminal's own program stands.
type statusFact struct {
	Kind     string  `json:"kind"`
	ExitCode *int    `json:"exitCode,omitempty"`
	Signal   *string `json:"signal,omitempty"`
}

// MarshalJSON keeps both fields of an exited session, null where unknown.
func (s statusFact) MarshalJSON() ([]byte, error) {
	if s.Kind == "running" {
		return []byte(`{"kind":"running"}`), nil
	}
	type all struct {
		Kind     string  `json:"kind"`
		ExitCode *int    `json:"exitCode"`
		Signal   *string `json:"signal"`
	}
	return json.Marshal(all(s))
}

func statusOf(s ptyservice.Status) statusFact {
	if !s.Exited {
		return statusFact{Kind: "running"}
	}
	f := statusFact{Kind: "exited"}
	switch {
	case s.Exit.Lost:
	case s.Exit.Signal != 0:
		name := unix.SignalName(s.Exit.Signal)
		f.Signal = &name
	default:
		f.ExitCode = &s.Exit.Code
	}
	return f
}

// mark is the status as a mark.
func (s statusFact) mark() string {
	if s.Kind == "running" {
		return "session: running"
	}
	code, signal := "null", "null"
	if s.ExitCode != nil {
		code = fmt.Sprint(*s.ExitCode)
	}
	if s.Signal != nil {
		signal = *s.Signal
	}
	return fmt.Sprintf("session: exited code=%s signal=%s", code, signal)
}

// foregroundFact is who holds the terminal.
type foregroundFact struct {
	PID      int                `json:"pid"`
	PGID     int                `json:"pgid"`
	Command  string             `json:"command"`
	State    readiness.State    `json:"state"`
	Evidence readiness.Evidence `json:"evidence"`
}

func foregroundOf(f ptyservice.Foreground) foregroundFact {
	return foregroundFact{PID: f.PID, PGID: f.PGID, Command: f.Command, State: f.State, Evidence: f.Evidence}
}

// mark is the foreground as a mark, "" for the session's own shell at its
// prompt, which is the ordinary case.
func (f foregroundFact) mark(own bool) string {
	if own && f.State == readiness.Prompt || f.PGID == 0 && f.State == readiness.Unknown {
		return ""
	}
	return "foreground: " + strings.TrimSpace(f.Command+" "+string(f.State))
}

// failure makes the result of a call that failed.
func (t *Tools) failure(name string, err error) *mcp.CallToolResult {
	code, message, hint := codeOf(err)
	if code == "INTERNAL" {
		t.log.Error("internal error", "tool", name, "error", err)
	}
	text := code + ": " + message
	if hint != "" {
		text += ". " + hint
	}
	facts := errorFacts{Code: code, Message: message}
	addDetails(&facts, err)
	const cutMark = "\n[omitted]"
	if limit := t.cfg.MaxResultBytes; len(text) > limit {
		text = strings.ToValidUTF8(text[:limit-len(cutMark)], "") + cutMark
		facts.Message = strings.ToValidUTF8(message[:min(len(message), limit)], "")
	}
	return &mcp.CallToolResult{
		IsError: true,
		Content: []mcp.Content{mcp.NewTextContent(text)},
		Result:  mcp.Result{Meta: &mcp.Meta{AdditionalFields: map[string]any{factsKey: facts}}},
	}
}
