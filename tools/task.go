package tools

import (
	"context"
	"errors"
	"time"

	"github.com/ptykeep/ptykeep/ptyservice"
	"github.com/ptykeep/ptykeep/tools/wire"
)

// errBackgroundDisabled is a background send where the operator allows none.
var errBackgroundDisabled = errors.New("background sends are switched off")

// background reads whether a send shall run in the background. Where that is
// switched off the field is no part of the schema, and refused when forced.
func (t *Tools) background(a *arguments) (bool, error) {
	if !t.cfg.NoBackground {
		return a.flag("run_in_background", false), nil
	}
	if _, forced := a.fields["run_in_background"]; forced {
		return false, errBackgroundDisabled
	}
	return false, nil
}

// startTask begins a send in the background and tells its id.
func startTask(session *ptyservice.Session, r ptyservice.SendRequest) (*result, error) {
	task, err := session.StartTask(r)
	if err != nil {
		return nil, err
	}
	facts := struct {
		TaskID    string                `json:"taskId"`
		Status    ptyservice.TaskStatus `json:"status"`
		BodyBytes int                   `json:"bodyBytes"`
	}{task.ID(), ptyservice.TaskRunning, 0}
	return &result{
		marks:     []string{"taskId: " + task.ID(), "status: running"},
		facts:     func(cut) any { return facts },
		bodyField: "viewport",
	}, nil
}

const taskOutputSchema = `{"type":"object","additionalProperties":false,"required":["taskId"],"properties":{` +
	`"taskId":{"type":"string"},` +
	`"wait":{"type":"boolean","default":false,"description":"until it ends, at most timeoutMs"},` +
	`"timeoutMs":{"type":"integer","minimum":0,"maximum":600000,"default":30000}}}`

func (t *Tools) taskOutput() tool {
	return tool{
		name:        "task_output",
		description: "What a background send printed since the last call, and whether it has ended.",
		input:       taskOutputSchema,
		hints:       hints(false, false, false, false), // what was read is not told again
		run:         t.runTaskOutput,
	}
}

// taskFacts are the facts of task_output.
type taskFacts struct {
	TaskID    string                `json:"taskId"`
	Status    ptyservice.TaskStatus `json:"status"`
	Truncated bool                  `json:"truncated"`
	Omitted   int64                 `json:"omittedBytes,omitempty"`
	BodyBytes int                   `json:"bodyBytes"`
	Code      string                `json:"code,omitempty"` // of a task that failed
	Send      *sendFacts            `json:"send,omitempty"` // once it has ended
}

func (t *Tools) runTaskOutput(ctx context.Context, a *arguments) (*result, error) {
	id := a.required("taskId")
	wait := time.Duration(0)
	limit := 30 * time.Second
	waits := a.flag("wait", false)
	if d := a.timeout("timeoutMs"); d != nil {
		limit = *d
	}
	if waits {
		wait = limit
	}
	if err := a.done(); err != nil {
		return nil, err
	}
	task, err := t.service.Task(wire.Owner(ctx), id)
	if err != nil {
		return nil, err
	}
	out, err := task.Output(ctx, wait)
	if err != nil {
		return nil, err
	}
	facts := taskFacts{TaskID: id, Status: out.Status}
	marks := []string{"status: " + string(out.Status)}
	if out.Err != nil {
		code, message, _ := codeOf(out.Err)
		facts.Code = code
		marks = append(marks, code+": "+message)
	}
	if out.Result != nil {
		marks = append(marks, sendMarks(*out.Result)...)
	}
	return &result{
		body: out.Text, bodyField: "output", fetch: fetchLines, marks: marks,
		facts: func(c cut) any {
			facts.Truncated, facts.Omitted, facts.BodyBytes = c.Omitted > 0, c.Omitted, c.Bytes
			if out.Result != nil {
				f := factsOf(*out.Result, c)
				facts.Send = &f
			}
			return facts
		},
	}, nil
}

const taskKillSchema = `{"type":"object","additionalProperties":false,"required":["taskId"],"properties":{"taskId":{"type":"string"}}}`

const taskKillOutput = `{"type":"object","required":["killed"],"properties":{"killed":{"type":"boolean"}}}`

func (t *Tools) taskKill() tool {
	return tool{
		name:        "task_kill",
		description: "Interrupt a background send (SIGINT). Its session stays.",
		input:       taskKillSchema,
		output:      taskKillOutput,
		hints:       hints(false, true, true, true),
		run:         t.runTaskKill,
	}
}

func (t *Tools) runTaskKill(ctx context.Context, a *arguments) (*result, error) {
	id := a.required("taskId")
	if err := a.done(); err != nil {
		return nil, err
	}
	task, err := t.service.Task(wire.Owner(ctx), id)
	if err != nil {
		return nil, err
	}
	killed := task.Kill()
	mark := "killed: it had ended"
	if killed {
		mark = "killed: interrupted"
	}
	return &result{
		marks: []string{mark},
		facts: func(cut) any {
			return struct {
				Killed bool `json:"killed"`
			}{killed}
		},
	}, nil
}
