package backendtest

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/ptykeep/ptykeep/backend"
)

var outputTests = []test{
	{"OutputOfShortProgramsIsComplete", outputOfShortProgramsIsComplete},
	{"ExitIsTheProgramsOwn", exitIsTheProgramsOwn},
	{"ExitComesBeforeEndOfOutput", exitComesBeforeEndOfOutput},
	{"CloseUnblocksRead", closeUnblocksRead},
	{"ProducedCountsWhatReadTook", producedCountsWhatReadTook},
	{"ResizeDuringExit", resizeDuringExit},
	{"AfterCloseEverythingSaysSo", afterCloseEverythingSaysSo},
}

func outputOfShortProgramsIsComplete(t *testing.T, b backend.Backend) {
	times := 200
	if testing.Short() {
		times = 20
	}
	for i := range times {
		r := run(t, b, "lines", "5000", "7")
		got := r.all()
		if e := r.exit(); e.Code != 7 || e.Signal != 0 || e.Lost {
			t.Fatalf("try %d: exit: got %+v, want code 7", i, e)
		}
		if !strings.HasPrefix(got, "1\r\n2\r\n") || !strings.HasSuffix(got, "\r\n5000\r\n") || strings.Count(got, "\n") != 5000 {
			t.Fatalf("try %d: got %d bytes, %d lines ending in %q, want 5000", i, len(got), strings.Count(got, "\n"), tail(got))
		}
		r.end()
	}
}

func tail(s string) string { return s[max(len(s)-40, 0):] }

func exitIsTheProgramsOwn(t *testing.T, b backend.Backend) {
	for _, c := range []struct {
		name string
		argv []string
		want backend.Exit
	}{
		{"0", Helper(t, "lines", "0", "0"), backend.Exit{}},
		{"42", Helper(t, "lines", "0", "42"), backend.Exit{Code: 42}},
		{"300", Helper(t, "lines", "0", "300"), backend.Exit{Code: 44}},
		{"KILL", Helper(t, "die", "9"), backend.Exit{Signal: syscall.SIGKILL}},
		{"TERM", Helper(t, "die", "15"), backend.Exit{Signal: syscall.SIGTERM}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := start(t, b, spec(c.argv...)).exit(); got != c.want {
				t.Errorf("exit: got %+v, want %+v", got, c.want)
			}
		})
	}
}

func exitComesBeforeEndOfOutput(t *testing.T, b backend.Backend) {
	id := mark()
	r := run(t, b, "orphan", id)
	if e := r.exit(); e.Code != 5 {
		t.Errorf("exit: got %+v, want code 5", e)
	}
	r.await("ready")
	select {
	case <-r.readEnd:
		t.Errorf("output ended (%v) with a process on the terminal", r.readErr)
	default:
	}
	if got := r.terminate(); got.Ended != 1 || len(got.Killed) != 1 {
		t.Errorf("Terminate: got %+v, want one process killed", got)
	}
	if got := r.all(); got != "ready\r\n" {
		t.Errorf("output: got %q, want only ready", got)
	}
	if left := marked(t, id); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func closeUnblocksRead(t *testing.T, b backend.Backend) {
	r := run(t, b, "sleep", mark())
	r.await("ready")
	if err := r.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	r.within(r.readEnd, "end of Read")
	if !errors.Is(r.readErr, os.ErrClosed) {
		t.Errorf("Read: got %v, want closed", r.readErr)
	}
}

func producedCountsWhatReadTook(t *testing.T, b backend.Backend) {
	term, err := b.Start(t.Context(), spec(Helper(t, "lines", "3", "0")...))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{Terminal: term, t: t, readEnd: make(chan struct{})}
	close(r.readEnd) // nobody reads but the test
	t.Cleanup(r.end)
	drainer := power[backend.Drainer](r)
	r.exit()
	if offset, more, err := drainer.Produced(); offset != 0 || !more || err != nil {
		t.Errorf("before the first Read: got %d, %v, %v, want 0, true", offset, more, err)
	}
	buf := make([]byte, 4)
	n, err := io.ReadFull(term, buf)
	if err != nil {
		t.Fatal(err)
	}
	if offset, more, err := drainer.Produced(); offset != int64(n) || !more || err != nil {
		t.Errorf("after %d bytes: got %d, %v, %v", n, offset, more, err)
	}
	rest, err := io.ReadAll(term)
	if err != nil {
		t.Fatal(err)
	}
	want := int64(n + len(rest))
	if offset, more, err := drainer.Produced(); offset != want || more || err != nil {
		t.Errorf("after the last Read: got %d, %v, %v, want %d, false", offset, more, err, want)
	}
}

func resizeDuringExit(t *testing.T, b backend.Backend) {
	times := 50
	if testing.Short() {
		times = 5
	}
	for range times {
		r := run(t, b, "lines", "10", "0")
		resizer := power[backend.Resizer](r)
		stop, stopped := make(chan struct{}), make(chan struct{})
		// Ends with stop.
		go func() {
			defer close(stopped)
			for i := 20; ; i = 20 + (i+1)%100 {
				select {
				case <-stop:
					return
				default:
				}
				if err := resizer.Resize(backend.Size{Cols: i, Rows: i}); err != nil && !errors.Is(err, os.ErrClosed) {
					t.Errorf("Resize: %v", err)
					return
				}
			}
		}()
		r.exit()
		r.end()
		close(stop)
		<-stopped
	}
}

func afterCloseEverythingSaysSo(t *testing.T, b backend.Backend) {
	r := run(t, b, "sleep", mark())
	r.await("ready")
	r.terminate()
	for range 2 {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	check := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, os.ErrClosed) && !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("%s: got %v, want closed or done", what, err)
		}
	}
	_, err := r.Write([]byte("x"))
	check("Write", err)
	_, err = r.Read(make([]byte, 1))
	check("Read", err)
	if p, ok := r.Terminal.(backend.Prober); ok {
		_, err = p.Probe()
		check("Probe", err)
	}
	if p, ok := r.Terminal.(backend.Signaller); ok {
		_, err = p.Signal(syscall.SIGINT)
		check("Signal", err)
	}
	if p, ok := r.Terminal.(backend.Input); ok {
		_, err = p.Unread()
		check("Unread", err)
		_, err = p.Queued()
		check("Queued", err)
		check("Discard", p.Discard())
	}
	if p, ok := r.Terminal.(backend.Drainer); ok {
		_, _, err = p.Produced()
		check("Produced", err)
	}
	if p, ok := r.Terminal.(backend.Resizer); ok {
		check("Resize", p.Resize(backend.Size{Cols: 1, Rows: 1}))
	}
	if p, ok := r.Terminal.(backend.Settler); ok {
		p.Settled()
	}
}
