//go:build linux || darwin

package local

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/ptykeep/ptykeep/backend"
)

const testNonce = "n0nce4test"

// shellDeadline is how long a test waits for what must come at once.
const shellDeadline = 10 * time.Second

// shellMark is one mark and the output between it and the mark before.
type shellMark struct {
	kind   byte
	status int
	pid    int
	cwd    string
	before string
}

// shellTerm is a shell with marks behind a bare terminal.
type shellTerm struct {
	t    testing.TB
	cmd  *exec.Cmd
	tty  *os.File
	dir  string // of the start-up files
	home string

	mu      sync.Mutex
	marks   []shellMark
	tail    []byte // output after the last mark
	raw     []byte
	ended   bool
	changed chan struct{} // closed and replaced with each change
}

// shellOptions are what tests vary.
type shellOptions struct {
	files map[string]string // in the home directory
	env   []string
	keep  bool // leave the start-up files in place
	plain bool // start argv as it is
}

// lookShell returns the path of a shell, or skips the test.
func lookShell(t testing.TB, name string) string {
	t.Helper()
	file, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("PTYKEEP_TEST_REQUIRE_ALL") == "1" {
			t.Fatalf("%s is not installed", name)
		}
		t.Skipf("%s is not installed", name)
	}
	return file
}

// openShell starts argv with marks and waits for its first prompt.
func openShell(t testing.TB, o shellOptions, argv ...string) *shellTerm {
	t.Helper()
	lookShell(t, strings.TrimPrefix(argv[0], "-"))
	s := &shellTerm{t: t, dir: t.TempDir(), home: t.TempDir(), changed: make(chan struct{})}
	for name, text := range o.files {
		file := filepath.Join(s.home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Without this directory fish fills it in the background, for seconds.
	if err := os.MkdirAll(filepath.Join(s.home, ".local/share/fish/generated_completions"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := append([]string{
		"HOME=" + s.home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color",
		"LANG=C.UTF-8", "LC_ALL=C.UTF-8", "USER=tester",
	}, o.env...)
	spec := backend.Spec{Name: "pty-test", Argv: argv, Dir: s.home, Env: env, Nonce: testNonce}
	var err error
	if !o.plain {
		if argv, env, err = integrate(spec, s.dir); err != nil {
			t.Fatal(err)
		}
	}
	file := lookShell(t, argv[0])
	s.cmd = &exec.Cmd{Path: file, Args: argv, Env: env, Dir: s.home}
	if s.tty, err = pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 40, Cols: 160}); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() { defer close(read); s.read() }() // ends when the tty is closed
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // it may have ended
		_ = s.cmd.Wait()         // its status is of no interest
		_ = s.tty.Close()
		<-read
	})
	s.prompt(0)
	if !o.keep {
		// As the backend does.
		if err := os.RemoveAll(s.dir); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

var shellMarkRE = regexp.MustCompile(`\x1b\]6973;` + testNonce + `;([DBCP]);([^\x07\x1b]*)\x07`)

// read parses what the terminal sends until it is closed.
func (s *shellTerm) read() {
	buf := make([]byte, 65536)
	for {
		n, err := s.tty.Read(buf)
		if bytes.Contains(buf[:n], []byte("\x1b[6n")) {
			s.send("\x1b[1;1R") // busybox asks where the cursor is
		}
		s.mu.Lock()
		s.raw = append(s.raw, buf[:n]...)
		s.tail = append(s.tail, buf[:n]...)
		for {
			m := shellMarkRE.FindSubmatchIndex(s.tail)
			if m == nil {
				break
			}
			mark := shellMark{kind: s.tail[m[2]], status: -1, before: string(s.tail[:m[0]])}
			fields := strings.SplitN(string(s.tail[m[4]:m[5]]), ";", 3)
			if mark.kind == 'D' && len(fields) == 3 {
				if fields[0] != "" { // zsh does not always know
					mark.status, _ = strconv.Atoi(fields[0])
				}
				fields, mark.cwd = fields[1:], fields[2]
			}
			mark.pid, _ = strconv.Atoi(fields[0])
			s.marks = append(s.marks, mark)
			s.tail = bytes.Clone(s.tail[m[1]:])
		}
		s.ended = err != nil
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// wait waits until ok says yes, which is called with mu held.
func (s *shellTerm) wait(what string, ok func() bool) {
	s.t.Helper()
	deadline := time.NewTimer(shellDeadline)
	defer deadline.Stop()
	for {
		s.mu.Lock()
		done, ended, changed := ok(), s.ended, s.changed
		s.mu.Unlock()
		if done {
			return
		}
		select {
		case <-deadline.C:
		case <-changed:
			if !ended {
				continue
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.t.Fatalf("no %s (ended %v); marks %+v, then %q", what, s.ended, s.marks, s.tail)
	}
}

// prompt waits for a complete prompt among the marks from the given one on and
// returns the D that began it and how many marks there are up to its B.
func (s *shellTerm) prompt(from int) (d shellMark, next int) {
	s.t.Helper()
	s.wait("prompt", func() bool {
		seen, ran := false, false
		for i := from; i < len(s.marks); i++ {
			switch m := s.marks[i]; m.kind {
			case 'D':
				d, seen = m, true
			case 'B':
				// A prompt that is only drawn again has no C before it, but a
				// later one has.
				if seen && (ran || kinds(s.marks[i:], 'C') == 0) {
					next = i + 1
					return true
				}
			case 'C', 'P':
				seen, ran = false, true
			}
		}
		return false
	})
	return d, next
}

// shellRun is what a line did.
type shellRun struct {
	status   int
	cwd      string
	commands int    // C marks
	more     int    // P marks
	output   string // from the first C, or else the start, to the D; line ends as \n
}

// count is the number of marks so far.
func (s *shellTerm) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.marks)
}

// kinds counts the marks of a kind.
func kinds(marks []shellMark, kind byte) (n int) {
	for _, m := range marks {
		if m.kind == kind {
			n++
		}
	}
	return n
}

// send types text.
func (s *shellTerm) send(text string) {
	s.t.Helper()
	if _, err := s.tty.WriteString(text); err != nil {
		s.t.Error(err)
	}
}

// run types a line and Enter and waits for the next prompt.
func (s *shellTerm) run(line string) shellRun {
	s.t.Helper()
	from := s.count()
	s.send(line + "\r")
	r := s.result(from)
	if r.commands == 0 {
		// A shell without C: output begins after the echo of the line, which the
		// kernel and the line editor may both have made.
		if i := strings.LastIndex(r.output, line+"\n"); i >= 0 {
			r.output = r.output[i+len(line)+1:]
		}
	}
	return r
}

// result waits for the prompt that ends what was typed at mark from.
func (s *shellTerm) result(from int) shellRun {
	s.t.Helper()
	d, next := s.prompt(from)
	r := shellRun{status: d.status, cwd: d.cwd}
	var out, typed strings.Builder
	over := false
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := from; i < next; i++ {
		m := s.marks[i]
		if r.commands > 0 && !over && m.kind != 'B' {
			out.WriteString(m.before)
			over = m.kind == 'D' // bash says it again in the prompt
		} else if r.commands == 0 && kinds(s.marks[from:i], 'D') == 0 {
			typed.WriteString(m.before)
		}
		switch m.kind {
		case 'C':
			r.commands++
		case 'P':
			r.more++
		}
		if m.pid != s.cmd.Process.Pid {
			s.t.Errorf("mark %+v has pid %d, want %d", m, m.pid, s.cmd.Process.Pid)
		}
	}
	r.output = clean(out.String())
	if r.commands == 0 {
		r.output = clean(typed.String())
	}
	return r
}

var shellModes = regexp.MustCompile(`\x1b\[[0-9;?]*[a-zA-Z]|\x1b\]0;[^\x07]*\x07|\x1b\(B|\x1b[>=]`)

// clean drops what line editors send of their own and makes line ends \n.
func clean(out string) string {
	out = shellModes.ReplaceAllString(out, "")
	return strings.ReplaceAll(strings.ReplaceAll(out, "\r\n", "\n"), "\r", "")
}

// check runs a line and compares.
func (s *shellTerm) check(line string, status int, output string) {
	s.t.Helper()
	r := s.run(line)
	if r.status != status || r.output != output {
		s.t.Errorf("%q: got status %d, output %q, want %d, %q", line, r.status, r.output, status, output)
	}
}

// text is everything the terminal sent, for messages.
func (s *shellTerm) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%q", s.raw)
}
