package teardown

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/backend"
)

// Nothing in this file has ever run: it was compiled for macOS and written from
// XNU's source.

// Complete reports whether Descendants sees everything that descends from a
// process that is a child subreaper. macOS has none: an orphan goes to launchd.
const Complete = false

// zombie is SZOMB of XNU's sys/proc.h.
const zombie = 5

// Descendants lists what is alive below root, parents before their children. It
// does not see what was orphaned; see OnTerminal and Tagged.
func Descendants(root int) ([]backend.Process, error) {
	all, err := table("kern.proc.all")
	if err != nil {
		return nil, err
	}
	list := closure([]backend.Process{{PID: root}}, all)
	return list[1:], nil
}

// Children lists what is alive directly below root.
func Children(root int) ([]backend.Process, error) {
	all, err := table("kern.proc.all")
	if err != nil {
		return nil, err
	}
	var list []backend.Process
	for _, p := range all {
		if p.PPID == root {
			list = append(list, p)
		}
	}
	return list, nil
}

// OnTerminal lists what is alive with the terminal rdev as its controlling
// terminal, and what descends from it. The session sid is not looked at: the
// table does not hold it.
func OnTerminal(_ int, rdev uint64) ([]backend.Process, error) {
	list, err := table("kern.proc.tty", int(int32(rdev)))
	if err != nil {
		return nil, err
	}
	all, err := table("kern.proc.all")
	if err != nil {
		return nil, err
	}
	return closure(list, all), nil
}

// Tagged lists what is alive of this user with tag, "NAME=value", in the
// environment it was started with. Apple's restricted programs hide theirs.
func Tagged(tag string) ([]backend.Process, error) {
	all, err := table("kern.proc.uid", unix.Getuid())
	if err != nil {
		return nil, err
	}
	var list []backend.Process
	for _, p := range all {
		if HasTag(p.PID, tag) {
			list = append(list, p)
		}
	}
	return closure(list, all), nil
}

// HasTag reports whether pid was started with tag, "NAME=value", in its
// environment. It is false where that cannot be read.
func HasTag(pid int, tag string) bool {
	args, err := unix.SysctlRaw("kern.procargs2", pid)
	return err == nil && tag != "" && bytes.Contains(args, []byte("\x00"+tag+"\x00"))
}

// Inspect returns the living process with the number pid.
func Inspect(pid int) (backend.Process, bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(k.Proc.P_pid) != pid || k.Proc.P_stat == zombie {
		return backend.Process{}, false
	}
	return process(k), true
}

// Send sends sig to p, if p is still the process that it was. A process that is
// gone is no error. Between the look and the signal the number may be used
// again: macOS has no pidfd.
func Send(p backend.Process, sig syscall.Signal) error {
	if now, ok := Inspect(p.PID); !ok || now.Start != p.Start {
		return nil
	}
	if err := unix.Kill(p.PID, sig); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signalling process %d: %w", p.PID, err)
	}
	return nil
}

func table(name string, args ...int) ([]backend.Process, error) {
	raw, err := unix.SysctlKinfoProcSlice(name, args...)
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	list := make([]backend.Process, 0, len(raw))
	for i := range raw {
		if raw[i].Proc.P_stat != zombie {
			list = append(list, process(&raw[i]))
		}
	}
	return list, nil
}

func process(k *unix.KinfoProc) backend.Process {
	t := k.Proc.P_starttime
	return backend.Process{
		PID: int(k.Proc.P_pid), PPID: int(k.Eproc.Ppid), UID: int(k.Eproc.Pcred.P_ruid),
		Start:   uint64(t.Sec)*1e6 + uint64(t.Usec),
		Command: unix.ByteSliceToString(k.Proc.P_comm[:]),
	}
}

// closure adds to list what of all descends from it.
func closure(list, all []backend.Process) []backend.Process {
	in := make(map[int]bool, len(list))
	for _, p := range list {
		in[p.PID] = true
	}
	for i := 0; i < len(list); i++ {
		for _, p := range all {
			if p.PPID == list[i].PID && !in[p.PID] {
				in[p.PID] = true
				list = append(list, p)
			}
		}
	}
	return list
}
