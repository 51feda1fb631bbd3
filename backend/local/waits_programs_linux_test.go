//go:build amd64 || arm64

package local

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ptykeep/ptykeep/backend"
)

// step types something and says what is to be seen then.
type step struct {
	send string
	text string // has to come first
	want backend.Wait
	by   string // beginning of the detail
}

const (
	exact  = backend.WaitExact
	timed  = backend.WaitTimed
	open   = backend.WaitOpen
	none   = backend.WaitNone
	busy   = backend.WaitBusy
	halted = backend.WaitStopped
)

var bash = []string{"bash", "--norc", "--noprofile", "-i"}

// programs are real programs; the first step begins at the prompt of bash, or
// at the start of argv.
var programs = []struct {
	name  string
	needs string
	argv  []string
	steps []step
}{
	{"bash", "bash", bash, []step{{"", "$ ", exact, "bash select fd 0"}, {"true\r", "$ ", exact, "bash select fd 0"}}},
	{"dash", "dash", []string{"dash", "-i"}, []step{{"", "$ ", exact, "dash read fd 0"}}},
	{"zsh", "zsh", []string{"zsh", "-f", "-i"}, []step{{"", "", exact, "zsh read fd 1"}, {"sleep 9\r", "", none, "sleep"}}},
	{"fish", "fish", []string{"fish", "-N"}, []step{{"", "# ", exact, "fish"}, {"sleep 9\r", "", none, "sleep"}}},
	{"cat", "cat", bash, []step{{"cat\r", "", exact, "cat read fd 0"}, {"x\r", "x\r\nx", exact, "cat read fd 0"}}},
	{"read", "bash", bash, []step{{"read x\r", "", exact, "bash read fd 0"}}},
	{"read -s", "bash", bash, []step{{"read -s x\r", "", exact, "bash read fd 0"}}},
	{"read -e", "bash", bash, []step{{"read -e x\r", "", exact, "bash select fd 0"}}},
	{"read -n1", "bash", bash, []step{{"read -n1 x\r", "", exact, "bash read fd 0"}}},
	{"read -t", "bash", bash, []step{{"read -t 9 x\r", "", timed, "bash select fd 0 with a timer"}}},
	{"select", "bash", bash, []step{{"select x in a b; do echo; done\r", "#? ", exact, "bash read fd 0"}}},
	{"here document", "bash", bash, []step{{"cat <<E\r", "> ", exact, "bash select fd 0"}}},
	{"sort", "sort", bash, []step{{"sort\r", "", exact, "sort read fd 0"}}},
	{"tee", "tee", bash, []step{{"tee /dev/null\r", "", exact, "tee read fd 0"}}},
	{"bc", "bc", bash, []step{{"bc -q\r", "", exact, "bc"}, {"1+1\r", "2", exact, "bc"}}},
	{"ed", "ed", bash, []step{{"ed\r", "", exact, "ed read fd 0"}}},
	{"perl", "perl", bash, []step{{"perl -e '$x=<STDIN>'\r", "", exact, "perl read fd 0"}}},
	{"cat|cat", "cat", bash, []step{{"cat | cat\r", "", exact, "cat read fd 0"}, {"x\r", "x\r\nx", exact, "cat read fd 0"}}},
	{"xargs -p", "xargs", bash, []step{{"echo a | xargs -p echo\r", "?...", exact, "xargs read fd 3"}}},
	{"sqlite3", "sqlite3", bash, []step{{"sqlite3\r", "sqlite> ", exact, "sqlite3"}, {".system sleep 9\r", "", none, ""}}},
	{"gdb", "gdb", bash, []step{{"gdb -q -nx\r", "(gdb) ", exact, "gdb poll fd 0"}, {"shell sleep 9\r", "", none, ""}}},
	{"less", "less", bash, []step{{"less /etc/passwd\r", "\x1b[7m", exact, "less read fd"}}},
	{"vim", "vim", bash, []step{{"vim -u NONE -i NONE\r", "~", timed, "vim select fd 0"}, {":!sleep 9\r", "", none, "vim"}}},
	{"script", "script", bash, []step{{"script -qc 'bash --norc' /dev/null\r", "\x1b[?2004hbash", exact, "bash select fd 0 of an inner"},
		{"sleep 9\r", "", none, "sleep"}}},
	{"script twice", "script", bash, []step{{"script -qc 'script -qc cat /dev/null' /dev/null\r", "", exact, "cat read fd 0 of an inner"}}},
	{"script sleep", "script", bash, []step{{"script -qc 'sleep 9' /dev/null\r", "", none, "sleep"}}},
	{"expect", "expect", bash, []step{{"expect -c 'spawn -noecho cat; interact'\r", "", exact, "cat read fd 0 of an inner"}}},
	{"rlwrap", "rlwrap", bash, []step{{"rlwrap cat\r", "", exact, "cat read fd 0 of an inner"}}},

	{"su -c", "su", bash, []step{{"su -c cat\r", "", exact, "cat read fd 0"}, {"x\r", "x\r\nx", exact, "cat read fd 0"}}},
	{"su -c sleep", "su", bash, []step{{"su -c 'sleep 9'\r", "", none, "su wait"}}},
	{"sudo", "sudo", bash, []step{{"sudo bash --norc -c 'read -p na''me: x; sleep 9'\r", "name:", exact, "bash read fd 0"}, {"x\r", "", none, ""}}},
	{"sudo sleep", "sudo", bash, []step{{"sudo sleep 9\r", "", none, "s"}}},

	{"sleep", "sleep", bash, []step{{"sleep 9\r", "", none, "sleep sleep"}, {"\x1a", "Stopped", exact, "bash"}}},
	{"sleep|cat", "cat", bash, []step{{"sleep 9 | cat\r", "", none, ""}}},
	{"sleep|cat|cat", "cat", bash, []step{{"sleep 9 | cat | cat\r", "", none, ""}}},
	{"cat|sleep", "cat", bash, []step{{"cat | sleep 9\r", "", open, "cat read fd 0; sleep"}}},
	{"dash cat|sleep", "dash", []string{"dash", "-i"}, []step{{"", "$ ", exact, ""}, {"cat | sleep 9\r", "", open, "cat read fd 0"}}},
	{"cat < <(sleep)", "cat", bash, []step{{"cat < <(sleep 9)\r", "", none, ""}}},
	{"xargs from pipe", "xargs", bash, []step{{"echo 9 | xargs sleep\r", "", none, ""}}},
	{"tail -f", "tail", bash, []step{{"tail -f /etc/passwd\r", "bin/", none, "tail"}}},
	{"wait", "bash", bash, []step{{"sleep 9 & wait\r", "", none, "bash wait"}}},
	{"loop", "bash", bash, []step{{"while :; do sleep .1; done\r", "", none, "sleep"}}},
	{"busy", "bash", bash, []step{{"while :; do :; done\r", "", busy, "bash running"}}},
	{"fifo", "mkfifo", bash, []step{{"mkfifo ~/f; cat ~/f\r", "", none, ""}}},
	{"orphan in group", "sh", bash, []step{{"sh -c '(sleep 9 &) ; cat'\r", "", open, "cat read fd 0; sleep"}}},
	{"daemon", "setsid", bash, []step{{"setsid -f sleep 9; cat\r", "", exact, "cat read fd 0"}}},
	{"job", "bash", bash, []step{{"sleep 9 &\r", "$ ", exact, "bash select"}}},
	{"stopped", "sh", bash, []step{{"sh -c 'kill -STOP $$' & fg\r", "Stopped", exact, "bash select"}}},
}

// TestPrograms looks at programs of whose state nobody doubts.
func TestWaitsPrograms(t *testing.T) {
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) { runSteps(t, p.needs, p.argv, p.steps) })
	}
}

func runSteps(t *testing.T, needs string, argv []string, steps []step) {
	t.Helper()
	needProgram(t, needs)
	s := startSession(t, argv...)
	if steps[0].send != "" {
		s.until(exact, "", false)
	}
	for _, st := range steps {
		if st.send != "" {
			s.send(st.send)
		}
		s.expect(st.text)
		// On the way there must be no exact wait, unless there is one between:
		// the inner program's, or the shell's that starts it.
		running := st.want != exact && st.want != timed
		_, detail := s.until(st.want, st.by, running)
		t.Logf("%q: %v (%s)", strings.TrimSpace(st.send), st.want, detail)
		if running {
			s.stays(100 * time.Millisecond)
		}
	}
}

// TestWaitsPython is a REPL, questions, and a program that sleeps.
func TestWaitsPython(t *testing.T) {
	py := []string{"python3", "-q"}
	for name, steps := range map[string][]step{
		"repl": {{"", ">>> ", exact, "python"}, {"1+1\r", "2", exact, "python"},
			{"import time; time.sleep(9)\r", "", none, "python"}},
		"system":  {{"", ">>> ", exact, ""}, {"import os; os.system('sleep 9')\r", "", none, ""}},
		"input":   {{"", ">>> ", exact, ""}, {"input('name? ')\r", "\nname? ", exact, "python"}},
		"getpass": {{"", ">>> ", exact, ""}, {"import getpass; getpass.getpass()\r", "Password: ", exact, "python"}},
		"thread": {{"", ">>> ", exact, ""},
			{"import threading as h,time; h.Thread(target=time.sleep,args=(9,)).start()\r", ">>> ", open, "python"}},
	} {
		t.Run(name, func(t *testing.T) { runSteps(t, "python3", py, steps) })
	}
}

// TestWaitsNode is an event loop: it waits in epoll for a terminal that it has
// opened anew, with threads beside it.
func TestWaitsNode(t *testing.T) {
	node := func(script string) string { return "node -e \"" + script + "\"\r" }
	for name, steps := range map[string][]step{
		"readline": {{node("require('readline').createInterface(process.stdin,process.stdout).question('name? ',()=>{})"),
			"0Jname? ", exact, "node epoll"}},
		"stdin":  {{node("process.stdin.on('data',console.log);console.log('re'+'ady')"), "ready", exact, "node epoll"}},
		"timer":  {{node("process.stdin.on('data',console.log);setInterval(()=>{},5000);console.log('re'+'ady')"), "ready", timed, "node epoll"}},
		"server": {{node("require('http').createServer().listen(0,()=>console.log('re'+'ady'))"), "ready", none, "node"}},
		"both": {{node("process.stdin.on('data',console.log);require('http').createServer().listen(0,()=>console.log('re'+'ady'))"),
			"ready", open, "node epoll"}},
	} {
		t.Run(name, func(t *testing.T) { runSteps(t, "node", bash, steps) })
	}
}

// TestWaitsHelpers are programs that are hard to find ready-made.
func TestWaitsHelpers(t *testing.T) {
	for name, want := range map[string]step{
		"read":       {want: exact, by: "local.test read fd 0"},
		"readv":      {want: exact, by: "local.test read fd 0"},
		"devtty":     {want: exact, by: "local.test read fd"},
		"threads":    {want: exact, by: "local.test read fd 0"},
		"timer":      {want: timed, by: "local.test read fd 0; local.test "},
		"uring":      {want: exact, by: "local.test io_uring fd"},
		"uringtimer": {want: open, by: "local.test io_uring fd"},
		"work":       {want: open, by: "local.test read fd 0; local.test running"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("RUN_HELPER", name)
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			s := startSession(t, self)
			s.expect("ready")
			by := strings.ReplaceAll(want.by, "local.test", selfName(s))
			_, detail := s.until(want.want, by, want.want != exact)
			t.Log(detail)
			if want.want != exact {
				s.stays(100 * time.Millisecond)
			}
		})
	}
}

// selfName is the test binary's name as the kernel has it.
func selfName(s *session) string {
	return strings.TrimSpace(s.waits.proc.name(s.root))
}

// TestWaitsStopped: a stopped reader's call looks like that of one that waits.
func TestWaitsStopped(t *testing.T) {
	s := startSession(t, "cat")
	pid, _ := s.until(exact, "cat read fd 0", false)
	signalProcess(t, pid, "STOP")
	s.until(halted, "cat", false)
	signalProcess(t, pid, "CONT")
	s.until(exact, "cat read fd 0", false)
}
