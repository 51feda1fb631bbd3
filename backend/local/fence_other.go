//go:build !linux

package local

import (
	"errors"
	"syscall"
)

// fence is a control group; there are none here.
type fence struct{}

func newFence(string) (*fence, error) { return nil, errors.ErrUnsupported }

func (*fence) enclose(*syscall.SysProcAttr) {}
func (*fence) begun()                       {}
func (*fence) kill() bool                   { return false }
func (*fence) remove()                      {}
