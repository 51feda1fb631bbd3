//go:build !linux

package local

// Adopt does nothing here: macOS has no subreaper. What a killed guard leaves is
// found by its terminal.
func (b *Backend) Adopt() error { return nil }

func (*orphanage) reap() {} // there is none
