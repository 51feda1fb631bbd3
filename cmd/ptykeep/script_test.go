package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the dialogues of testdata/script against the real server,
// over real stdio, with real programs. In them:
//
//	[missing:PROGRAM] skip  skips the script when a program is missing; that fails
//	                        with PTYKEEP_TEST_REQUIRE_ALL=1
//	[root]                  the tests run as root
//	[ordinary]              there is a user without privileges to run a server as
//	server NAME [ARG...]    starts "ptykeep mcp ARG..." and talks to it from now on;
//	                        unconfined, unless ARG says or "env SANDBOX=default" stands before
//	ordinary NAME [ARG...]  the same in / as that user, who cannot enter $WORK
//	use NAME                talks to that server again
//	call TOOL [KEY=VALUE]   calls a tool; a value is JSON, or else a string
//	${task}                 the task that was started last
//	open, send TEXT, await, signal NAME, read, close, list   short forms for the
//	                        session that was opened last, ${id}
//	body RE, text RE        the body, or all of the text, matches from end to end
//	error CODE              the call failed with that code; anything else did not
//	fact PATH VALUE         a fact is that; PATH is like foreground.state
//	repeat VAR N TEXT       sets VAR to N times TEXT
//	start TOOL [KEY=VALUE]  sends a call and does not wait for its answer
//	finish                  waits for that answer, which the checks then look at
//	cancel [REASON]         cancels that call
//	settle                  waits on, once that call has freed the session's slot
//	interrupt               signals SIGINT until the shell is at its prompt
//	unanswered              no answer to that call has come by now
//	faster MS, slower MS    the call took at most, or at least, so long. Only for
//	                        telling a wait from none: seconds, not milliseconds
//	raw LINE, answer RE     writes a line, reads one
//	eof, end SIGNAL         ends the input, or sends a signal
//	exited CODE             the server ends by itself with that status
//	alive MARK, gone MARK   a process with MARK in its command line is there, or
//	                        none is any more
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "../../testdata/script",
		Setup: func(env *testscript.Env) error {
			home := env.WorkDir + "/home"
			env.Setenv("HOME", home)
			env.Setenv("SHELL", "/bin/bash")
			env.Setenv("PATH", filepath.Dir(binary)+string(filepath.ListSeparator)+env.Getenv("PATH"))
			env.Setenv("MARK", newMark())
			env.Values[dialogueKey{}] = &dialogue{servers: map[string]*stdioServer{}}
			return os.Mkdir(home, 0o700)
		},
		Condition: func(cond string) (bool, error) {
			if cond == "novenv" { // Debian has it in a package of its own
				err := exec.Command("python3", "-c", "import venv, ensurepip").Run()
				if err != nil && os.Getenv("PTYKEEP_TEST_REQUIRE_ALL") == "1" {
					return true, fmt.Errorf("needs the venv module of python3: %w", err)
				}
				return err != nil, nil
			}
			program, ok := strings.CutPrefix(cond, "missing:")
			switch {
			case ok:
				return missing(program)
			case cond == "root":
				return os.Getuid() == 0, nil
			case cond == "ordinary":
				return ordinary()
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"server": cmdServer, "use": cmdUse,
			"ordinary": func(ts *testscript.TestScript, _ bool, args []string) {
				startServer(ts, args, func(cmd *exec.Cmd) {
					cmd.Env = append(cmd.Env, "TMPDIR=/tmp") // not in $WORK
					asOrdinaryUser(t, cmd)
				})
			},
			"call": cmdCall, "open": cmdOpen, "send": cmdSend, "await": cmdAwait, "signal": cmdSignal,
			"read": cmdRead, "close": cmdClose, "list": cmdList,
			"body": cmdBody, "text": cmdText, "error": cmdError, "fact": cmdFact, "faster": cmdFaster, "slower": cmdSlower,
			"raw": cmdRaw, "answer": cmdAnswer, "eof": cmdEOF, "end": cmdEnd, "exited": cmdExited,
			"repeat": cmdRepeat, "start": cmdStart, "finish": cmdFinish, "cancel": cmdCancel, "unanswered": cmdUnanswered, "settle": cmdSettle, "interrupt": cmdInterrupt,
			"alive": cmdAlive, "gone": cmdGone, "keep": cmdKeep,
		},
	})
}

// ordinary reports whether asOrdinaryUser can do its work.
func ordinary() (bool, error) {
	there := os.Getuid() != 0 || os.Getenv("PTYKEEP_TEST_USER") != ""
	if !there && os.Getenv("PTYKEEP_TEST_REQUIRE_ALL") == "1" {
		return false, errors.New("needs PTYKEEP_TEST_USER")
	}
	return there, nil
}

// dialogue is what a script has at hand.
type dialogue struct {
	servers map[string]*stdioServer
	current *stdioServer
	last    reply
	started int // id of the call that start sent
}

type dialogueKey struct{}

func of(ts *testscript.TestScript) *dialogue { return ts.Value(dialogueKey{}).(*dialogue) }

func cmdServer(ts *testscript.TestScript, _ bool, args []string) {
	startServer(ts, args, func(*exec.Cmd) {})
}

// startServer starts the server args[0] with the rest of args, after prepare.
func startServer(ts *testscript.TestScript, args []string, prepare func(*exec.Cmd)) {
	if len(args) < 1 {
		ts.Fatalf("usage: server NAME [ARG...]")
	}
	d := of(ts)
	cmd := exec.Command(binary, append([]string{"mcp"}, args[1:]...)...)
	cmd.Dir = ts.Getenv("WORK")
	for _, name := range []string{"HOME", "SHELL", "PATH", "MARK", "SECRET_OF_SERVER", "TMPDIR"} {
		if value := ts.Getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	prepare(cmd)
	if ts.Getenv("SANDBOX") != "default" {
		unconfined(cmd)
	}
	s, err := startStdio(cmd)
	ts.Check(err)
	ts.Defer(s.stop)
	d.servers[args[0]], d.current = s, s
	ts.Check(s.greet())
}

func cmdUse(ts *testscript.TestScript, _ bool, args []string) {
	d := of(ts)
	d.current = d.servers[args[0]]
	if d.current == nil {
		ts.Fatalf("no server %q", args[0])
	}
}

// argumentsOf makes a tool's arguments from KEY=VALUE each.
func argumentsOf(ts *testscript.TestScript, preset map[string]any, args []string) map[string]any {
	fields := map[string]any{}
	for k, v := range preset {
		fields[k] = v
	}
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok {
			ts.Fatalf("%q is not KEY=VALUE", arg)
		}
		var v any
		if json.Unmarshal([]byte(value), &v) != nil {
			v = value
		}
		fields[key] = v
	}
	return fields
}

// call calls a tool of the current server with args, KEY=VALUE each.
func call(ts *testscript.TestScript, tool string, preset map[string]any, args []string) {
	d := of(ts)
	r, err := d.current.tool(tool, argumentsOf(ts, preset, args))
	ts.Check(err)
	d.last = r
	ts.Logf("%s: %s", tool, shorten(r.text))
	if r.rpcError != "" {
		ts.Logf("JSON-RPC error: %s", r.rpcError)
	}
	if id, ok := r.facts["sessionId"].(string); ok && tool == "terminal_open" {
		ts.Setenv("id", id)
	}
	if id, ok := r.facts["taskId"].(string); ok {
		ts.Setenv("task", id)
	}
}

func shorten(s string) string {
	if len(s) > 2000 {
		return s[:1000] + "\n...\n" + s[len(s)-900:]
	}
	return s
}

func cmdCall(ts *testscript.TestScript, _ bool, args []string) { call(ts, args[0], nil, args[1:]) }
func cmdOpen(ts *testscript.TestScript, _ bool, args []string) {
	call(ts, "terminal_open", nil, args)
}
func session(ts *testscript.TestScript) map[string]any {
	return map[string]any{"sessionId": ts.Getenv("id")}
}
func cmdSend(ts *testscript.TestScript, _ bool, args []string) {
	fields := session(ts)
	fields["text"] = strings.ReplaceAll(args[0], `\n`, "\n")
	call(ts, "terminal_send", fields, args[1:])
}
func cmdAwait(ts *testscript.TestScript, _ bool, args []string) {
	call(ts, "terminal_send", session(ts), args)
}
func cmdSignal(ts *testscript.TestScript, _ bool, args []string) {
	fields := session(ts)
	fields["signal"] = args[0]
	call(ts, "terminal_signal", fields, nil)
}
func cmdRead(ts *testscript.TestScript, _ bool, args []string) {
	call(ts, "terminal_read", session(ts), args)
}
func cmdClose(ts *testscript.TestScript, _ bool, _ []string) {
	call(ts, "terminal_close", session(ts), nil)
}
func cmdList(ts *testscript.TestScript, _ bool, _ []string) { call(ts, "terminal_list", nil, nil) }

// cmdKeep keeps the id of the session that was opened last as a variable.
func cmdKeep(ts *testscript.TestScript, _ bool, args []string) { ts.Setenv(args[0], ts.Getenv("id")) }

func matches(ts *testscript.TestScript, neg bool, what, pattern, got string) {
	re, err := regexp.Compile(`\A(?s:` + pattern + `)\z`)
	ts.Check(err)
	if re.MatchString(got) == neg {
		ts.Fatalf("%s is %q, wanted a match of %s: %v", what, shorten(got), shorten(pattern), !neg)
	}
}

func cmdBody(ts *testscript.TestScript, neg bool, args []string) {
	d := of(ts)
	if d.last.isError {
		ts.Fatalf("the call failed: %s", d.last.text)
	}
	matches(ts, neg, "the body", args[0], d.last.body())
}

func cmdText(ts *testscript.TestScript, neg bool, args []string) {
	matches(ts, neg, "the text", args[0], of(ts).last.text)
}

func cmdError(ts *testscript.TestScript, neg bool, args []string) {
	d := of(ts)
	code, _ := d.last.facts["code"].(string)
	if !d.last.isError || code != args[0] || !strings.HasPrefix(d.last.text, args[0]+": ") {
		ts.Fatalf("got code %q in %q, wanted %s", code, d.last.text, args[0])
	}
	for _, word := range args[1:] {
		if !strings.Contains(d.last.text, word) {
			ts.Fatalf("the error does not say %q: %s", word, d.last.text)
		}
	}
}

func cmdFact(ts *testscript.TestScript, neg bool, args []string) {
	d := of(ts)
	if d.last.isError {
		ts.Fatalf("the call failed: %s", d.last.text)
	}
	var got any = map[string]any(d.last.facts)
	for _, key := range strings.Split(args[0], ".") {
		switch x := got.(type) {
		case map[string]any:
			got = x[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(x) {
				ts.Fatalf("no %s in %v", key, x)
			}
			got = x[i]
		default:
			got = nil
		}
	}
	if (fmt.Sprint(got) == args[1]) == neg {
		ts.Fatalf("%s is %v, wanted %s: %v", args[0], got, args[1], !neg)
	}
}

func cmdFaster(ts *testscript.TestScript, _ bool, args []string) { checkTook(ts, args[0], -1) }
func cmdSlower(ts *testscript.TestScript, _ bool, args []string) { checkTook(ts, args[0], 1) }

func checkTook(ts *testscript.TestScript, ms string, sign int) {
	n, err := strconv.Atoi(ms)
	ts.Check(err)
	limit, got := time.Duration(n)*time.Millisecond, of(ts).last.took
	if sign < 0 && got > limit || sign > 0 && got < limit {
		ts.Fatalf("the call took %v, the limit is %v", got, limit)
	}
}

func cmdRaw(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(of(ts).current.write(strings.Join(args, " ")))
}

func cmdAnswer(ts *testscript.TestScript, neg bool, args []string) {
	line, err := of(ts).current.readLine()
	ts.Check(err)
	matches(ts, neg, "the answer", args[0], line)
}

func cmdEOF(ts *testscript.TestScript, _ bool, _ []string) { ts.Check(of(ts).current.in.Close()) }

func cmdEnd(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(of(ts).current.signal(args[0]))
}

func cmdExited(ts *testscript.TestScript, _ bool, args []string) {
	code, err := of(ts).current.exit()
	ts.Check(err)
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit status %d, wanted %s; log: %s", code, args[0], of(ts).current.log())
	}
}

func cmdAlive(ts *testscript.TestScript, _ bool, args []string) {
	if !eventually(func() bool { return len(processes(args[0])) > 0 }) {
		ts.Fatalf("no process with %q", args[0])
	}
}

func cmdGone(ts *testscript.TestScript, _ bool, args []string) {
	var left []string
	if !eventually(func() bool { left = processes(args[0]); return len(left) == 0 }) {
		slices.Sort(left)
		ts.Fatalf("still there: %s", strings.Join(left, "; "))
	}
}

func cmdRepeat(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Setenv(args[0], strings.Repeat(strings.ReplaceAll(args[2], `\n`, "\n"), n))
}

func cmdStart(ts *testscript.TestScript, _ bool, args []string) {
	d := of(ts)
	preset := map[string]any{}
	if strings.HasPrefix(args[0], "terminal_") && args[0] != "terminal_open" {
		preset = session(ts)
	}
	id, err := d.current.begin("tools/call", map[string]any{"name": args[0], "arguments": argumentsOf(ts, preset, args[1:])})
	ts.Check(err)
	d.started = id
}

func cmdFinish(ts *testscript.TestScript, _ bool, _ []string) {
	d := of(ts)
	raw, rpcError, err := d.current.await("tools/call", d.started)
	ts.Check(err)
	if rpcError != "" {
		ts.Fatalf("JSON-RPC error: %s", rpcError)
	}
	d.last, err = parseReply(raw)
	ts.Check(err)
	ts.Logf("%s", shorten(d.last.text))
}

func cmdCancel(ts *testscript.TestScript, _ bool, args []string) {
	d := of(ts)
	params := map[string]any{"requestId": d.started}
	if len(args) > 0 {
		params["reason"] = args[0]
	}
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
	ts.Check(err)
	ts.Check(d.current.write(string(line)))
}

// cmdInterrupt sends SIGINT until the shell is at its prompt: one that meets a
// loop between two of its commands may be lost on the shell.
func cmdInterrupt(ts *testscript.TestScript, _ bool, _ []string) {
	d := of(ts)
	if !eventually(func() bool {
		fields := session(ts)
		fields["signal"] = "SIGINT"
		call(ts, "terminal_signal", fields, nil)
		call(ts, "terminal_send", session(ts), []string{"timeoutMs=2000"})
		front, _ := d.last.facts["foreground"].(map[string]any)
		return front["state"] == "prompt"
	}) {
		ts.Fatalf("the shell does not come back")
	}
}

// cmdSettle waits on as await does, until the cancelled call has freed the slot.
func cmdSettle(ts *testscript.TestScript, _ bool, args []string) {
	d := of(ts)
	if !eventually(func() bool {
		call(ts, "terminal_send", session(ts), args)
		return !d.last.isError || d.last.facts["code"] != "SEND_ACTIVE"
	}) {
		ts.Fatalf("the slot is not freed")
	}
}

func cmdUnanswered(ts *testscript.TestScript, _ bool, _ []string) {
	d := of(ts)
	if _, answered := d.current.early[strconv.Itoa(d.started)]; answered {
		ts.Fatalf("the call was answered")
	}
}
