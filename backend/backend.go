// Package backend says what a terminal is to the rest of ptykeep: the program
// behind it, the powers a terminal may have, and the values that cross the
// border. It holds no code that runs anything; package local does.
package backend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"
)

// Backend starts terminals of one type.
type Backend interface {
	// Start runs spec's program behind a new terminal. Cancelling ctx abandons
	// the start, and Start then returns only when nothing of it is left; it has
	// no effect on a terminal that was returned. Errors are *StartError where
	// the step is known.
	Start(ctx context.Context, spec Spec) (Terminal, error)
}

// Spec is what to start. A backend copies what it keeps.
type Spec struct {
	Name  string        // the session's id
	Argv  []string      // program and arguments; a name without a slash is looked up in PATH of Env
	Dir   string        // absolute path of the working directory
	Env   []string      // the complete environment, KEY=value
	Size  Size          // set before the program runs
	Nonce string        // secret of the shell marks; "" starts Argv just as it is
	Grace time.Duration // what teardown leaves to programs that end in order

	Sandbox *Sandbox // nil: the programs may do whatever their user may
}

// Sandbox is what a terminal's programs may write to, for its whole life: the
// terminal itself, /dev/null and the like, and these directories with all below
// them. They may read and execute everything, and signal one another only where
// the platform can confine that. The zero value lets nothing else be written.
type Sandbox struct {
	Writable []string // absolute, without symbolic links
	Temp     string   // the temporary directory, likewise; also gets a private place for caches. "" = none
}

// Size is a terminal's size in character cells.
type Size struct{ Cols, Rows int }

// Terminal is a running program behind a terminal. Its methods may be called
// concurrently. Whoever got it from Start must call Close, and Terminate first
// if it is a Terminator.
type Terminal interface {
	// Read returns output as it comes, and io.EOF after the last byte: when the
	// program has ended and no process holds the terminal any more. A process
	// that the program left behind delays io.EOF beyond Done, until Terminate
	// at the latest.
	//
	// Write returns how many bytes the terminal took, and
	// os.ErrDeadlineExceeded when the deadline passed before all were.
	//
	// Close frees the terminal and unblocks both with os.ErrClosed. Further
	// calls return nil. When the program ends, Write stops with
	// os.ErrProcessDone.
	io.ReadWriteCloser

	// SetWriteDeadline bounds the Write under way and later ones; the zero time
	// means no bound.
	SetWriteDeadline(time.Time) error

	// Done is closed when the program itself has ended. Output may still be
	// unread, and other processes may still write to the terminal.
	Done() <-chan struct{}

	// Exit says how the program ended. It is valid once Done is closed.
	Exit() Exit
}

// Exit is how a program ended.
type Exit struct {
	Code   int            // exit status 0-255, when Signal is 0
	Signal syscall.Signal // the signal that killed it, or 0
	Lost   bool           // nobody could tell: what watched the program is gone
}

// Terminator is a terminal that can end its whole process tree.
type Terminator interface {
	// Terminate ends the program and everything that descends from it, and
	// returns when all of it is gone or ctx ends. Concurrent calls share one
	// attempt. A failed attempt, an error or Survivors, may be repeated. It
	// may be called after the program has ended, and does not call Close.
	Terminate(ctx context.Context) (Report, error)
}

// Signaller is a terminal whose foreground process group can be signalled.
type Signaller interface {
	// Signal sends sig to the foreground process group as it is at that moment
	// and returns the group. It returns ErrNoForeground when there is none,
	// and ErrOwnProgram, with nothing sent, for SIGKILL when the session's own
	// program is in that group. It is a real signal also when ISIG is off.
	Signal(sig syscall.Signal) (pgid int, err error)
}

// Prober is a terminal that can tell who holds it.
type Prober interface {
	// Probe looks once. Without an error, what could not be seen is zero or
	// WaitUnknown.
	Probe() (Probe, error)
}

// Listener is a terminal that can tell whether its programs serve others.
type Listener interface {
	// Listening reports whether a process of the foreground group, or of a
	// session inside it (sudo, script), has a listening socket among its
	// descriptors (SO_ACCEPTCONN, socket(7)), and how much CPU time they all
	// have used so far.
	Listening() (yes bool, used time.Duration, err error)
}

// Input is a terminal whose input queue can be seen.
type Input interface {
	// Unread reports whether input that was written has not been read by a
	// program yet. After false, whatever Probe then sees began after all
	// earlier input was read (notes on the order: package readiness).
	Unread() (bool, error)
	// Queued is how many bytes of input wait unread. It may lag behind Write.
	Queued() (int, error)
	// Discard throws away input that no program has read (tcflush TCIFLUSH).
	Discard() error
}

// Drainer is a terminal that can tell whether all output has been read.
type Drainer interface {
	// Produced returns how many bytes Read has taken from the terminal since
	// the start, those of a Read about to return included, and whether more
	// wait. With more false, everything the program had written before the
	// call is in the first offset bytes.
	Produced() (offset int64, more bool, err error)
}

// Resizer is a terminal that can change its size.
type Resizer interface {
	// Resize sets the size; the foreground process group gets SIGWINCH.
	Resize(Size) error
}

// Settler is a terminal that keeps something only for the program's start-up,
// such as a start-up file.
type Settler interface {
	// Settled tells it that start-up is over. Further calls do nothing.
	Settled()
}

// Identifier is a terminal whose program is a process of this host.
type Identifier interface {
	// PID returns the process id of the session's own program.
	PID() int
}

// Describer is a terminal that can tell how its programs were started.
type Describer interface {
	// Args returns the command line of a process of the terminal.
	Args(pid int) ([]string, error)
}

// Locator is a terminal that knows where its own program works.
type Locator interface {
	// Dir returns the working directory of the session's own program: known,
	// if that names the same directory, perhaps by way of a symbolic link.
	Dir(known string) (string, error)
}

// Napper is a terminal whose platform can wait for less than Go's timers can
// (about 1.1 ms on Linux).
type Napper interface {
	// Nap blocks the caller for about d, at most a millisecond.
	Nap(d time.Duration)
}

// Process identifies a process also across the reuse of its number.
type Process struct {
	PID, PPID, UID int
	Start          uint64 // start time as the platform counts it; with PID the identity
	Command        string
}

// Report is how a teardown went.
type Report struct {
	Ended     int           // processes that ended, the session's own program included if it still ran
	Forced    int           // of those, the ones that had to be killed (SIGKILL)
	Killed    []Process     // these; at most 64 are listed
	Survivors []Process     // what is left
	Why       string        // why that is left, a sentence without its end; "" with no survivors
	Elapsed   time.Duration // from the first signal to the end
	Partial   bool          // more may be left that cannot be seen here: no subreaper, or what watched the tree is gone
}

// Probe is one look at who holds a terminal.
type Probe struct {
	PGID    int    // the foreground process group; 0 when there is none
	PID     int    // its leader, or the member that waits on the terminal when that is another
	Command string // the name of PID's program
	Own     bool   // the session's own program is in that group
	Flags   Flags  // the line discipline
	Wait    Wait   // whether the group waits on the terminal
	Detail  string // what was seen, for logs: "select fd 0"
}

// Flags are the parts of termios(3) that say how input is treated.
type Flags struct {
	Canonical bool // ICANON: by lines, with the kernel's editing
	Echo      bool // ECHO
	Signals   bool // ISIG: ^C is a signal
	CRNL      bool // ICRNL: Enter's CR arrives as NL
	Erase     byte // VERASE, the character that Backspace sends
	LineMax   int  // bytes of a line that canonical mode keeps, without its end: 4095 on Linux (n_tty.c), 1023 on macOS (MAX_CANON); 0 = not known
}

// Wait is what the threads of the foreground process group, and what else holds
// the terminal, were seen to wait for.
type Wait uint8

// The kinds of wait. Only WaitExact proves that nothing but terminal input can
// make the program go on.
const (
	WaitUnknown Wait = iota // cannot be seen on this platform
	WaitExact               // a thread waits on this terminal and nothing else can wake any of them
	WaitTimed               // a thread waits on this terminal, or on a timer that will run out
	WaitOpen                // a thread waits on this terminal, another runs or can be woken from outside
	WaitNone                // no thread waits on this terminal
	WaitBusy                // a thread runs, none waits on this terminal
	WaitStopped             // stopped by a signal (state T)
	WaitDenied              // another user's program: not to be looked into
)

// String names the wait for logs.
func (w Wait) String() string {
	names := [...]string{"unknown", "exact", "timed", "open", "none", "busy", "stopped", "denied"}
	if int(w) < len(names) {
		return names[w]
	}
	return fmt.Sprintf("Wait(%d)", w)
}

// Errors of the powers above.
var (
	ErrNoForeground = errors.New("the terminal has no foreground process group")
	ErrOwnProgram   = errors.New("the foreground process group is the session's own program")
)

// The steps at which a start can fail.
const (
	StepTerminal  = "terminal"  // no pseudo-terminal or descriptor to be had
	StepGuard     = "guard"     // the guard process could not be started
	StepDirectory = "directory" // Spec.Dir cannot be entered
	StepSandbox   = "sandbox"   // Spec.Sandbox cannot be had on this host
	StepProgram   = "program"   // Spec.Argv cannot be executed
)

// StartError is a start that failed, with the step it failed at.
type StartError struct {
	Step string
	Err  error
}

func (e *StartError) Error() string { return fmt.Sprintf("starting terminal: %s: %v", e.Step, e.Err) }

// Unwrap returns the cause, an errno where the kernel gave one.
func (e *StartError) Unwrap() error { return e.Err }
