package guard

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/teardown"
)

// world is a process table and the ways to look at it, as macOS has them.
type world struct {
	alive                       map[int]backend.Process
	below, onTerminal, tagged   []int
	belowErr, ttyErr, taggedErr error
}

func (w *world) found() *found {
	way := func(pids *[]int, err *error) func() ([]backend.Process, error) {
		return func() (list []backend.Process, _ error) {
			for _, pid := range *pids {
				if p, ok := w.alive[pid]; ok {
					list = append(list, p)
				}
			}
			return list, *err
		}
	}
	return &found{
		self:    1,
		inspect: func(pid int) (backend.Process, bool) { p, ok := w.alive[pid]; return p, ok },
		ways:    []func() ([]backend.Process, error){way(&w.below, &w.belowErr), way(&w.onTerminal, &w.ttyErr), way(&w.tagged, &w.taggedErr)},
	}
}

func newWorld(pids ...int) *world {
	w := &world{alive: map[int]backend.Process{}}
	for _, pid := range pids {
		w.alive[pid] = backend.Process{PID: pid, Start: uint64(pid)}
	}
	return w
}

func pidsOf(list []backend.Process) (pids []int) {
	for _, p := range list {
		pids = append(pids, p.PID)
	}
	slices.Sort(pids)
	return pids
}

func TestFoundByAnyWay(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name   string
		change func(w *world)
		want   []int
		err    error
	}{
		{"by descent", func(w *world) { w.below = []int{2, 3} }, []int{2, 3}, nil},
		{"an orphan by the terminal", func(w *world) { w.below, w.onTerminal = []int{2}, []int{2, 4} }, []int{2, 4}, nil},
		{"a daemon by the tag", func(w *world) { w.below, w.tagged = []int{2}, []int{5, 2} }, []int{2, 5}, nil},
		{"never the guard itself, which carries the tag", func(w *world) { w.tagged = []int{1, 5} }, []int{5}, nil},
		{"one way fails", func(w *world) { w.ttyErr, w.tagged = broken, []int{5} }, []int{5}, nil},
		{"all ways fail", func(w *world) { w.belowErr, w.ttyErr, w.taggedErr = broken, broken, broken }, nil, broken},
		{"nothing", func(*world) {}, nil, nil},
	} {
		w := newWorld(1, 2, 3, 4, 5)
		c.change(w)
		if list, err := w.found().list(); !slices.Equal(pidsOf(list), c.want) || !errors.Is(err, c.err) {
			t.Errorf("%s: got %v, %v, want %v, %v", c.name, list, err, c.want, c.err)
		}
	}
}

// launchd takes an orphan; it is remembered, but its number is not.
func TestFoundBeforeIsRemembered(t *testing.T) {
	w := newWorld(1, 2, 3)
	w.below = []int{2, 3}
	f := w.found()
	if list, err := f.list(); err != nil || len(list) != 2 {
		t.Fatalf("got %v, %v, want 2 and 3", list, err)
	}
	delete(w.alive, 2)
	w.below = nil
	if list, err := f.list(); err != nil || !slices.Equal(pidsOf(list), []int{3}) {
		t.Errorf("an orphan: got %v, %v, want 3", list, err)
	}
	w.alive[3] = backend.Process{PID: 3, Start: 99}
	if list, err := f.list(); err != nil || len(list) != 0 {
		t.Errorf("another process with its number: got %v, %v, want none", list, err)
	}
}

// TestTreeWithoutSubreaper ends real processes that are no children of whoever
// ends them, found by injected ways.
func TestTreeWithoutSubreaper(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs sh")
	}
	// Deaf, so that it has to be killed.
	cmd := exec.Command("sh", "-c", `trap "" HUP TERM; echo ready; while :; do sleep 600; done`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waited := make(chan struct{})
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Error(err)
	}
	go func() { _ = cmd.Wait(); close(waited) }() // ends with the shell, which is killed below
	pid := cmd.Process.Pid
	f := &found{inspect: teardown.Inspect, ways: []func() ([]backend.Process, error){func() ([]backend.Process, error) {
		p, ok := teardown.Inspect(pid)
		if !ok {
			return nil, nil
		}
		below, err := teardown.Descendants(pid)
		return append([]backend.Process{p}, below...), err
	}}}
	tr := &tree{changed: make(chan struct{}), empty: true, all: f.list, children: f.list}
	r, err := teardown.End(context.Background(), tr, 50*time.Millisecond)
	if err != nil || len(r.Survivors) != 0 || r.Ended < 2 || r.Forced < 1 {
		t.Errorf("End: got %+v, %v, want the shell and its sleep ended", r, err)
	}
	<-waited
	if !slices.ContainsFunc(r.Killed, func(p backend.Process) bool {
		return strings.HasPrefix(p.Command, "sh") || strings.HasPrefix(p.Command, "dash")
	}) {
		t.Errorf("killed %v, want the shell", r.Killed)
	}
}
