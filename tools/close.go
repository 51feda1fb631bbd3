package tools

import (
	"context"
	"fmt"
)

const closeSchema = `{"type":"object","additionalProperties":false,"required":["sessionId"],"properties":{"sessionId":{"type":"string"}}}`

const closeOutput = `{"type":"object","required":["killed","alreadyClosing","status","ended","survivors"],"properties":{` +
	`"killed":{"type":"boolean"},"alreadyClosing":{"type":"boolean"},"status":{"type":"object"},` +
	`"ended":{"type":"integer"},"survivors":{"type":"array"}}}`

func (t *Tools) close() tool {
	return tool{
		name:        "terminal_close",
		description: "End a terminal and every process that was started in it. Returns when all are gone.",
		input:       closeSchema,
		output:      closeOutput,
		hints:       hints(false, true, true, true),
		run:         t.runClose,
	}
}

// closeFacts are the facts of terminal_close.
type closeFacts struct {
	Killed         bool          `json:"killed"`
	AlreadyClosing bool          `json:"alreadyClosing"`
	Status         statusFact    `json:"status"`
	Ended          int           `json:"ended"`
	Survivors      []processFact `json:"survivors"`
}

func (t *Tools) runClose(ctx context.Context, a *arguments) (*result, error) {
	id := a.required("sessionId")
	if err := a.done(); err != nil {
		return nil, err
	}
	session, err := t.session(ctx, id)
	if err != nil {
		return nil, err
	}
	c, err := session.Close(ctx)
	if err != nil {
		return nil, err
	}
	status := statusOf(c.Status)
	how := "closed"
	if c.AlreadyClosing {
		how = "closed by another call"
	}
	ended := fmt.Sprintf("%s: %s ended", how, count(int64(c.Report.Ended), "process", "processes"))
	if c.Report.Forced > 0 {
		ended += fmt.Sprintf(", %d of them killed", c.Report.Forced)
	}
	marks := []string{ended, status.mark()}
	if c.Report.Partial {
		marks = append(marks, "partly: what left the terminal may live on, it cannot be seen")
	}
	return &result{
		marks: marks,
		facts: func(cut) any {
			return closeFacts{
				Killed: c.Killed, AlreadyClosing: c.AlreadyClosing, Status: status,
				Ended: c.Report.Ended, Survivors: []processFact{},
			}
		},
	}, nil
}
