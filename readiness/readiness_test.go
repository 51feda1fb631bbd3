package readiness

import (
	"strings"
	"testing"
	"time"

	"github.com/ptykeep/ptykeep/backend"
)

var limits = Limits{IdleSilence: 3 * time.Second, HandoffGrace: 500 * time.Millisecond, Poll: 50 * time.Millisecond}

var (
	cooked   = backend.Flags{Canonical: true, Echo: true, Signals: true}
	password = backend.Flags{Canonical: true, Signals: true}
	raw      = backend.Flags{Signals: true}
)

// seen is a probe of another program than the session's own.
func seen(w backend.Wait, f backend.Flags) backend.Probe {
	return backend.Probe{PGID: 7, PID: 7, Command: "job", Wait: w, Flags: f}
}

// own is a probe of the session's own shell.
func own(w backend.Wait) backend.Probe {
	return backend.Probe{PGID: 1, PID: 1, Command: "bash", Own: true, Wait: w, Flags: raw}
}

func TestDecide(t *testing.T) {
	row := func(text string) Row { return Row{Text: text, Moved: true} }
	known := Row{Text: "> ", Moved: true, Known: true}
	prompt := Marks{At: AtPrompt, Fresh: true}
	for _, test := range []struct {
		name     string
		facts    Facts
		reason   Reason
		state    State
		evidence Evidence
	}{
		{"exited", Facts{Exited: true}, SessionExit, Unknown, None},
		{"shell at its prompt", Facts{Now: own(backend.WaitExact), Marks: prompt}, StdinRead, Prompt, KernelPrompt},
		{"a hook of the prompt reads with a timer", Facts{Now: own(backend.WaitTimed), Marks: Marks{At: AtPrompt, Fresh: true, Begun: true}, Looks: 9}, "", Unknown, None},
		{"prompt with a timer", Facts{Now: own(backend.WaitTimed), Marks: prompt, Looks: 2}, StdinRead, Prompt, KernelPrompt},
		{"prompt without its end", Facts{Now: own(backend.WaitExact), Marks: Marks{At: AtPrompt, Begun: true}}, StdinRead, Prompt, KernelPrompt},
		{"blind: prompt that is being drawn", Facts{Now: own(backend.WaitUnknown), Marks: Marks{At: AtPrompt, Fresh: true, Begun: true}}, "", Unknown, None},
		{"shell wants the rest", Facts{Now: own(backend.WaitExact), Marks: Marks{At: AtContinuation}}, StdinRead, Continuation, KernelPrompt},
		{"read in the shell", Facts{Now: own(backend.WaitExact), Marks: Marks{At: InCommand}}, StdinRead, WaitingInput, Kernel},
		{"exact wait, input unread", Facts{Now: seen(backend.WaitExact, cooked), Unread: true, Quiet: time.Hour, Steady: time.Hour}, "", Unknown, None},
		{"shell at its prompt, input unread", Facts{Now: own(backend.WaitExact), Marks: prompt, Unread: true, Quiet: time.Hour}, "", Unknown, None},
		{"cat", Facts{Now: seen(backend.WaitExact, cooked)}, StdinRead, WaitingInput, Kernel},
		{"getpass", Facts{Now: seen(backend.WaitExact, password)}, StdinRead, WaitingHiddenInput, Kernel},
		{"less", Facts{Now: seen(backend.WaitExact, raw), AltScreen: true}, StdinRead, Fullscreen, Kernel},
		{"echo off in the shell itself", Facts{Now: backend.Probe{Own: true, PGID: 1, Wait: backend.WaitExact, Flags: password}, Marks: prompt}, StdinRead, Prompt, KernelPrompt},
		{"silent program", Facts{Now: seen(backend.WaitNone, cooked), Quiet: time.Hour, Steady: time.Hour}, "", Running, Kernel},
		{"silent program with a prompt mark before it", Facts{Now: seen(backend.WaitNone, cooked), Marks: prompt, Quiet: time.Hour}, "", Running, Kernel},
		{"server, not silent for long", Facts{Now: seen(backend.WaitNone, cooked), Serving: 2999 * time.Millisecond, Quiet: time.Hour}, "", Running, Kernel},
		{"quiet server", Facts{Now: seen(backend.WaitNone, cooked), Serving: 3 * time.Second}, InferredIdle, Running, Kernel},
		{"server at work", Facts{Now: seen(backend.WaitBusy, cooked), Serving: time.Hour, Quiet: time.Hour}, "", Running, Kernel},
		{"top, just drawn", Facts{Now: seen(backend.WaitTimed, raw), Redrawn: 2999 * time.Millisecond}, "", Unknown, None},
		{"top", Facts{Now: seen(backend.WaitTimed, raw), Redrawn: 3 * time.Second}, InferredIdle, WaitingInput, ByScreen},
		{"spinner of a program that does not wait", Facts{Now: seen(backend.WaitNone, cooked), Redrawn: time.Hour}, "", Running, Kernel},
		{"full screen that never settles", Facts{Now: seen(backend.WaitTimed, raw), AltScreen: true, Redrawn: 3 * time.Second}, InferredIdle, Fullscreen, ByScreen},
		{"watch that never settles", Facts{Now: seen(backend.WaitNone, raw), AltScreen: true, Redrawn: 3 * time.Second}, InferredIdle, Fullscreen, ByScreen},
		{"busy program with a prompt", Facts{Now: seen(backend.WaitBusy, cooked), Row: known, Quiet: time.Hour, Steady: time.Hour}, "", Running, Kernel},
		{"stopped program", Facts{Now: seen(backend.WaitStopped, cooked), Quiet: time.Hour}, "", Running, Kernel},
		{"node, first look", Facts{Now: seen(backend.WaitTimed, raw), Row: known, Looks: 1}, "", Unknown, None},
		{"node, second look", Facts{Now: seen(backend.WaitTimed, raw), Row: known, Looks: 2}, StdinRead, WaitingInput, KernelPrompt},
		{"known prompt of before the line was read", Facts{Now: seen(backend.WaitOpen, raw), Row: Row{Text: "> ", Known: true}, Looks: 9, Quiet: time.Second, Steady: time.Second}, "", Unknown, None},
		{"unknown prompt with a timer, at once", Facts{Now: seen(backend.WaitTimed, raw), Row: row("irb> "), Steady: 24 * time.Millisecond}, "", Unknown, None},
		{"unknown prompt with a timer, settled", Facts{Now: seen(backend.WaitTimed, raw), Row: row("irb> "), Steady: 25 * time.Millisecond}, InferredIdle, WaitingInput, KernelPrompt},
		{"progress while a child works", Facts{Now: seen(backend.WaitOpen, raw), Row: row("progress 50%"), Steady: 2999 * time.Millisecond, Output: true}, "", Unknown, None},
		{"unknown prompt over a network", Facts{Now: seen(backend.WaitOpen, raw), Row: row("host:~$ "), Steady: 399 * time.Millisecond}, "", Unknown, None},
		{"unknown prompt over a network, settled", Facts{Now: seen(backend.WaitOpen, raw), Row: row("host:~$ "), Steady: 400 * time.Millisecond}, InferredIdle, WaitingInput, KernelPrompt},
		{"timer without prompt", Facts{Now: seen(backend.WaitTimed, cooked), Row: row("working"), Steady: 2999 * time.Millisecond}, "", Unknown, None},
		{"timer without prompt, long silence", Facts{Now: seen(backend.WaitTimed, cooked), Row: row("working"), Steady: 3 * time.Second}, InferredIdle, WaitingInput, BySilence},
		{"vim draws", Facts{Now: seen(backend.WaitTimed, raw), AltScreen: true, Still: 119 * time.Millisecond, Steady: time.Second}, "", Fullscreen, ByScreen},
		{"vim has drawn", Facts{Now: seen(backend.WaitTimed, raw), AltScreen: true, Still: 120 * time.Millisecond, Steady: time.Second}, InferredIdle, Fullscreen, ByScreen},
		{"tmux", Facts{Now: seen(backend.WaitNone, raw), AltScreen: true, Still: 500 * time.Millisecond}, InferredIdle, Fullscreen, ByScreen},
		{"sudo asks", Facts{Now: seen(backend.WaitDenied, password), Steady: 10 * time.Millisecond}, InferredIdle, WaitingHiddenInput, ByFlags},
		{"another user's program", Facts{Now: seen(backend.WaitDenied, cooked), Quiet: 2999 * time.Millisecond, Output: true}, "", Unknown, None},
		{"another user's program, silent", Facts{Now: seen(backend.WaitDenied, cooked), Quiet: 3 * time.Second, Output: true}, InferredIdle, Unknown, BySilence},
		{"blind: shell drew its prompt", Facts{Now: own(backend.WaitUnknown), Marks: prompt}, StdinRead, Prompt, KernelPrompt},
		{"blind: prompt of before the write", Facts{Now: own(backend.WaitUnknown), Marks: Marks{At: AtPrompt}, Quiet: time.Second}, "", Prompt, KernelPrompt},
		{"sudo asks after a command", Facts{Now: seen(backend.WaitDenied, password), Steady: 10 * time.Millisecond, Typed: true, Row: Row{Text: "[sudo] password for me: ", New: true}}, InferredIdle, WaitingHiddenInput, ByFlags},
		{"sudo looks at an answer", Facts{Now: seen(backend.WaitDenied, password), Steady: 2999 * time.Millisecond, Typed: true, Output: true}, "", WaitingHiddenInput, ByFlags},
		{"sudo asks nothing for long", Facts{Now: seen(backend.WaitDenied, password), Steady: 3 * time.Second, Typed: true, Output: true}, InferredIdle, WaitingHiddenInput, ByFlags},
		{"sudo has not heard an interrupt", Facts{Now: seen(backend.WaitDenied, password), Steady: 2999 * time.Millisecond, Typed: true, Output: true, Row: Row{Text: "[sudo] password for me: "}}, "", WaitingHiddenInput, ByFlags},
		{"blind: su is dying", Facts{Now: seen(backend.WaitUnknown, password), Steady: 2999 * time.Millisecond, Typed: true}, "", WaitingHiddenInput, ByFlags},
		{"blind: password", Facts{Now: seen(backend.WaitUnknown, password), Steady: 10 * time.Millisecond}, InferredIdle, WaitingHiddenInput, ByFlags},
		{"blind: silence", Facts{Now: seen(backend.WaitUnknown, cooked), Quiet: 3 * time.Second}, InferredIdle, Unknown, BySilence},
		{"blind: silence after a prompt mark", Facts{Now: seen(backend.WaitUnknown, cooked), Marks: prompt, Quiet: 3 * time.Second}, "", Unknown, None},
		{"blind: start-up without output", Facts{Now: seen(backend.WaitUnknown, cooked), Starting: true, Quiet: time.Hour}, "", Unknown, None},
		{"timed start-up without output", Facts{Now: seen(backend.WaitTimed, cooked), Starting: true, Quiet: time.Hour, Steady: time.Hour}, "", Unknown, None},
		{"observed start-up without output", Facts{Now: seen(backend.WaitExact, cooked), Starting: true}, StdinRead, WaitingInput, Kernel},
	} {
		test.facts.Probed = true
		v := Decide(test.facts, limits)
		if v.Reason != test.reason || v.State != test.state || v.Evidence != test.evidence {
			t.Errorf("%s: got %q, %s by %s; want %q, %s by %s", test.name, v.Reason, v.State, v.Evidence, test.reason, test.state, test.evidence)
		}
	}
}

func TestNothingIsClaimedWithoutAProbe(t *testing.T) {
	v := Decide(Facts{Quiet: time.Hour, Marks: Marks{At: AtPrompt, Fresh: true}}, limits)
	if v.Reason != "" || v.State != Unknown {
		t.Errorf("got %q, %s", v.Reason, v.State)
	}
}

func TestKernelIsNotAskedBeforeTheConfiguredTime(t *testing.T) {
	l := limits
	l.ExactAfter = 150 * time.Millisecond
	f := Facts{Now: seen(backend.WaitExact, cooked), Probed: true, Elapsed: 100 * time.Millisecond}
	if v := Decide(f, l); v.Reason != "" || v.Recheck != 50*time.Millisecond {
		t.Errorf("got %q, recheck in %v; want none, 50ms", v.Reason, v.Recheck)
	}
	f.Elapsed = 150 * time.Millisecond
	if v := Decide(f, l); v.Reason != StdinRead {
		t.Errorf("got %q, want stdin_read", v.Reason)
	}
}

func TestSettleTimeIsTheRecheck(t *testing.T) {
	f := Facts{Now: seen(backend.WaitTimed, raw), Probed: true, Row: Row{Text: "irb> ", Moved: true}, Steady: 10 * time.Millisecond}
	if v := Decide(f, limits); v.Recheck != 15*time.Millisecond {
		t.Errorf("recheck in %v, want 15ms", v.Recheck)
	}
}

func TestREPLPrompts(t *testing.T) {
	for _, test := range []struct {
		command, row string
		want         bool
	}{
		{"node", "> ", true},
		{"MainThread", "... ", true},
		{"node", "Step 3: ", false},
		{"node", "a > ", false},
		{"irb", "irb(main):001:0> ", true},
		{"ipython3", "In [12]: ", true},
		{"jshell", "jshell> ", true},
		{"cat", "> ", false},
	} {
		if got := IsREPLPrompt(test.command, test.row); got != test.want {
			t.Errorf("%s %q: %v, want %v", test.command, test.row, got, test.want)
		}
	}
}

func TestREPLsAreStartedWithoutCode(t *testing.T) {
	for _, test := range []struct {
		args string
		want bool
	}{
		{"node", true}, {"/usr/bin/node --use_strict", true}, {"node script.js", false},
		{"node -e 1", false}, {"node --eval=1", false}, {"irb", true}, {"", false},
	} {
		if got := IsREPL(strings.Fields(test.args)); got != test.want {
			t.Errorf("%q: %v, want %v", test.args, got, test.want)
		}
	}
}

func TestFoldedPromptsDifferOnlyInNumbers(t *testing.T) {
	if a, b := FoldPrompt("irb(main):009:0> "), FoldPrompt("irb(main):1010:0> "); a != b {
		t.Errorf("%q and %q differ", a, b)
	}
	if a, b := FoldPrompt("a1> "), FoldPrompt("b1> "); a == b {
		t.Errorf("%q is the same for different prompts", a)
	}
}

func TestPaceGrowsToItsLimits(t *testing.T) {
	var p Pace
	poll := 50 * time.Millisecond
	p.Output(0)
	if d := p.Next(0, poll); d != firstLook {
		t.Errorf("first look after %v, want %v", d, firstLook)
	}
	for _, test := range []struct{ quiet, want time.Duration }{
		{500 * time.Millisecond, poll}, {5 * time.Second, 2 * poll}, {time.Minute, 5 * poll},
	} {
		var last time.Duration
		for range 40 {
			last = p.Next(test.quiet, poll)
		}
		if last != test.want {
			t.Errorf("after %v of silence: %v, want %v", test.quiet, last, test.want)
		}
	}
	p.Output(time.Second)
	if d := p.Next(0, poll); d != time.Second/128 {
		t.Errorf("after output one second in: %v, want %v", d, time.Second/128)
	}
}
