//go:build !linux

package local

import (
	"context"

	"github.com/shirou/gopsutil/v4/process"
)

// Dir implements backend.Locator. It has never run on a Mac.
func (t *Terminal) Dir() (string, error) {
	p, err := process.NewProcess(int32(t.program.PID))
	if err != nil {
		return "", err
	}
	return p.CwdWithContext(context.Background())
}
