package backendtest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/teardown"
)

var endTests = []test{
	{"IdleBashEndsAtOnce", idleBashEndsAtOnce},
	{"NothingIsLeft", nothingIsLeft},
	{"ManyDeafProcesses", manyDeafProcesses},
	{"AfterExitThereIsNothingToEnd", afterExitThereIsNothingToEnd},
	{"FullTerminal", fullTerminal},
	{"CallersShareOneAttempt", callersShareOneAttempt},
	{"ContextEndsTheWaitOnly", contextEndsTheWaitOnly},
	{"KilledServerLeavesNothing", killedServerLeavesNothing},
	{"NothingLeaks", nothingLeaks},
}

// bound is what an end may take. The promise is a second beyond the grace; the
// rest is for machines that do much else at the same time.
const bound = grace + time.Second + 10*time.Second

func idleBashEndsAtOnce(t *testing.T, b backend.Backend) {
	s := spec(Need(t, "bash"), "--norc", "--noprofile", "-i")
	s.Grace = patience
	r := start(t, b, s)
	r.await("$ ")
	began := time.Now()
	report := r.terminate()
	if took := time.Since(began); took > patience/2 {
		t.Errorf("Terminate: took %v", took)
	}
	if report.Ended != 1 || len(report.Killed) > 0 {
		t.Errorf("report: got %+v, want 1 ended, none killed", report)
	}
	t.Logf("%v from the first signal to the end", report.Elapsed)
}

// nothingIsLeft ends each kind of process that outlives its terminal elsewhere.
func nothingIsLeft(t *testing.T, b backend.Backend) {
	bash := Need(t, "bash")
	line := func(mode, id string) string { return "'" + strings.Join(helper(mode, id), "' '") + "'" }
	for _, c := range []struct {
		name string
		line func(id string) string
	}{
		{"foreground", func(id string) string { return line("sleep", id) }},
		{"background", func(id string) string { return line("sleep", id) + " &" }},
		{"nohup", func(id string) string { return "nohup " + line("sleep", id) + " >/dev/null 2>&1 &" }},
		{"disown", func(id string) string { return line("deaf", id) + " & disown" }},
		{"double fork", func(id string) string { return "(" + line("deaf", id) + " &)" }},
		{"daemon", func(id string) string { return line("daemon", id) }},
		{"stopped", func(id string) string { return line("deaf", id) }},
		{"deaf shell", func(id string) string { return "trap '' HUP TERM; " + line("deaf", id) }},
		{"trap that works on", func(id string) string {
			return "trap " + `"` + line("deaf", id) + `" EXIT HUP TERM; ` + line("sleep", id)
		}},
		// One process at a time, which leaves a child and ends, all the time.
		{"hopping", func(id string) string {
			return "bash -c 'trap \"\" HUP TERM; hop() { (hop &) }; hop' " + id
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			id := mark()
			r := start(t, b, spec(bash, "--norc", "--noprofile", "-i"))
			r.await("$ ")
			r.write(c.line(id) + "\r")
			Await(t, "program", func() bool { return len(marked(t, id)) > 0 })
			if c.name == "daemon" {
				Await(t, "daemon", func() bool {
					list := marked(t, id)
					return len(list) == 1 && strings.Contains(list[0], "deaf")
				})
			}
			if c.name == "stopped" {
				r.await("\nready")
				send(r, syscall.SIGTSTP, nil)
				Await(t, "shell in the foreground", func() bool { return probe(r).Own })
			}
			report := r.terminate()
			if left := marked(t, id); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
			if report.Ended < 2 || report.Elapsed > bound {
				t.Errorf("report: got %+v, want the shell and the program within %v", report, bound)
			}
		})
	}
}

func manyDeafProcesses(t *testing.T, b backend.Backend) {
	Need(t, "sleep")
	id := mark()
	const many = 200
	script := `trap "" HUP TERM INT; i=0
while [ $i -lt 200 ]; do (exec -a "$0" sleep 600) & i=$((i+1)); done; echo rea''dy; wait`
	r := start(t, b, spec(Need(t, "bash"), "--norc", "--noprofile", "-c", script, id))
	r.await("ready")
	// With the shell, which has the mark as its own name.
	Await(t, "all processes", func() bool { return len(marked(t, id)) == many+1 })
	report := r.terminate()
	if left := marked(t, id); len(left) > 0 {
		t.Errorf("left: %d processes", len(left))
	}
	if report.Ended < many+1 || len(report.Killed) != 64 {
		t.Errorf("report: got %d ended, %d of the killed, want %d and 64", report.Ended, len(report.Killed), many+1)
	}
	if report.Elapsed > bound {
		t.Errorf("took %v, want %v at most", report.Elapsed, bound)
	}
	t.Logf("%v beyond the grace", report.Elapsed-grace)
}

func afterExitThereIsNothingToEnd(t *testing.T, b backend.Backend) {
	r := run(t, b, "lines", "1", "3")
	r.exit()
	if report := r.terminate(); report.Ended != 0 || len(report.Killed) != 0 {
		t.Errorf("report: got %+v, want nothing ended", report)
	}
	if e := r.Exit(); e.Code != 3 {
		t.Errorf("exit after Terminate: got %+v, want code 3", e)
	}
}

func fullTerminal(t *testing.T, b backend.Backend) {
	term, err := b.Start(t.Context(), spec(Helper(t, "lines", "1000000", "0")...))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{Terminal: term, t: t, readEnd: make(chan struct{})}
	close(r.readEnd) // nobody reads
	t.Cleanup(r.end)
	drainer := power[backend.Drainer](r)
	Await(t, "output", func() bool {
		_, more, err := drainer.Produced()
		return more && err == nil
	})
	r.terminate()
	r.exit()
}

func callersShareOneAttempt(t *testing.T, b backend.Backend) {
	r := run(t, b, "deaf", mark())
	r.await("ready")
	end := power[backend.Terminator](r)
	reports := make(chan backend.Report)
	for range 3 {
		// Ends with the attempt.
		go func() {
			report, err := end.Terminate(context.Background())
			if err != nil {
				t.Errorf("Terminate: %v", err)
			}
			reports <- report
		}()
	}
	for range 3 {
		if report := <-reports; report.Ended != 1 || len(report.Killed) != 1 {
			t.Errorf("report: got %+v, want one killed", report)
		}
	}
}

func contextEndsTheWaitOnly(t *testing.T, b backend.Backend) {
	id := mark()
	r := run(t, b, "deaf", id)
	r.await("ready")
	errStop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errStop)
	if _, err := power[backend.Terminator](r).Terminate(ctx); !errors.Is(err, errStop) {
		t.Errorf("Terminate: got %v, want the cause", err)
	}
	if report := r.terminate(); report.Ended != 1 {
		t.Errorf("report: got %+v, want one ended", report)
	}
	if left := marked(t, id); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func killedServerLeavesNothing(t *testing.T, b backend.Backend) {
	id := mark()
	args := helper("server", helper("deaf", id)...)
	args = append(append(args, "--"), helper("daemon", id)...)
	args = append(append(args, "--"), helper("orphan", id)...)
	server := exec.Command(args[0], args[1:]...)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill() // if the test has not got that far
		_ = server.Wait()         // as above
	})
	said := make([]byte, 64)
	n, _ := out.Read(said)
	if string(said[:n]) != "serving\n" {
		t.Errorf("server: got %q, want serving", said[:n])
	}
	// The server itself, the deaf one, the daemon and the orphan.
	awaitMarked(t, id, 4)
	tree, err := teardown.Descendants(server.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := server.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = server.Wait() // killed
	awaitMarked(t, id, 0)
	took := time.Since(began)
	if took > bound {
		t.Errorf("took %v, want %v at most", took, bound)
	}
	t.Logf("gone %v after the server, with a grace of %v", took, grace)
	for _, p := range tree {
		Await(t, "end of "+p.Command, func() bool {
			now, ok := teardown.Inspect(p.PID)
			return !ok || now.Start != p.Start
		})
	}
}

func nothingLeaks(t *testing.T, b backend.Backend) {
	open := func() int {
		list, err := os.ReadDir("/dev/fd")
		if err != nil {
			t.Skip("needs /dev/fd")
		}
		return len(list)
	}
	cycle := func() {
		r := run(t, b, "lines", "1", "0")
		r.exit()
		r.end()
	}
	cycle() // what the process makes once
	files, routines := open(), runtime.NumGoroutine()
	for range 20 {
		cycle()
	}
	Await(t, "as few descriptors and goroutines as before", func() bool {
		return open() <= files && runtime.NumGoroutine() <= routines
	})
}
