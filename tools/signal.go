package tools

import (
	"context"
	"fmt"
	"syscall"
)

const signalSchema = `{"type":"object","additionalProperties":false,"required":["sessionId","signal"],"properties":{` +
	`"sessionId":{"type":"string"},` +
	`"signal":{"type":"string","enum":["SIGINT","SIGTERM","SIGKILL","SIGTSTP","SIGHUP"]}}}`

const signalOutput = `{"type":"object","required":["delivered","targetPgid"],"properties":{` +
	`"delivered":{"type":"boolean"},"targetPgid":{"type":"integer"},"foreground":{"type":"object"}}}`

// signals are the ones that may be sent.
var signals = map[string]syscall.Signal{
	"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM, "SIGKILL": syscall.SIGKILL,
	"SIGTSTP": syscall.SIGTSTP, "SIGHUP": syscall.SIGHUP,
}

func (t *Tools) signal() tool {
	return tool{
		name:        "terminal_signal",
		description: "Signal the foreground process group, as it is now. terminal_send without text then shows what came of it.",
		input:       signalSchema,
		output:      signalOutput,
		hints:       hints(false, true, false, true),
		run:         t.runSignal,
	}
}

// signalFacts are the facts of terminal_signal.
type signalFacts struct {
	Delivered  bool           `json:"delivered"`
	TargetPGID int            `json:"targetPgid"`
	Foreground foregroundFact `json:"foreground"`
}

func (t *Tools) runSignal(ctx context.Context, a *arguments) (*result, error) {
	id := a.required("sessionId")
	name := a.required("signal")
	sig, known := signals[name]
	if !known {
		a.fail("signal", "is %q, wanted one of SIGINT, SIGTERM, SIGKILL, SIGTSTP, SIGHUP", name)
	}
	if err := a.done(); err != nil {
		return nil, err
	}
	session, err := t.session(ctx, id)
	if err != nil {
		return nil, err
	}
	pgid, err := session.Signal(sig)
	if err != nil {
		return nil, err
	}
	f := foregroundOf(session.Foreground())
	return &result{
		marks: []string{fmt.Sprintf("%s: delivered to process group %d", name, pgid)},
		facts: func(cut) any { return signalFacts{Delivered: true, TargetPGID: pgid, Foreground: f} },
	}, nil
}
