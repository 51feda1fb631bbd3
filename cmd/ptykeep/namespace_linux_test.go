package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// inNamespace returns a server that is process 1 of a namespace of process
// numbers; before it, the shell runs setup there.
func inNamespace(t *testing.T, setup string, args ...string) *stdioServer {
	t.Helper()
	need(t, "bash", "sh", "unshare")
	if out, err := exec.Command("unshare", "-fp", "--mount-proc", "true").CombinedOutput(); err != nil {
		t.Skipf("needs a namespace of process numbers: %v: %s", err, out)
	}
	line := append([]string{"-fp", "--kill-child", "--mount-proc", "sh", "-c", setup + "\nexec \"$0\" mcp --shell /bin/bash --dispose-grace-ms 300 --sandbox-mode danger-full-access", binary}, args...)
	return start(t, exec.Command("unshare", line...))
}

// fillNumbers keeps the numbers that ended processes have left. Each of its
// children tells of every signal that reaches it.
const fillNumbers = `
open(my $orders, "<", $ARGV[0]) or die $!;
<$orders>;
my @victims;
while (1) {
	my $pid = fork;
	last unless defined $pid; # no number is left
	if (!$pid) {
		for my $name (qw(HUP INT QUIT TERM CONT WINCH USR1 USR2 TSTP)) {
			$SIG{$name} = sub { open(my $f, ">>", "$ARGV[1]/hits"); syswrite($f, "$$ $name\n"); close $f };
		}
		sleep 4000 while 1;
	}
	push @victims, $pid;
}
# Room for the server's own.
for my $pid (splice(@victims, -120)) { kill "KILL", $pid; waitpid($pid, 0) }
open(my $f, ">", "$ARGV[1]/victims.new"); print $f map { "$_\n" } @victims; close $f;
rename "$ARGV[1]/victims.new", "$ARGV[1]/victims";
<$orders>;
my @dead = grep { waitpid($_, 1) != 0 } @victims; # 1 = WNOHANG
kill "KILL", @victims;
open($f, ">", "$ARGV[1]/dead.new"); print $f map { "$_\n" } @dead; close $f;
rename "$ARGV[1]/dead.new", "$ARGV[1]/dead";
`

// TestReusedNumberIsNeverSignalled fills a small space of process numbers with
// bystanders, until they have the numbers of programs that sessions had, and then
// signals and closes these sessions, and others, every way there is.
func TestReusedNumberIsNeverSignalled(t *testing.T) {
	need(t, "perl")
	var uts unix.Utsname
	var major, minor int
	if err := unix.Uname(&uts); err != nil {
		t.Fatal(err)
	}
	_, err := fmt.Sscanf(unix.ByteSliceToString(uts.Release[:]), "%d.%d", &major, &minor)
	if err != nil || major < 6 || major == 6 && minor < 14 {
		t.Skip("needs Linux 6.14: before, pid_max is the whole machine's")
	}
	if os.Getuid() != 0 {
		t.Skip("needs root, to set pid_max of a namespace")
	}
	dir := t.TempDir()
	fill := filepath.Join(dir, "fill")
	if err := os.WriteFile(fill, []byte(fillNumbers), 0o600); err != nil {
		t.Fatal(err)
	}
	orders := fifo(t)
	s := inNamespace(t, `echo 900 >/proc/sys/kernel/pid_max || exit 7; exec 9<>"$2"; perl "$1" "$2" "$3" & exec 9>&-`, fill, orders, dir)
	w, err := os.OpenFile(orders, os.O_RDWR, 0) // never waits, never ends
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }() // a pipe
	said := func(name string) (lines []string) {
		t.Helper()
		if _, err := w.WriteString("\n"); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if !eventually(func() bool { _, err := os.Stat(path); return err == nil }) {
			t.Fatalf("no %s", name)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(text))
	}

	// Numbers below 300 are not used again.
	live := s.must(t, "terminal_open", nil).facts["sessionId"]
	s.must(t, "terminal_send", map[string]any{"sessionId": live, "text": "for i in $(seq 300); do (:); done; sleep 4000 &"})
	ids, numbers := []any{}, map[string]bool{}
	for range 12 {
		r := s.must(t, "terminal_open", map[string]any{"command": []string{"true"}})
		if !eventually(func() bool {
			return strings.Contains(s.must(t, "terminal_send", map[string]any{"sessionId": r.facts["sessionId"], "timeoutMs": 100}).text, "exited")
		}) {
			t.Fatalf("true does not exit: %s", r.text)
		}
		ids = append(ids, r.facts["sessionId"])
		numbers[fmt.Sprint(r.facts["pid"])] = true
	}
	// One whose shell is gone, with a job that is left.
	r := s.must(t, "terminal_open", nil)
	s.must(t, "terminal_send", map[string]any{"sessionId": r.facts["sessionId"], "text": "sleep 4000 & exec true"})
	ids = append(ids, r.facts["sessionId"])
	numbers[fmt.Sprint(r.facts["pid"])] = true

	victims := said("victims")
	hit := 0
	for _, v := range victims {
		if numbers[v] {
			hit++
		}
	}
	if hit < len(numbers)/2 {
		t.Fatalf("%d bystanders have but %d of the numbers %v", len(victims), hit, numbers)
	}
	for _, id := range ids {
		for _, sig := range []string{"SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"} {
			if r, err := s.tool("terminal_signal", map[string]any{"sessionId": id, "signal": sig}); err != nil || !r.isError {
				t.Errorf("%s to what has exited: %v, %s", sig, err, r.text)
			}
		}
		s.must(t, "terminal_close", map[string]any{"sessionId": id})
	}
	for range 5 {
		r := s.must(t, "terminal_open", nil)
		s.must(t, "terminal_send", map[string]any{"sessionId": r.facts["sessionId"],
			"text": "for i in $(seq 50); do (trap '' TERM HUP; sleep 0.$i) & done; setsid sleep 4000 &"})
		s.must(t, "terminal_close", map[string]any{"sessionId": r.facts["sessionId"]})
	}
	// A guard is killed while its jobs come and go; the server's own hand then.
	s.must(t, "terminal_send", map[string]any{"sessionId": live, "text": "while :; do (:); done & disown; kill -KILL $PPID", "timeoutMs": 5000})
	s.must(t, "terminal_close", map[string]any{"sessionId": live})

	if hits, err := os.ReadFile(filepath.Join(dir, "hits")); err == nil {
		t.Errorf("bystanders got signals: %s", hits)
	}
	if dead := said("dead"); len(dead) > 0 {
		t.Errorf("bystanders died: %v", dead)
	}
}

// As process 1, the server gets every orphan of a container.
func TestServerAsProcessOneKeepsNoZombies(t *testing.T) {
	need(t, "ps")
	s := inNamespace(t, `(sleep 0.1 &); (sleep 0.2 &)`)
	for range 8 {
		r := s.must(t, "terminal_open", nil)
		s.must(t, "terminal_send", map[string]any{"sessionId": r.facts["sessionId"], "text": "(sleep 0.1 &); setsid sleep 0.1 & exit"})
		if r.facts["pid"].(float64) == 1 {
			t.Fatal("not in the namespace")
		}
	}
	look := s.must(t, "terminal_open", nil).facts["sessionId"]
	var text string
	if !eventually(func() bool {
		text = s.must(t, "terminal_send", map[string]any{"sessionId": look, "text": "ps -e -o stat=,pid=,ppid=,args="}).body()
		return !strings.Contains("\n"+text, "\nZ") && !strings.Contains(text, "sleep")
	}) {
		t.Errorf("zombies, or orphans: %s", text)
	}
}
