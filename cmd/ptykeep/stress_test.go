//go:build linux && (amd64 || arm64)

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// answerer answers each line "N HOW PAUSES SEPS" with one piece of text a
// pause, in microseconds, and in one of many ways. In most of them it reads
// the terminal again while somebody else of it still works on the answer. With
// the argument "prompt" it reads with readline, and has drawn its prompt when
// the answer is complete.
const answerer = `
import os, queue, sys, threading, time
prompt = 'say> ' if sys.argv[1:] == ['prompt'] else ''
if prompt: import readline
done, finished = os.pipe()
seps = {'-': '', 's': ' ', 'n': '\n', 'p': '\nsay> '}

def say(pieces):
    for pause, text in pieces:
        if pause: time.sleep(pause / 1e6)
        os.write(1, text.encode())
    if prompt: os.write(finished, b'.')
def shell(pieces):
    return '; '.join("sleep %f; printf '%s'" % (p / 1e6, t.replace('\n', '\\n')) for p, t in pieces)
def fork(f, *args):
    pid = os.fork()
    if pid == 0: f(*args); os._exit(0)
    return pid
def thread(f, *args):
    t = threading.Thread(target=f, args=args)
    t.start()
    return t

work = queue.Queue()
def serve():
    while True: say(work.get())
threading.Thread(target=serve, daemon=True).start()
down, up = os.pipe()
def serve_child():
    os.close(up)
    for line in os.fdopen(down): say(eval(line))
fork(serve_child)

def relay(pieces): # each piece comes from a process of its own, which has ended when the next one writes
    if len(pieces) == 1: say(pieces)
    else:
        time.sleep(pieces[0][0] / 1e6)
        os.write(1, pieces[0][1].encode())
        fork(relay, pieces[1:])
def halves(pieces):
    time.sleep(pieces[0][0] / 1e6)
    os.write(1, pieces[0][1].encode())
    fork(say, pieces[1:]) if pieces[1:] else say([])
hows = {
    'main': say,
    'worker': work.put,
    'thread': lambda p: thread(say, p),
    'joined': lambda p: thread(say, p).join(),
    'child': lambda p: fork(say, p),
    'waited': lambda p: os.waitpid(fork(say, p), 0),
    'double': lambda p: os.waitpid(fork(fork, say, p), 0),
    'adopted': lambda p: fork(fork, fork, say, p),
    'piped': lambda p: os.write(up, (repr(p) + '\n').encode()),
    'system': lambda p: os.system(shell(p)),
    'job': lambda p: os.system('{ ' + shell(p) + '; } &'),
    'pipeline': lambda p: os.system('{ ' + shell(p) + '; } | cat | cat'),
    'relay': lambda p: fork(relay, p),
    'halves': lambda p: thread(halves, p),
}
while True:
    line = b'' if not prompt else input(prompt).encode()
    while not prompt and not line.endswith(b'\n'): line += os.read(0, 1000)
    n, how, pauses, ends = line.decode().split()
    pieces = [(int(p), '%s.%d,%s' % (n, i, seps[s])) for i, (p, s) in enumerate(zip(pauses.split(','), ends))]
    pieces[-1] = pieces[-1][0], '[%s]%s' % (n, seps[ends[-1]])
    hows[how](pieces)
    if prompt and how not in ('system', 'pipeline'): os.read(done, 1)
    try:
        while os.waitpid(-1, os.WNOHANG)[0]: pass
    except ChildProcessError: pass
`

// answererWays are the ways of answerer; 'job' does not tell when it is done.
var answererWays = []string{
	"main", "worker", "thread", "joined", "child", "waited", "double", "adopted",
	"piped", "system", "pipeline", "relay", "halves", "job",
}

// question is a text to send and what has to come of it.
type question struct {
	text, body string
	exit       any // nil: none is told
}

// askAnswerer makes a question to answerer.
func askAnswerer(rnd *rand.Rand, n int, prompt bool) question {
	ways, between, ends := answererWays, "sn-", "n-"
	if prompt {
		ways, between = ways[:len(ways)-1], "snp"
	}
	var pauses []string
	var seps, body strings.Builder
	for i, last := 0, rnd.IntN(4); i <= last; i++ {
		pause := []int{0, 0, rnd.IntN(300), rnd.IntN(3000)}[rnd.IntN(4)]
		if i == last && rnd.IntN(8) == 0 {
			pause = rnd.IntN(60000) // a last byte that comes late
			if rnd.IntN(8) == 0 {
				pause *= 8
			}
		}
		sep, text := between[rnd.IntN(len(between))], fmt.Sprintf("%d.%d,", n, i)
		if i == last {
			sep, text = ends[rnd.IntN(len(ends))], fmt.Sprintf("[%d]", n)
		}
		pauses = append(pauses, fmt.Sprint(pause))
		seps.WriteByte(sep)
		body.WriteString(text + map[byte]string{'s': " ", 'n': "\n", 'p': "\nsay> "}[sep])
	}
	q := question{text: fmt.Sprintf("%d %s %s %s", n, ways[rnd.IntN(len(ways))], strings.Join(pauses, ","), &seps)}
	if prompt {
		body.WriteString("say>")
	}
	q.body = strings.TrimSuffix(body.String(), "\n")
	return q
}

// askBash makes a command line of pipelines, jobs and subshells.
func askBash(rnd *rand.Rand, n int) question {
	nap := fmt.Sprintf("sleep .0%02d", rnd.IntN(12))
	exit := rnd.IntN(3) * rnd.IntN(128)
	end := fmt.Sprintf("[%d]", n)
	command, body := "", "1\n"+end
	switch rnd.IntN(10) {
	case 0:
		command = fmt.Sprintf("echo 1 | cat; %s | cat; echo %s | cat", nap, end)
	case 1:
		command = fmt.Sprintf("(echo 1; %s; echo %s)", nap, end)
	case 2:
		command = fmt.Sprintf("sh -c 'echo 1; %s; printf %%s %s' | cat | cat", nap, end)
	case 3:
		command = fmt.Sprintf("({ echo 1; %s; echo %s; } & wait)", nap, end)
	case 4:
		command = fmt.Sprintf("for i in 1 %s; do %s; echo $i; done | while read -r x; do echo $x; done", end, nap)
	case 5:
		command = fmt.Sprintf("bash -c '(echo 1; %s; (%s; echo %s) & wait) & wait'", nap, nap, end)
	case 6:
		command = fmt.Sprintf("printf '1\\n'; printf '['; %s; printf %d; %s; printf ']'", nap, n, nap)
	case 7:
		command = fmt.Sprintf("echo 1\n%s\necho %s", nap, end) // one paste
	case 8:
		command = fmt.Sprintf("{ echo $(%s; echo 1); %s; echo %s; } > /dev/tty | cat", nap, nap, end)
	case 9:
		command = fmt.Sprintf("(%s & %s & exec sh -c 'echo 1; %s; echo %s; wait')", nap, nap, nap, end)
	}
	return question{text: fmt.Sprintf("%s; (exit %d)", command, exit), body: body, exit: float64(exit)}
}

// talk is a session that is asked questions.
type talk struct {
	id  any
	ask func(n int) question
}

// stress is a server and what makes its questions.
type stress struct {
	*stdioServer
	rnd      *rand.Rand
	answerer string // its file
}

// program opens a session of answerer alone.
func (s stress) program(t *testing.T, args ...string) talk {
	r := s.must(t, "terminal_open", map[string]any{"command": append([]string{"python3", "-W", "ignore", s.answerer}, args...)})
	return talk{r.facts["sessionId"], func(n int) question { return askAnswerer(s.rnd, n, len(args) > 0) }}
}

// inShell opens a shell and runs answerer in it.
func (s stress) inShell(t *testing.T) talk {
	k := s.shell(t)
	s.must(t, "terminal_send", map[string]any{"sessionId": k.id, "text": "python3 -W ignore " + s.answerer})
	k.ask = func(n int) question { return askAnswerer(s.rnd, n, false) }
	return k
}

func (s stress) shell(t *testing.T) talk {
	id := s.must(t, "terminal_open", nil).facts["sessionId"]
	return talk{id, func(n int) question { return askBash(s.rnd, n) }}
}

// TestSendNeverPremature sends lines to programs that answer in pieces, late and
// from elsewhere: each send has to return with all of its own answer, and with
// nothing of an earlier one.
func TestSendNeverPremature(t *testing.T) {
	need(t, "python3", "bash", "sh")
	file := filepath.Join(t.TempDir(), "answerer.py")
	if err := os.WriteFile(file, []byte(answerer), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		busy bool
		n    int // questions to each
		open func(t *testing.T, s stress) []talk
	}{
		{"program", false, times(500, 12), func(t *testing.T, s stress) []talk { return []talk{s.program(t)} }},
		{"program in shell", false, times(250, 12), func(t *testing.T, s stress) []talk { return []talk{s.inShell(t)} }},
		{"readline", false, times(250, 12), func(t *testing.T, s stress) []talk { return []talk{s.program(t, "prompt")} }},
		{"shell", false, times(200, 12), func(t *testing.T, s stress) []talk { return []talk{s.shell(t)} }},
		{"parallel", false, times(20, 12), func(t *testing.T, s stress) []talk {
			return []talk{s.program(t), s.inShell(t), s.program(t, "prompt"), s.shell(t), s.program(t), s.shell(t)}
		}},
		{"busy program", true, times(100, 15), func(t *testing.T, s stress) []talk { return []talk{s.program(t)} }},
		{"busy parallel", true, times(25, 15), func(t *testing.T, s stress) []talk {
			return []talk{s.program(t), s.inShell(t), s.program(t, "prompt"), s.shell(t)}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.busy {
				startHogs(t, runtime.NumCPU()+1)
			}
			// Nothing may be concluded from silence here: a wait that is not
			// seen is a failure.
			cmd := exec.Command(binary, "mcp", "--shell", "/bin/bash", "--shell-args=--norc", "--idle-silence-ms", "600000")
			cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "HOME="+t.TempDir())
			seed := rand.Uint64()
			s := stress{start(t, cmd), rand.New(rand.NewPCG(seed, 1)), file}
			talks := test.open(t, s)
			began := time.Now()
			for n := range test.n {
				if wrong := s.askAll(t, talks, n+1); wrong != "" {
					t.Fatalf("seed %d, send %d, %s", seed, n+1, wrong)
				}
			}
			t.Logf("seed %d: %d sends in %v, none premature", seed, test.n*len(talks), time.Since(began).Round(time.Millisecond))
		})
	}
}

// times is n, or factor times of it with PTYKEEP_TEST_LONG=1.
func times(n, factor int) int {
	if os.Getenv("PTYKEEP_TEST_LONG") == "1" {
		return factor * n
	}
	return n
}

// askAll asks a question in each session, all at the same time, and says what is
// wrong with an answer.
func (s stress) askAll(t *testing.T, talks []talk, n int) string {
	t.Helper()
	questions, ids := make([]question, len(talks)), make([]int, len(talks))
	for i, k := range talks {
		questions[i] = k.ask(n)
		var err error
		if ids[i], err = s.begin("tools/call", map[string]any{"name": "terminal_send", "arguments": map[string]any{
			"sessionId": k.id, "text": questions[i].text, "timeoutMs": patience.Milliseconds() * 9 / 10,
		}}); err != nil {
			t.Fatal(err)
		}
	}
	for i, q := range questions {
		raw, rpcError, err := s.await("tools/call", ids[i])
		if err != nil || rpcError != "" {
			return fmt.Sprintf("%q: %v, %s", q.text, err, rpcError)
		}
		r, err := parseReply(raw)
		if err != nil {
			t.Fatal(err)
		}
		f := r.facts
		if f["waitReason"] != "stdin_read" || r.body() != q.body || f["missedLines"] != nil || f["unreadBytes"] != nil || f["exitCode"] != q.exit {
			later := s.must(t, "terminal_send", map[string]any{"sessionId": talks[i].id, "until": fmt.Sprintf(`\[%d\]`, n), "timeoutMs": 2000})
			return fmt.Sprintf("%q:\ngot  %q, exit %v, %v\nwant %q, exit %v, stdin_read, nothing missed\nlater %q",
				q.text, r.body(), f["exitCode"], f, q.body, q.exit, later.text)
		}
	}
	return ""
}

// startHogs keeps the CPUs busy until the test ends, whatever way it ends.
func startHogs(t *testing.T, n int) {
	for range n {
		hog := exec.Command("sh", "-c", `while kill -0 "$0"; do :; done`, fmt.Sprint(os.Getpid()))
		if err := hog.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = hog.Process.Kill() // it runs for ever
			_ = hog.Wait()
		})
	}
}
