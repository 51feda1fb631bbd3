package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestProgramStartsClean starts a server that was itself started untidily, and
// looks at what its programs get of that: what the operator set stays, what
// belongs to a process does not.
func TestProgramStartsClean(t *testing.T) {
	need(t, "sh", "cat", "bash")
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("needs /proc")
	}
	for _, mode := range []string{"workspace-write", "danger-full-access"} {
		t.Run(mode, func(t *testing.T) {
			g := newGround(t, false)
			// bash ignores what sh is told to; a descriptor, a mask and limits on top.
			cmd := g.command("bash", "-c", `trap "" HUP INT QUIT TERM PIPE TSTP TTIN TTOU USR1 USR2 CHLD ALRM
				umask 027; ulimit -Sn 321; ulimit -Sc 0; exec 7<. 9</dev/null
				exec "$0" mcp --sandbox-mode "$1"`, binary, mode)
			s := startAsIs(t, cmd)
			open(t, s)
			run := func(script string) string {
				t.Helper()
				return s.must(t, "terminal_open", map[string]any{"command": []string{"sh", "-c", script}}).body()
			}
			status := run(`cat /proc/self/status`)
			for _, want := range []string{"SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000", "Umask:\t0027"} {
				// The terminal shows tabs as columns.
				name, value, _ := strings.Cut(want, "\t")
				if !hasField(status, name, value) {
					t.Errorf("got %s, want %s in it", status, want)
				}
			}
			if got := run(`ulimit -Sn; ulimit -Sc; umask`); got != "321\n0\n0027" {
				t.Errorf("limits and mask: got %q, want those of the server before Go raised its own", got)
			}
			if got := run(`ls /proc/$$/fd`); strings.Join(strings.Fields(got), " ") != "0 1 2" {
				t.Errorf("descriptors: got %q, want 0 1 2", got)
			}
			// Its own session and group, in front of its own terminal.
			stat := run(`read -r pid comm state ppid pgrp sid tty tpgid rest </proc/$$/stat
				[ "$pid $pid $pid" = "$pgrp $sid $tpgid" ] && [ "$tty" != 0 ] && echo leader
				for i in 0 1 2; do readlink /proc/$$/fd/$i; done; tty`)
			lines := strings.Split(stat, "\n")
			if len(lines) != 5 || lines[0] != "leader" || lines[1] != lines[2] || lines[2] != lines[3] || lines[3] != lines[4] {
				t.Errorf("terminal: got %q, want the leader of a session on one terminal", stat)
			}
			if got := run(`pwd; readlink /proc/$$/root`); got != g.workspace+"\n/" {
				t.Errorf("directory: got %q", got)
			}
		})
	}
}

// hasField reports whether a line of /proc/PID/status says so.
func hasField(status, name, value string) bool {
	for _, line := range strings.Split(status, "\n") {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name && f[1] == value {
			return true
		}
	}
	return false
}

// TestEnvironmentOfAProgram holds the whole environment that a server with an
// environment of many kinds passes on.
func TestEnvironmentOfAProgram(t *testing.T) {
	need(t, "env")
	g := newGround(t, false)
	g.env = append(g.env, "PLAIN=1", "MY_API_KEY=canary", "DB_PASSWORD=canary", "GH_TOKEN=canary", "AWS_SECRET_ACCESS=canary", "PGPASS=canary",
		"SOME_CREDENTIALS=canary", "GIT_PAT=canary", "PTYKEEP_COLS=90", "TMUX=x", "STY=x", "COLUMNS=3", "LINES=3", "TERM_PROGRAM=x", "VTE_VERSION=1",
		"LET_TOKEN=through", "LC_ALL=C.UTF-8")
	s := g.server(t, "--env-passthrough", "LET_TOKEN", "--env-set", "OPERATORS_TOKEN=set")
	open(t, s)
	r := s.must(t, "terminal_open", map[string]any{"command": []string{"env"}, "env": map[string]any{"CLIENTS_KEY": "given"}})
	got := map[string]string{}
	for _, line := range strings.Split(r.body(), "\n") {
		name, value, _ := strings.Cut(line, "=")
		got[name] = value
	}
	if strings.Contains(r.body(), "canary") {
		t.Errorf("a secret is passed on: %s", r.text)
	}
	want := map[string]string{
		"PLAIN": "1", "LET_TOKEN": "through", "OPERATORS_TOKEN": "set", "CLIENTS_KEY": "given", "LC_ALL": "C.UTF-8",
		"PAGER": "cat", "GIT_PAGER": "cat", "HOME": g.home, "SHELL": "/bin/bash", "TMPDIR": g.temp, "W": g.workspace, "T": g.temp, "H": g.home,
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s: got %q, want %q", name, got[name], value)
		}
		delete(got, name)
	}
	for _, name := range []string{"PATH", "TERM", "PTYKEEP_SESSION", "XDG_CACHE_HOME", "GOCACHE", "npm_config_cache", "HISTFILE"} {
		if got[name] == "" {
			t.Errorf("%s is not set", name)
		}
		delete(got, name)
	}
	delete(got, "PWD") // the shell that starts env may set it
	if len(got) > 0 {
		t.Errorf("more is passed on: %v", got)
	}
}

// TestNothingSecretIsLogged lets a server log all it can, at both formats, while
// secrets pass through it in every way there is.
func TestNothingSecretIsLogged(t *testing.T) {
	need(t, "bash", "python3", "cat")
	canaries := map[string]string{
		"typed": "CANARYTYPED1", "hidden": "CANARYHIDDEN2", "output": "CANARYOUTPUT3", "environment": "CANARYENVIRON4",
		"given environment": "CANARYGIVEN5", "keys": "CANARYKEYS6", "argument": "CANARYARG7", "title": "CANARYTITLE8",
		"unread": "CANARYUNREAD9", "background": "CANARYTASK10", "search": "CANARYSEARCH11", "invalid": "CANARYINVALID12", "line": "CANARYLINE13",
	}
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			g := newGround(t, false)
			g.env = append(g.env, "SERVERS_TOKEN="+canaries["environment"], "PLAIN_VALUE="+canaries["environment"])
			s := g.server(t, "--log-level", "debug", "--log-format", format, "--dispose-grace-ms", "200")
			id := open(t, s)
			send := func(args map[string]any) {
				args["sessionId"] = id
				if r, err := s.tool("terminal_send", args); err != nil || r.rpcError != "" {
					t.Fatalf("%v: %v, %s", args, err, r.rpcError)
				}
			}
			send(map[string]any{"text": "echo " + canaries["typed"]})
			send(map[string]any{"text": `python3 -c 'import getpass; print(len(getpass.getpass()))'`})
			send(map[string]any{"text": canaries["hidden"]})
			send(map[string]any{"text": `echo ` + strings.ReplaceAll(canaries["output"], "Y", "Y''") + `; echo "$PLAIN_VALUE"`})
			send(map[string]any{"text": `printf '\033]2;` + canaries["title"] + `\007'`})
			send(map[string]any{"keys": strings.Split(canaries["keys"], "")})
			send(map[string]any{"keys": []string{"C-c"}})
			send(map[string]any{"text": canaries["invalid"] + "\x01"})
			send(map[string]any{"text": strings.Repeat(canaries["line"], 400)})
			send(map[string]any{"text": "\x03", "submit": false})
			send(map[string]any{"text": "true", "until": canaries["search"] + "("})
			send(map[string]any{"text": "sleep 600", "timeoutMs": 300})
			send(map[string]any{"text": canaries["unread"], "timeoutMs": 0})
			s.must(t, "terminal_signal", map[string]any{"sessionId": id, "signal": "SIGINT"})
			send(map[string]any{"text": "echo " + canaries["background"], "run_in_background": true})
			s.must(t, "terminal_read", map[string]any{"sessionId": id, "search": canaries["search"]})
			s.must(t, "terminal_open", map[string]any{"command": []string{"bash", "-c", "cat; exit 3", canaries["argument"]},
				"env": map[string]any{"GIVEN_SECRET": canaries["given environment"]}, "timeoutMs": 100})
			for _, bad := range []map[string]any{
				{"command": []string{"/no/such/" + canaries["argument"]}, "env": map[string]any{"K": canaries["given environment"]}},
				{"env": map[string]any{"": canaries["given environment"]}},
				{"text": canaries["typed"], "unknown": canaries["invalid"]},
			} {
				if r, err := s.tool("terminal_open", bad); err != nil || !r.isError {
					t.Errorf("%v: %v, %s", bad, err, r.text)
				}
			}
			for _, line := range []string{
				`{"jsonrpc":"2.0","method":"tools/call","params":{"x":"` + canaries["typed"] + `"}`, // cut off
				`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":"` + canaries["typed"] + `"}`,
				`{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":7,"arguments":{"text":"` + canaries["typed"] + `"}}}`,
				`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"` + canaries["typed"] + `"}}`,
				`{"jsonrpc":"2.0","id":"d","method":"initialize","params":{"protocolVersion":["` + canaries["typed"] + `"]}}`,
			} {
				if err := s.write(line); err != nil {
					t.Fatal(err)
				}
				if _, err := s.readLine(); err != nil {
					t.Fatal(err)
				}
			}
			for _, notice := range []string{
				`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":["` + canaries["typed"] + `"],"reason":"` + canaries["typed"] + `"}}`,
				`{"jsonrpc":"2.0","id":"none","result":{"x":"` + canaries["typed"] + `"}}`,
			} {
				if err := s.write(notice); err != nil {
					t.Fatal(err)
				}
			}
			s.must(t, "terminal_close", map[string]any{"sessionId": id})
			_ = s.in.Close() // seen by its exit
			if code, err := s.exit(); err != nil || code != 0 {
				t.Errorf("exit: %d, %v", code, err)
			}
			if !strings.Contains(s.log(), "DEBUG") {
				t.Errorf("nothing was logged, so this shows nothing:\n%s", s.log())
			}
			for what, canary := range canaries {
				if strings.Contains(s.log(), canary) {
					t.Errorf("%s is in the log:\n%s", what, s.log())
				}
			}
			// Neither is it in a file.
			for _, dir := range []string{g.workspace, g.temp, g.home} {
				out, _ := exec.Command("grep", "-rlE", "CANARY", dir).CombinedOutput() // 1: nothing found
				if len(out) > 0 {
					t.Errorf("on disk: %s", out)
				}
			}
		})
	}
}
