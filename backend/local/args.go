package local

import (
	"fmt"

	"github.com/shirou/gopsutil/v4/process"
)

// Args implements backend.Describer.
func (t *Terminal) Args(pid int) ([]string, error) {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return nil, fmt.Errorf("looking at process %d: %w", pid, err)
	}
	args, err := p.CmdlineSlice()
	if err != nil {
		return nil, fmt.Errorf("reading the command line of process %d: %w", pid, err)
	}
	return args, nil
}
