// Package guard is the process between the server and the program of one
// session: the same binary, started with [Name] as argv[0]. It starts the
// program, says how that ended, and ends everything that descends from it when
// it is told to, or when the server is gone, however that died.
//
// The guard is the parent of the program and, on Linux, its child subreaper:
// whatever a session starts, double forks and daemons included, comes back to
// the guard as a child. When it has no child left, the session has no process
// left.
//
// Where a session is confined, the guard confines itself before it starts the
// program, which inherits that (confine_linux.go).
//
// The package is entered from its init, before the packages of the server are
// initialised, and imports next to nothing, so that a session costs a small
// process. A test holds its imports.
package guard

import (
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/teardown"
)

func init() {
	if len(os.Args) > 0 && os.Args[0] == Name {
		// Not os.Exit: under the race detector that takes a second.
		syscall.Exit(run())
	}
}

// guard is the one value of a guard process.
type guard struct {
	control *os.File
	spec    Spec
	tree    *tree

	mu sync.Mutex // orders the lines that are written to control
}

// run is the life of a guard. It is on the main thread, to which init is
// locked: what that thread blocks or may not do, the program inherits. It
// returns 0 if it left nothing behind.
func run() (code int) {
	// Before anything else: a program that inherits the control socket would
	// hide the server's death.
	syscall.CloseOnExec(ControlFD)
	syscall.CloseOnExec(SlaveFD)
	closeInherited()
	children := catchSignals()
	isolate()

	if syscall.SetNonblock(ControlFD, true) != nil {
		return 1 // nobody is there: not started by a server
	}
	g := &guard{control: os.NewFile(ControlFD, "control")}
	in := json.NewDecoder(g.control)
	if in.Decode(&g.spec) != nil {
		return 0 // the server is gone
	}
	defer g.clean()

	var slave unix.Stat_t
	if unix.Fstat(SlaveFD, &slave) != nil {
		return 1 // as above
	}
	program, failed := g.start()
	if failed != nil {
		g.send(Event{Failed: failed})
		return 0
	}
	g.tree = newTree(program, uint64(slave.Rdev), g.exited)
	g.send(Event{Started: &Started{Program: program}})
	// Ends with the process.
	go g.tree.reapOn(children)

	for r := range requests(in) {
		if r.Terminate != nil {
			report := g.end(r.Terminate.Grace)
			g.send(Event{Report: &report})
		}
	}
	if r := g.end(g.spec.Grace); r.Err != "" || len(r.Survivors) > 0 {
		return 1
	}
	return 0
}

// requests returns the requests as they come, and closes the channel when the
// server is gone or has said that there will be no more.
func requests(in *json.Decoder) <-chan Request {
	c := make(chan Request)
	// Ends at EOF or with the process.
	go func() {
		defer close(c)
		for {
			var r Request
			if in.Decode(&r) != nil {
				return
			}
			c <- r
		}
	}()
	return c
}

// end ends the tree. Nothing cuts it short: when the server dies meanwhile, it
// goes on.
func (g *guard) end(grace time.Duration) Report {
	r, err := teardown.End(context.Background(), g.tree, grace)
	r.Partial = !teardown.Complete
	report := Report{Report: r}
	if err != nil {
		report.Err = err.Error()
	}
	return report
}

func (g *guard) exited(status unix.WaitStatus) {
	e := &Exited{Code: status.ExitStatus()}
	if status.Signaled() {
		e = &Exited{Signal: status.Signal()}
	}
	g.send(Event{Exited: e})
}

// send writes one line to the server. An error means that the server is gone,
// which the request loop sees too.
func (g *guard) send(e Event) {
	line, err := Encode(e)
	if err != nil {
		return // there is none for these types
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	_, _ = g.control.Write(line) // see above
}

func (g *guard) clean() {
	if len(g.spec.Startup) > 0 {
		// Nobody is there to tell; what stays is left to the cleaning of the
		// temporary directory.
		_ = os.RemoveAll(string(g.spec.Startup))
	}
	if len(g.spec.Private) > 0 && serverGone() {
		_ = RemoveAll(string(g.spec.Private)) // as above
	}
}

// RemoveAll removes a directory with all that programs have put there, also
// below directories that they made read-only.
func RemoveAll(dir string) error {
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() && err == nil {
			_ = os.Chmod(path, 0o700) // what this does not help is seen below
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// serverGone reports that the server has ended, and not only closed its half of
// the socket: both directions are shut (poll(2), POLLHUP).
func serverGone() bool {
	p := []unix.PollFd{{Fd: ControlFD}}
	_, err := unix.Poll(p, 0)
	return err == nil && p[0].Revents&unix.POLLHUP != 0
}

// closeInherited closes what the server itself was started with and so passed on
// without knowing it.
func closeInherited() {
	d, err := os.Open("/dev/fd")
	if err != nil {
		return // no /proc mounted; nothing else tells
	}
	names, _ := d.Readdirnames(-1) // what could be read is used
	_ = d.Close()                  // nothing was written
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil || fd <= SlaveFD {
			continue
		}
		// What the Go runtime opened is close-on-exec; what came through an exec
		// cannot be.
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd) // not ours: nothing is lost
		}
	}
}

// catchSignals keeps the guard alive when somebody interrupts it or ends a
// program by name, and returns the channel that announces ended children.
// Caught, not ignored: a caught signal has its default action again in the
// program, an ignored one stays ignored. For the same reason everything is
// caught that the server may have inherited as ignored.
func catchSignals() (children <-chan os.Signal) {
	// Nobody reads the first channel: what does not fit is dropped.
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGPIPE,
		unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGCONT, unix.SIGALRM, unix.SIGUSR1, unix.SIGUSR2,
		unix.SIGWINCH)
	c := make(chan os.Signal, 1)
	signal.Notify(c, unix.SIGCHLD)
	return c
}
