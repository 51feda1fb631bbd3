package local

import (
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/teardown"
)

const (
	// foreignBound is how long another user's program gets after each signal. A
	// guess.
	foreignBound = 300 * time.Millisecond
	// foreignPause lies between two looks at it. A guess.
	foreignPause = 5 * time.Millisecond
)

// endForeign ends another user's program in the foreground (sudo). Nobody may
// signal it but the kernel, for the terminal: by the keys for INT and QUIT, and
// by the hang-up. It comes before everything else, for a shell that ends takes
// the terminal back first, and the hang-up would miss the program. It
// returns how many processes of the session have ended by that.
func (t *Terminal) endForeign() (ended int) {
	if !t.foreignInFront() {
		return 0
	}
	before, err := teardown.Descendants(t.warden.process.Pid)
	if err != nil {
		return 0
	}
	t.disturbForeign()
	for _, p := range before {
		if now, ok := teardown.Inspect(p.PID); !ok || now.Start != p.Start {
			ended++
		}
	}
	return ended
}

func (t *Terminal) disturbForeign() {
	for _, sig := range []syscall.Signal{unix.SIGINT, unix.SIGQUIT} {
		if !t.foreignInFront() {
			return
		}
		if done, err := t.signalByTerminal(sig); !done || err != nil {
			break // the kernel cannot, or the terminal is gone
		}
		for end := time.Now().Add(foreignBound); t.foreignInFront() && time.Now().Before(end); {
			time.Sleep(foreignPause) // nothing announces a grandchild's end
		}
	}
	if t.foreignInFront() {
		t.hangUp()
	}
}

// foreignInFront reports whether a process that we may not signal is in the
// foreground group.
func (t *Terminal) foreignInFront() bool {
	me := os.Geteuid()
	if me == 0 {
		return false
	}
	pgid, err := t.foreground()
	if err != nil || pgid == 0 {
		return false
	}
	list, err := teardown.Descendants(t.warden.process.Pid)
	return err == nil && slices.ContainsFunc(list, func(p backend.Process) bool {
		group, err := unix.Getpgid(p.PID)
		return p.UID != me && p.UID >= 0 && err == nil && group == pgid
	})
}

// hangUp takes the terminal away from whoever has it: the leader of the session
// and the foreground group get SIGHUP and SIGCONT, whosever they are. Nothing
// can be read or written after it.
func (t *Terminal) hangUp() {
	_ = t.master.Close() // may be closed already; nothing was buffered
}
