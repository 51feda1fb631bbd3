package local

import (
	"fmt"
	"os"
)

// Dir implements backend.Locator: proc_pid_cwd(5), " (deleted)" behind a
// directory that is gone.
func (t *Terminal) Dir() (string, error) {
	return os.Readlink(fmt.Sprintf("/proc/%d/cwd", t.program.PID))
}
