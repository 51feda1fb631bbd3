package guard

import (
	"encoding/json"
	"syscall"
	"time"

	"github.com/ptykeep/ptykeep/backend"
)

// Name is argv[0] of a guard; a process with that name becomes one before its
// main runs.
const Name = "ptykeep-guard"

// The descriptors that a guard is started with, besides /dev/null as 0 to 2.
const (
	ControlFD = 3 // one end of a socket pair: JSON lines both ways
	SlaveFD   = 4 // the slave of the terminal
)

// Spec is the first line to the guard. Bytes, not strings: file names and
// environments need not be UTF-8, and JSON would change them silently.
type Spec struct {
	Argv    [][]byte
	Dir     []byte
	Env     [][]byte
	Grace   time.Duration // what teardown leaves, when nobody is there to say it
	Startup []byte        // directory that is removed at the end, "" for none

	Confinement *Confinement `json:",omitempty"` // nil: the program may do what its user may
	Private     []byte       // directory of the server that is removed at the end if the server is gone, "" for none
}

// Confinement is what the program and all that descends from it may write to,
// besides terminals and what keeps nothing.
type Confinement struct {
	Writable [][]byte // directories, absolute and without symbolic links in the name
	ABI      int      // of Landlock, not to be exceeded; 0: what the kernel has. For tests of older kernels
}

// Request is a further line to the guard. EOF means the same, and that nobody
// is there to read the report.
type Request struct {
	Terminate *Terminate `json:",omitempty"`
}

// Terminate asks for the end of the whole tree. The answer is a Report.
type Terminate struct{ Grace time.Duration }

// Event is a line from the guard: exactly one field is set. Started or Failed
// comes first, then once Exited, and a Report for each Terminate.
type Event struct {
	Started *Started `json:",omitempty"`
	Failed  *Failed  `json:",omitempty"`
	Exited  *Exited  `json:",omitempty"`
	Report  *Report  `json:",omitempty"`
}

// Started says that the program runs.
type Started struct{ Program backend.Process }

// Failed says that it does not, and why. The guard is gone after it.
type Failed struct {
	Step  string // of backend.StartError
	Path  []byte // what was tried
	Errno syscall.Errno
}

// Exited says how the program ended.
type Exited struct {
	Code   int
	Signal syscall.Signal
}

// Report is what a Terminate came to.
type Report struct {
	backend.Report
	Err string // why there may be more than the report says, "" if it is complete
}

// Encode makes one line of v.
func Encode(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	return append(b, '\n'), err
}
