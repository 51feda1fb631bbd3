package tools

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/ptykeep/ptykeep/ptyservice"
	"github.com/ptykeep/ptykeep/readiness"
)

const readSchema = `{"type":"object","additionalProperties":false,"required":["sessionId"],"properties":{` +
	`"sessionId":{"type":"string"},` +
	`"offset":{"type":"integer","minimum":0,"default":0,"description":"lines to skip, counted from the newest"},` +
	`"count":{"type":"integer","minimum":1,"maximum":10000,"default":500},` +
	`"from":{"type":"integer","minimum":1,"description":"instead of offset: first line by its number"},` +
	`"view":{"type":"string","enum":["scrollback","screen"],"default":"scrollback"},` +
	`"search":{"type":"string","description":"RE2: the newest count matching lines, as N: line"}}}`

func (t *Tools) read() tool {
	return tool{
		name:        "terminal_read",
		description: "Read back what a terminal showed, without typing: pages backwards, lines by number, a search, the screen. Works during a send, and after exit until terminal_close.",
		input:       readSchema,
		hints:       hints(true, false, true, false),
		run:         t.runRead,
	}
}

// readFacts are the facts of terminal_read.
type readFacts struct {
	TotalLines int   `json:"totalLines"`
	LineBegin  int   `json:"lineBegin"`
	LineEnd    int   `json:"lineEnd"`
	FirstLine  int64 `json:"firstLine,omitempty"`
	Truncated  bool  `json:"truncated"`
	BodyBytes  int   `json:"bodyBytes"`
}

// screenFacts are the facts of terminal_read with view: screen.
type screenFacts struct {
	Cursor     cursorFact `json:"cursor"`
	Title      string     `json:"title"`
	Fullscreen bool       `json:"fullscreen"`
	Truncated  bool       `json:"truncated"`
	BodyBytes  int        `json:"bodyBytes"`
}

type cursorFact struct {
	Row int `json:"row"`
	Col int `json:"col"`
}

func (t *Tools) runRead(ctx context.Context, a *arguments) (*result, error) {
	id := a.required("sessionId")
	r := ptyservice.ReadRequest{Count: 500}
	offset, hasOffset := a.number("offset", 0, math.MaxInt32)
	if count, ok := a.number("count", 1, ptyservice.MaxCount); ok {
		r.Count = int(count)
	}
	from, hasFrom := a.number("from", 1, math.MaxInt64)
	r.Offset, r.From, r.Search = int(offset), from, a.pattern("search")
	view := a.oneOf("view", "scrollback", "screen")
	switch {
	case hasOffset && hasFrom:
		a.fail("offset", "not together with from")
	case view == "screen" && (hasOffset || hasFrom || r.Search != nil):
		a.fail("view", "screen takes no offset, from or search")
	case r.Search != nil && (hasOffset || hasFrom):
		a.fail("search", "goes through all lines, without offset or from")
	}
	if err := a.done(); err != nil {
		return nil, err
	}
	session, err := t.session(ctx, id)
	if err != nil {
		return nil, err
	}
	if view == "screen" {
		return readScreen(session), nil
	}
	p, err := session.Read(r)
	if err != nil {
		return nil, err
	}
	mark := fmt.Sprintf("lines: %d-%d of %d", p.Begin, p.End, p.Total)
	if r.Search != nil {
		mark = fmt.Sprintf("matches: newest %d of %d, in %d lines", p.Shown, p.Matches, p.Total)
	}
	res := &result{body: ptyservice.Excerpt{Head: p.Text, FirstLine: max(p.First, 1)}, bodyField: "text", marks: []string{mark}, fetch: fetchLines}
	if from > 0 && p.First > 0 {
		res.marks = append(res.marks, fmt.Sprintf("numbers: %d-%d", p.First, p.First+int64(p.End-p.Begin)-1))
	}
	if p.Truncated {
		res.marks = append(res.marks, "truncated: lines are missing")
	}
	res.facts = func(c cut) any {
		return readFacts{
			TotalLines: p.Total, LineBegin: p.Begin, LineEnd: p.End, FirstLine: p.First,
			Truncated: p.Truncated || c.Omitted > 0, BodyBytes: c.Bytes,
		}
	}
	return res, nil
}

func readScreen(session *ptyservice.Session) *result {
	s := session.Screen()
	state := ""
	if s.Alt {
		state = " " + string(readiness.Fullscreen)
	}
	marks := []string{fmt.Sprintf("screen: cursor row=%d col=%d%s", s.Row+1, s.Col+1, state)}
	if s.Title != "" {
		marks = append(marks, "title: "+s.Title)
	}
	return &result{
		body:  ptyservice.Excerpt{Head: strings.TrimRight(strings.Join(s.Rows, "\n"), "\n"), FirstLine: 1},
		marks: marks, bodyField: "text",
		facts: func(c cut) any {
			return screenFacts{
				Cursor: cursorFact{Row: s.Row + 1, Col: s.Col + 1}, Title: s.Title, Fullscreen: s.Alt,
				Truncated: c.Omitted > 0, BodyBytes: c.Bytes,
			}
		},
	}
}
