package local

import (
	"fmt"
	"os"
)

// Dir implements backend.Locator: proc_pid_cwd(5), " (deleted)" behind a
// directory that is gone.
func (t *Terminal) Dir(known string) (string, error) {
	link := fmt.Sprintf("/proc/%d/cwd", t.program.PID)
	if sameDir(link, known) {
		return known, nil
	}
	return os.Readlink(link)
}
