package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// The benchmarks below send one expression over and over, in turns with two
// floors: the same program on a bare pseudo-terminal, read until its next
// prompt, and a call that does nothing (terminal_list), the round trip. They
// report the medians of the three, and bound: what the contract allows (twice
// the sum of the floors, and half a millisecond; node 5 ms more) in units of
// what the send took. Above 1 is within the bound. ns/op is the sum of all
// three.

func BenchmarkSendTrue(b *testing.B) {
	benchSend(b, []string{"bash", "--norc"}, "true", "\x1b[?2004hbench> ", 0)
}

func BenchmarkSendPython(b *testing.B) {
	benchSend(b, []string{"python3", "-q"}, "1+1", ">>> ", 0)
}

func BenchmarkSendGdb(b *testing.B) {
	benchSend(b, []string{"gdb", "-q", "-nx"}, "print 1+1", "(gdb) ", 0)
}

func BenchmarkSendNode(b *testing.B) {
	benchSend(b, []string{"node"}, "1+1", "> \x1b[3G", 5*time.Millisecond)
}

// BenchmarkCloseIdle closes a shell at its prompt: at most 20 ms.
func BenchmarkCloseIdle(b *testing.B) {
	benchClose(b, 20*time.Millisecond, "")
}

// BenchmarkCloseHostile closes a shell with 200 processes that ignore what asks
// them to end: at most a second after the grace.
func BenchmarkCloseHostile(b *testing.B) {
	benchClose(b, benchGrace+time.Second, `bash -c 'trap "" TERM HUP; for i in $(seq 200); do sleep 4321 & done; echo all; exec sleep 4321'`)
}

// benchGrace is less than the default, which would only make the benchmark long.
const benchGrace = 500 * time.Millisecond

// benchClose reports the median of a close, and bound over it: above 1 is
// within the bound.
func benchClose(b *testing.B, bound time.Duration, fill string) {
	if gone, err := missing("bash"); err != nil {
		b.Fatal(err)
	} else if gone {
		b.Skip("needs bash")
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.TempDir(), "SHELL=/bin/bash"}
	c := startBench(b, env, "--dispose-grace-ms", fmt.Sprint(benchGrace.Milliseconds()), "--sandbox-mode", "danger-full-access")
	var took []time.Duration
	for b.Loop() {
		session := c.facts(b, c.call(b, "terminal_open", map[string]any{}))["sessionId"]
		if fill != "" {
			answer := c.call(b, "terminal_send", map[string]any{"sessionId": session, "text": fill, "until": "all"})
			if why := c.facts(b, answer)["waitReason"]; why != "matched" {
				b.Fatalf("filling: %s", answer)
			}
		}
		start := time.Now()
		f := c.facts(b, c.call(b, "terminal_close", map[string]any{"sessionId": session}))
		took = append(took, time.Since(start))
		if f["killed"] != true || fill != "" && f["ended"].(float64) < 200 {
			b.Fatalf("close: %v", f)
		}
	}
	b.ReportMetric(float64(median(took).Microseconds())/1000, "close-ms")
	b.ReportMetric(float64(bound)/float64(median(took)), "bound")
}

func benchSend(b *testing.B, argv []string, line, prompt string, extra time.Duration) {
	if gone, err := missing(argv[0]); err != nil {
		b.Fatal(err)
	} else if gone {
		b.Skipf("needs %s", argv[0])
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.TempDir(), "TERM=xterm-256color", "PS1=bench> ", "SHELL=/bin/bash",
		"LC_ALL=C.UTF-8", "NODE_REPL_HISTORY="}
	bare := startBare(b, argv, env, prompt)
	c := startBench(b, env)
	open := map[string]any{"command": argv}
	if argv[0] == "bash" {
		open = map[string]any{} // with its marks, as users have it
	}
	session := c.facts(b, c.call(b, "terminal_open", open))["sessionId"]
	send := map[string]any{"sessionId": session, "text": line}
	// From the second on: a REPL's prompt has to be known.
	c.call(b, "terminal_send", send)
	bare.send(b, line)

	var floor, trip, took []time.Duration
	for b.Loop() {
		start := time.Now()
		bare.send(b, line)
		floor = append(floor, time.Since(start))
		start = time.Now()
		c.call(b, "terminal_list", map[string]any{})
		trip = append(trip, time.Since(start))
		start = time.Now()
		answer := c.call(b, "terminal_send", send)
		took = append(took, time.Since(start))
		if why := c.facts(b, answer)["waitReason"]; why != "stdin_read" {
			b.Fatalf("%q: %v, want stdin_read: %s", line, why, answer)
		}
	}
	bound := 2*(median(floor)+median(trip)) + 500*time.Microsecond + extra
	b.ReportMetric(float64(median(floor).Microseconds()), "floor-µs")
	b.ReportMetric(float64(median(trip).Microseconds()), "trip-µs")
	b.ReportMetric(float64(median(took).Microseconds()), "send-µs")
	b.ReportMetric(float64(bound)/float64(median(took)), "bound")
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}

// bare is a program on a pseudo-terminal that nobody stands between.
type bare struct {
	master *os.File
	prompt []byte
	buf    []byte
}

func startBare(b *testing.B, argv, env []string, prompt string) *bare {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = env
	master, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 160})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill() // it runs for ever
		_ = cmd.Wait()
		_ = master.Close() // nobody holds it
	})
	p := &bare{master: master, prompt: []byte(prompt), buf: make([]byte, 64<<10)}
	p.until(b)
	return p
}

func (p *bare) send(b *testing.B, line string) {
	if _, err := io.WriteString(p.master, line+"\r"); err != nil {
		b.Fatal(err)
	}
	p.until(b)
}

func (p *bare) until(b *testing.B) {
	var out []byte
	for !bytes.HasSuffix(out, p.prompt) {
		n, err := p.master.Read(p.buf)
		if err != nil {
			b.Fatalf("%v after %q", err, out)
		}
		out = append(out, p.buf[:n]...)
	}
}

// benchClient calls one tool after the other with nothing between it and the
// pipe.
type benchClient struct {
	in  io.Writer
	out *bufio.Reader
	n   int
}

func startBench(b *testing.B, env []string, args ...string) *benchClient {
	cmd := exec.Command(binary, append([]string{"mcp"}, args...)...)
	cmd.Env, cmd.Dir, cmd.Stderr = env, b.TempDir(), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close() // the server ends with it
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	c := &benchClient{in: in, out: bufio.NewReaderSize(out, 1<<20)}
	c.request(b, "initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "bench", "version": "1"}})
	return c
}

func (c *benchClient) call(b *testing.B, tool string, args map[string]any) string {
	return c.request(b, "tools/call", map[string]any{"name": tool, "arguments": args})
}

// request returns the answer's line.
func (c *benchClient) request(b *testing.B, method string, params any) string {
	c.n++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.n, "method": method, "params": params})
	if err == nil {
		_, err = fmt.Fprintf(c.in, "%s\n", line)
	}
	if err != nil {
		b.Fatal(err)
	}
	answer, err := c.out.ReadString('\n')
	if err != nil || !strings.Contains(answer, fmt.Sprintf(`"id":%d`, c.n)) {
		b.Fatalf("%s: %v: %s", method, err, answer)
	}
	return answer
}

func (c *benchClient) facts(b *testing.B, answer string) map[string]any {
	var m struct {
		Result struct {
			Meta map[string]map[string]any `json:"_meta"`
		}
	}
	if err := json.Unmarshal([]byte(answer), &m); err != nil {
		b.Fatal(err)
	}
	return m.Result.Meta["ptykeep/facts"]
}
