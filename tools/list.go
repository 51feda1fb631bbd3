package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/ptykeep/ptykeep/ptyservice"
	"github.com/ptykeep/ptykeep/tools/wire"
)

const listSchema = `{"type":"object","additionalProperties":false,"properties":{}}`

const listOutput = `{"type":"object","required":["sessions"],"properties":{"sessions":{"type":"array","items":{"type":"object"}}}}`

func (t *Tools) sessions() tool {
	return tool{
		name:        "terminal_list",
		description: "List your terminals: id, name, program in front and its state, directory.",
		input:       listSchema,
		output:      listOutput,
		hints:       hints(true, false, true, false),
		run:         t.runList,
	}
}

// sessionFacts is one session of terminal_list.
type sessionFacts struct {
	SessionID  string         `json:"sessionId"`
	Name       string         `json:"name,omitempty"`
	Type       string         `json:"type"`
	PID        int            `json:"pid,omitempty"`
	Status     statusFact     `json:"status"`
	Foreground foregroundFact `json:"foreground"`
	Dir        string         `json:"cwd,omitempty"`
	IdleMS     int64          `json:"idleMs"`
}

// listFacts are the facts of terminal_list.
type listFacts struct {
	Sessions []sessionFacts `json:"sessions"`
}

func (t *Tools) runList(ctx context.Context, a *arguments) (*result, error) {
	if err := a.done(); err != nil {
		return nil, err
	}
	facts := listFacts{Sessions: []sessionFacts{}}
	var rows []string
	for _, s := range t.service.List(wire.Owner(ctx)) {
		f := sessionFactsOf(s.Info())
		facts.Sessions = append(facts.Sessions, f)
		rows = append(rows, listRow(f))
	}
	return &result{
		body:  ptyservice.Excerpt{Head: strings.Join(rows, "\n"), FirstLine: 1},
		marks: []string{fmt.Sprintf("sessions: %d", len(rows))},
		facts: func(cut) any { return facts },
	}, nil
}

func sessionFactsOf(i ptyservice.Info) sessionFacts {
	return sessionFacts{
		SessionID: i.ID, Name: i.Name, Type: i.Type, PID: i.PID,
		Status: statusOf(i.Status), Foreground: foregroundOf(i.Foreground), Dir: i.Dir, IdleMS: i.Idle.Milliseconds(),
	}
}

// listRow is a session on one line.
func listRow(f sessionFacts) string {
	row := f.SessionID
	if f.Name != "" {
		row += " (" + f.Name + ")"
	}
	if f.Status.Kind == "running" {
		row += fmt.Sprintf(" %s %s", f.Foreground.Command, f.Foreground.State)
	} else {
		row += " " + strings.TrimPrefix(f.Status.mark(), "session: ")
	}
	if f.Dir != "" {
		row += " " + f.Dir
	}
	return fmt.Sprintf("%s idle %d ms", row, f.IdleMS)
}
