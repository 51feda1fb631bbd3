//go:build !linux

package local

import (
	"context"

	"github.com/shirou/gopsutil/v4/process"
)

// Dir implements backend.Locator. It has never run on a Mac.
func (t *Terminal) Dir(known string) (string, error) {
	p, err := process.NewProcess(int32(t.program.PID))
	if err != nil {
		return "", err
	}
	dir, err := p.CwdWithContext(context.Background())
	if err == nil && sameDir(dir, known) {
		return known, nil
	}
	return dir, err
}
