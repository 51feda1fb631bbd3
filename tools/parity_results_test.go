package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/backend/backendtest"
	"github.com/ptykeep/ptykeep/ptyservice"
	"github.com/ptykeep/ptykeep/readiness"
)

// stage is a connection to tools whose terminals the test plays.
type stage struct {
	*client
	t       *testing.T
	tools   *Tools
	backend *backendtest.Backend
}

// staged runs test in a bubble. The terminals show a prompt, and echo each line
// as the output of a command until the test says otherwise.
func staged(t *testing.T, cfg Config, test func(*stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &backendtest.Backend{OnStart: func(_ context.Context, f *backendtest.Fake) error {
			f.OnWrite(func(p []byte) {
				line := strings.TrimSuffix(string(p), "\r")
				begin(f, line)
				f.Emit(line + "\r\n")
				prompt(f)
			})
			f.Emit("welcome\r\n")
			prompt(f)
			return nil
		}}
		c := ptyservice.DefaultConfig()
		c.WorkspaceRoot = t.TempDir()
		service, err := ptyservice.New(c, ptyservice.Options{Backends: map[string]backend.Backend{"shell": b}})
		if err != nil {
			t.Fatal(err)
		}
		if cfg.MaxResultBytes == 0 {
			cfg.MaxResultBytes = DefaultResultBytes
		}
		tools, err := New(service, cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := &stage{client: connect(t, tools), t: t, tools: tools, backend: b}
		test(s)
		s.close()
		if err := service.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func sign(f *backendtest.Fake, s string) string {
	return "\x1b]6973;" + f.Spec().Nonce + ";" + s + "\x07"
}

func prompt(f *backendtest.Fake) {
	f.UpdateProbe(func(p *backend.Probe) {
		p.PGID, p.PID, p.Own, p.Command, p.Wait, p.Flags.Canonical = 100, 100, true, "sh", backend.WaitExact, false
	})
	f.Emit(sign(f, "D;0;100;"+f.Spec().Dir) + "$ " + sign(f, "B;100"))
}

func begin(f *backendtest.Fake, line string) {
	f.UpdateProbe(func(p *backend.Probe) {
		p.PGID, p.PID, p.Own, p.Command, p.Wait = 200, 200, false, "job", backend.WaitNone
	})
	f.Emit(line + "\r\n" + sign(f, "C;100"))
}

// plainText replaces what is another in each run.
func plainText(s string) string {
	s = regexp.MustCompile(`pty-[a-z2-7]{10}`).ReplaceAllString(s, "pty-ID")
	return regexp.MustCompile(`task-[a-z2-7]{10}`).ReplaceAllString(s, "task-ID")
}

func (s *stage) says(tool, args, want string) reply {
	s.t.Helper()
	r := s.tool(tool, args)
	got := strings.ReplaceAll(plainText(r.text), s.tools.service.Config().WorkspaceRoot, "DIR")
	if got != want {
		s.t.Errorf("%s %s: got %q, want %q", tool, args, got, want)
	}
	return r
}

func TestTextsOfALife(t *testing.T) {
	staged(t, Config{}, func(s *stage) {
		r := s.says("terminal_open", `{"name":"main"}`, "welcome\n[sessionId: pty-ID]\n[name: main]\n[wait: stdin_read]\n[session: running]\n[cwd: DIR]")
		id := fmt.Sprintf(`"sessionId":%q`, r.facts["sessionId"])
		s.says("terminal_send", `{`+id+`,"text":"PTY_OK"}`, "PTY_OK\n[wait: stdin_read]\n[session: running]")
		s.says("terminal_send", `{`+id+`}`, "[wait: stdin_read]\n[session: running]")
		s.says("terminal_read", `{`+id+`,"offset":0,"count":20}`, "welcome\n$ PTY_OK\nPTY_OK\n$\n[lines: 0-4 of 4]")
		s.says("terminal_read", `{`+id+`,"offset":1,"count":1}`, "PTY_OK\n[lines: 1-2 of 4]")
		s.says("terminal_read", `{`+id+`,"search":"OK$"}`, "2: $ PTY_OK\n3: PTY_OK\n[matches: newest 2 of 2, in 4 lines]")
		s.says("terminal_signal", `{`+id+`,"signal":"SIGINT"}`, "[SIGINT: delivered to process group 100]")
		s.says("terminal_list", `{}`, "pty-ID (main) sh prompt DIR idle 0 ms\n[sessions: 1]")
		if r := s.says("terminal_signal", `{"sessionId":"pty-aaaaaaaaaa","signal":"SIGINT"}`, `NO_SESSION: "pty-ID": no such session. terminal_list shows yours`); !r.isError {
			s.t.Errorf("no error: %s", r.raw)
		}
		s.says("terminal_close", `{`+id+`}`, "[closed: 1 process ended]\n[session: exited code=null signal=SIGHUP]")
		s.says("terminal_list", `{}`, "[sessions: 0]")
		s.says("terminal_read", `{`+id+`}`, `NO_SESSION: "pty-ID": no such session. terminal_list shows yours`)
	})
}

func TestFactsHaveTheirNames(t *testing.T) {
	staged(t, Config{}, func(s *stage) {
		check := func(what string, r reply, want ...string) {
			s.t.Helper()
			if got := slices.Sorted(maps.Keys(r.facts)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
				s.t.Errorf("%s: facts %v, want %v", what, got, want)
			}
		}
		r := s.tool("terminal_open", `{"name":"x"}`)
		check("open", r, "sessionId", "name", "type", "pid", "waitReason", "status", "foreground", "cwd", "truncated", "bodyBytes")
		id := fmt.Sprintf(`"sessionId":%q`, r.facts["sessionId"])
		check("send", s.tool("terminal_send", `{`+id+`,"text":"x"}`),
			"waitReason", "sessionStatus", "foreground", "firstLine", "lastLine", "truncated", "exitCode", "cwd", "elapsedMs", "bodyBytes")
		check("read", s.tool("terminal_read", `{`+id+`}`), "totalLines", "lineBegin", "lineEnd", "firstLine", "truncated", "bodyBytes")
		check("screen", s.tool("terminal_read", `{`+id+`,"view":"screen"}`), "cursor", "title", "fullscreen", "truncated", "bodyBytes")
		check("signal", s.tool("terminal_signal", `{`+id+`,"signal":"SIGINT"}`), "delivered", "targetPgid", "foreground")
		check("list", s.tool("terminal_list", `{}`), "sessions")
		r = s.tool("terminal_send", `{`+id+`,"text":"x","run_in_background":true}`)
		check("background send", r, "taskId", "status", "bodyBytes")
		task := fmt.Sprintf(`"taskId":%q`, r.facts["taskId"])
		check("task_output", s.tool("task_output", `{`+task+`,"wait":true}`), "taskId", "status", "truncated", "bodyBytes", "send")
		check("task_kill", s.tool("task_kill", `{`+task+`}`), "killed")
		check("close", s.tool("terminal_close", `{`+id+`}`), "killed", "alreadyClosing", "status", "ended", "survivors")
		check("error", s.tool("terminal_read", `{`+id+`}`), "code", "message")
	})
}

func TestMarksOfASend(t *testing.T) {
	code := func(n int) *int { return &n }
	exited := func(e backend.Exit) ptyservice.Status { return ptyservice.Status{Exited: true, Exit: e} }
	atPrompt := ptyservice.Foreground{PID: 1, PGID: 1, Command: "sh", Own: true, State: readiness.Prompt}
	nobody := ptyservice.Foreground{State: readiness.Unknown}
	ran := ptyservice.Result{Reason: readiness.StdinRead, Foreground: atPrompt}
	with := func(change func(r *ptyservice.Result)) ptyservice.Result { r := ran; change(&r); return r }
	for _, test := range []struct {
		r    ptyservice.Result
		want string
	}{
		{ran, "[wait: stdin_read]\n[session: running]"},
		{with(func(r *ptyservice.Result) { r.ExitCode = code(0) }), "[wait: stdin_read]\n[session: running]"},
		{with(func(r *ptyservice.Result) { r.ExitCode = code(2) }), "[wait: stdin_read]\n[session: running]\n[exit: 2]"},
		{with(func(r *ptyservice.Result) { r.Dir = "/x" }), "[wait: stdin_read]\n[session: running]"},
		{with(func(r *ptyservice.Result) { r.Dir, r.DirChanged = "/x\n[wait: y]", true }), "[wait: stdin_read]\n[session: running]\n[cwd: /x [wait: y]]"},
		{with(func(r *ptyservice.Result) {
			r.Foreground = ptyservice.Foreground{PGID: 7, Command: "python3", State: readiness.WaitingInput}
		}), "[wait: stdin_read]\n[session: running]\n[foreground: python3 waiting_input]"},
		{with(func(r *ptyservice.Result) { r.Missed, r.MissedFrom, r.Unread = 3, 17, 5 }), "[wait: stdin_read]\n[session: running]\n[missed: 3 lines before this; terminal_read from: 17]\n[unread: 5 bytes of input]"},
		{ptyservice.Result{Reason: readiness.Timeout, Foreground: nobody}, "[wait: timeout]\n[session: running]"},
		{ptyservice.Result{Reason: readiness.SessionExit, Foreground: nobody, Status: exited(backend.Exit{Code: 3})}, "[wait: session_exit]\n[session: exited code=3 signal=null]"},
		{ptyservice.Result{Reason: readiness.SessionExit, Foreground: nobody, Status: exited(backend.Exit{Signal: syscall.SIGKILL})}, "[wait: session_exit]\n[session: exited code=null signal=SIGKILL]"},
		{ptyservice.Result{Reason: readiness.SessionExit, Foreground: nobody, Status: exited(backend.Exit{Lost: true})}, "[wait: session_exit]\n[session: exited code=null signal=null]"},
	} {
		if got := layMarks(sendMarks(test.r), 1000); got != test.want {
			t.Errorf("got %q, want %q, for %+v", got, test.want, test.r)
		}
	}
}

func TestStatusHasNullForWhatIsNotKnown(t *testing.T) {
	for _, test := range []struct {
		s    ptyservice.Status
		want string
	}{
		{ptyservice.Status{}, `{"kind":"running"}`},
		{ptyservice.Status{Exited: true}, `{"kind":"exited","exitCode":0,"signal":null}`},
		{ptyservice.Status{Exited: true, Exit: backend.Exit{Signal: syscall.SIGTERM}}, `{"kind":"exited","exitCode":null,"signal":"SIGTERM"}`},
		{ptyservice.Status{Exited: true, Exit: backend.Exit{Lost: true}}, `{"kind":"exited","exitCode":null,"signal":null}`},
	} {
		if got, err := json.Marshal(statusOf(test.s)); err != nil || string(got) != test.want {
			t.Errorf("got %s, %v, want %s, for %+v", got, err, test.want, test.s)
		}
	}
}

func TestFailedTaskTellsItsCode(t *testing.T) {
	staged(t, Config{}, func(s *stage) {
		id := s.open()
		f := s.backend.Last()
		f.OnWrite(func([]byte) { begin(f, "job") })
		r := s.tool("terminal_send", fmt.Sprintf(`{"sessionId":%q,"text":"job","run_in_background":true}`, id))
		synctest.Wait()
		f.SetProbe(backend.Probe{}, errors.New("secret detail"))
		r = s.tool("task_output", fmt.Sprintf(`{"taskId":%q,"wait":true}`, r.facts["taskId"]))
		if r.isError || r.facts["status"] != "failed" || r.facts["code"] != "SESSION_LOST" || !strings.HasPrefix(r.text, "[status: failed]\n[SESSION_LOST: ") {
			s.t.Errorf("got %s, want failed with SESSION_LOST", r.raw)
		}
	})
}

func TestCloseWhileClosingSaysSo(t *testing.T) {
	staged(t, Config{}, func(s *stage) {
		id := s.open()
		f := s.backend.Last()
		f.OnTerminate(func(context.Context) (backend.Report, error) {
			time.Sleep(time.Second)
			f.End(0)
			return backend.Report{Ended: 3}, nil
		})
		for i := range 2 {
			s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"terminal_close","arguments":{"sessionId":%q}}}`, i, id))
			synctest.Wait()
		}
		want := map[string]string{
			"0": "[closed: 3 processes ended]\n[session: exited code=0 signal=null]",
			"1": "[closed by another call: 3 processes ended]\n[session: exited code=0 signal=null]",
		}
		for range 2 {
			n, r := s.answer()
			if r.text != want[n] || r.facts["killed"] != (n == "0") || r.facts["alreadyClosing"] != (n == "1") {
				s.t.Errorf("close %s: %q, facts %v; want %q", n, r.text, r.facts, want[n])
			}
		}
	})
}

// No tool has an argument for the confinement, and none is let through.
func TestNothingThatAClientSendsChangesTheMode(t *testing.T) {
	staged(t, Config{}, func(s *stage) {
		id := s.open()
		for _, field := range []string{"sandbox", "mode", "sandboxMode", "sandbox.mode", "writable", "confined"} {
			for _, call := range []struct{ tool, rest string }{
				{"terminal_open", ``},
				{"terminal_send", fmt.Sprintf(`"sessionId":%q,"text":"x",`, id)},
			} {
				r := s.tool(call.tool, fmt.Sprintf(`{%s%q:"danger-full-access"}`, call.rest, field))
				if !r.isError || r.facts["code"] != "INVALID_ARGS" || !strings.Contains(r.text, field) {
					s.t.Errorf("%s with %s: %s, want INVALID_ARGS that names it", call.tool, field, r.text)
				}
			}
		}
		if n := len(s.backend.Terminals()); n != 1 {
			s.t.Errorf("%d terminals were started", n)
		}
	})
}

func TestRowsOfTheList(t *testing.T) {
	code, name := 3, "SIGKILL"
	at := foregroundFact{Command: "python3", State: readiness.WaitingInput}
	for _, test := range []struct {
		f    sessionFacts
		want string
	}{
		{sessionFacts{SessionID: "pty-a", Status: statusFact{Kind: "running"}, Foreground: at, IdleMS: 5}, "pty-a python3 waiting_input idle 5 ms"},
		{sessionFacts{SessionID: "pty-a", Name: "n", Status: statusFact{Kind: "running"}, Foreground: at, Dir: "/x"}, "pty-a (n) python3 waiting_input /x idle 0 ms"},
		{sessionFacts{SessionID: "pty-a", Status: statusFact{Kind: "exited", ExitCode: &code}}, "pty-a exited code=3 signal=null idle 0 ms"},
		{sessionFacts{SessionID: "pty-a", Status: statusFact{Kind: "exited", Signal: &name}}, "pty-a exited code=null signal=SIGKILL idle 0 ms"},
		{sessionFacts{SessionID: "pty-a", Status: statusFact{Kind: "exited"}}, "pty-a exited code=null signal=null idle 0 ms"},
	} {
		if got := listRow(test.f); got != test.want {
			t.Errorf("got %q, want %q, for %+v", got, test.want, test.f)
		}
	}
}
