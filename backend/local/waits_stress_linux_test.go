//go:build amd64 || arm64

package local

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ptykeep/ptykeep/backend"
)

// stressProgram answers each line in one of many ways: at once, after a sleep,
// from a thread, from children that answer while it reads on already.
const stressProgram = `
import os, queue, random, sys, threading, time
work = queue.Queue()
def worker():
    while True:
        n = work.get(); spin(); say(n)
def spin():
    for _ in range(random.randrange(3000)): pass
def say(n): os.write(1, b'answer %d\n' % n)
threading.Thread(target=worker, daemon=True).start()
down, up = os.pipe()
if os.fork() == 0:
    os.close(up)
    while True:
        b = os.read(down, 4)
        if not b: os._exit(0)
        spin(); say(int.from_bytes(b, 'little'))
os.write(1, b'ready\n')
while True:
    line = b''
    while not line.endswith(b'\n'): line += os.read(0, 100)
    n, k = int(line), random.randrange(9)
    if k == 0: say(n)
    elif k == 1: time.sleep(random.random() * .003); say(n)
    elif k == 2:
        t = threading.Thread(target=lambda: (time.sleep(.001), spin(), say(n))); t.start(); t.join()
    elif k == 3: os.system('true'); say(n)
    elif k == 4: work.put(n)
    elif k == 5: os.write(up, n.to_bytes(4, 'little'))
    elif k == 6:
        if os.fork() == 0: spin(); say(n); os._exit(0)
    elif k == 7:
        p = os.fork()
        if p == 0:
            if os.fork() == 0: spin(); say(n); os._exit(0)
            os._exit(0)
        os.waitpid(p, 0)
    elif k == 8:
        threading.Thread(target=lambda: (spin(), say(n))).start()
    try:
        while os.waitpid(-1, os.WNOHANG)[0]: pass
    except ChildProcessError: pass
`

// rounds is n, or more of them with PTYKEEP_TEST_LONG=1.
func rounds(n int) int {
	if os.Getenv("PTYKEEP_TEST_LONG") == "1" {
		return 12 * n
	}
	return n
}

// TestWaitsNeverPremature sends lines and drains the terminal when it sees an
// exact wait: the answer has to be there.
func TestWaitsNeverPremature(t *testing.T) {
	python := needProgram(t, "python3")
	t.Run("quiet", func(t *testing.T) { stress(t, rounds(2000), python, "-c", stressProgram) })
	t.Run("busy", func(t *testing.T) {
		startHogs(t, 3)
		stress(t, rounds(300), python, "-c", stressProgram)
	})
}

func stress(t *testing.T, n int, argv ...string) {
	t.Helper()
	s := openSession(t, argv...)
	for s.drain(); !strings.Contains(s.out.String(), "ready"); s.drain() {
		nap(time.Millisecond)
	}
	s.until(exact, "", false)
	var looks, premature int
	for i := range n {
		s.drain()
		s.send(fmt.Sprintf("%d\r", i))
		for end := time.Now().Add(patience); ; looks++ {
			wait, _, detail := s.look()
			if wait == backend.WaitExact {
				s.drain()
				if !strings.Contains(s.out.String(), fmt.Sprintf("answer %d\r\n", i)) {
					premature++
					t.Errorf("send %d: exact (%s) before the answer; output %q", i, detail, s.out.String())
					s.awaitAnswer(i)
				}
				break
			}
			if time.Now().After(end) {
				t.Fatalf("send %d: %v (%s) and never exact; output %q", i, wait, detail, s.out.String())
			}
		}
	}
	t.Logf("%d sends, %d looks, %d premature", n, looks, premature)
}

// awaitAnswer lets a round that failed come to its end.
func (s *session) awaitAnswer(i int) {
	for end := time.Now().Add(patience); time.Now().Before(end); nap(time.Millisecond) {
		if s.drain(); strings.Contains(s.out.String(), fmt.Sprintf("answer %d\r\n", i)) {
			return
		}
	}
}

// startHogs keeps the CPUs busy until the test ends.
func startHogs(t *testing.T, n int) {
	for range n {
		hog := exec.Command(os.Args[0])
		hog.Env = append(os.Environ(), waitsHelper+"=hog", "GOMAXPROCS=1")
		if err := hog.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = hog.Process.Kill() // it runs for ever
			_ = hog.Wait()
		})
	}
}

// TestWaitsShellNeverPremature does the same with shells that start pipelines.
func TestWaitsShellNeverPremature(t *testing.T) {
	for name, argv := range map[string][]string{
		"bash":   bash,
		"dash":   {"dash", "-i"},
		"zsh":    {"zsh", "-f", "-i"},
		"script": {"bash", "--norc", "-c", "PS1=% script -qc 'bash --norc -i' /dev/null"},
	} {
		t.Run(name, func(t *testing.T) { stressShell(t, name, rounds(100), argv) })
	}
}

func stressShell(t *testing.T, name string, n int, argv []string) {
	needProgram(t, name)
	needProgram(t, argv[0])
	s := openSession(t, argv...)
	for s.drain(); s.out.Len() == 0; s.drain() {
		nap(time.Millisecond)
	}
	s.until(exact, "", false)
	commands := []string{"true | cat", "sleep .00%d", "sh -c 'sleep .00%d | cat' | cat", "(true; sleep .00%d)", "/bin/true"}
	for i := range n {
		command := strings.ReplaceAll(commands[i%len(commands)], "%d", fmt.Sprint(i%10))
		s.drain()
		s.send(fmt.Sprintf("%s; echo an'swe'r %d\r", command, i))
		for end := time.Now().Add(patience); ; {
			wait, _, detail := s.look()
			if wait == backend.WaitExact {
				s.drain()
				if !strings.Contains(s.out.String(), fmt.Sprintf("answer %d\r\n", i)) {
					t.Errorf("send %d: exact (%s) before the answer; output %q", i, detail, s.out.String())
					s.awaitAnswer(i)
				}
				break
			}
			s.drain()
			if time.Now().After(end) {
				t.Fatalf("send %d: %v (%s) and never exact; output %q", i, wait, detail, s.out.String())
			}
		}
	}
}

// TestWaitsPipelineStart: the first program of a pipeline reads the terminal
// before the shell has started the second, which then keeps the wait open.
func TestWaitsPipelineStart(t *testing.T) {
	for name, argv := range map[string][]string{"bash": bash, "dash": {"dash", "-i"}, "zsh": {"zsh", "-f", "-i"}} {
		t.Run(name, func(t *testing.T) {
			needProgram(t, name)
			s := startSession(t, argv...)
			s.until(exact, name, false)
			const pause = 30 * time.Millisecond
			for i := range rounds(30) {
				sent := time.Now()
				s.send("cat | sleep .03\r")
				s.until(exact, "cat", false)
				if d := time.Since(sent); d < pause {
					t.Fatalf("round %d: exact after %v, while sleep has %v to run", i, d, pause)
				}
				s.send("x\r") // ends cat with SIGPIPE
				s.until(exact, name, false)
			}
		})
	}
}

// BenchmarkWaitsLook looks at a shell at its prompt and at programs in it.
func BenchmarkWaitsLook(b *testing.B) {
	for _, p := range []struct {
		name, send, by string
		want           backend.Wait
	}{
		{"bash", "", "bash", exact},
		{"cat", "cat\r", "cat", exact},
		{"sleep", "sleep 60\r", "sleep", none},
		{"cat-cat", "cat | cat\r", "cat", exact},
		{"node", "node -e 'process.stdin.on(\"data\",()=>{})'\r", "node", exact},
		{"script", "script -qc cat /dev/null\r", "cat", exact},
	} {
		b.Run(p.name, func(b *testing.B) {
			needProgram(b, strings.TrimSuffix(p.name, "-cat"))
			s := startSession(b, bash...)
			s.until(exact, "", false)
			if p.send != "" {
				s.send(p.send)
			}
			s.until(p.want, p.by, false)
			pgid := s.foreground()
			b.ReportAllocs()
			b.ResetTimer()
			misses := 0
			for b.Loop() {
				if wait, _, _ := s.waits.look(pgid); wait != p.want {
					misses++
				}
			}
			b.ReportMetric(float64(misses), "misses")
		})
	}
}
