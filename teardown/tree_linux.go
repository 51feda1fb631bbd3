package teardown

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/backend"
)

// Complete reports whether Descendants sees everything that descends from a
// process that is a child subreaper.
const Complete = true

// Descendants lists what is alive below root, parents before their children.
// Zombies are left out. It reads only what is below root, unless the kernel
// lacks the children files (CONFIG_PROC_CHILDREN).
func Descendants(root int) ([]backend.Process, error) {
	if !hasChildrenFiles() {
		return scanDescendants(root)
	}
	var list []backend.Process
	seen := map[int]bool{root: true}
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		children, err := ChildPIDs(queue[0])
		if err != nil {
			return nil, err
		}
		for _, pid := range children {
			// A process that moves to a new parent during the walk may be met
			// twice.
			if seen[pid] {
				continue
			}
			seen[pid] = true
			if s, ok := readStat(pid); ok {
				list = append(list, s.process())
				queue = append(queue, pid)
			}
		}
	}
	return list, nil
}

// Children lists what is alive directly below root.
func Children(root int) ([]backend.Process, error) {
	if !hasChildrenFiles() {
		list, err := scanDescendants(root)
		return slices.DeleteFunc(list, func(p backend.Process) bool { return p.PPID != root }), err
	}
	var list []backend.Process
	children, err := ChildPIDs(root)
	if err != nil {
		return nil, err
	}
	for _, pid := range children {
		if s, ok := readStat(pid); ok {
			list = append(list, s.process())
		}
	}
	return list, nil
}

// OnTerminal lists what is alive in session sid with the terminal rdev as its
// controlling terminal, in no order, and what descends from it. For the case
// that whoever could tell the tree is gone: it reads all of /proc.
func OnTerminal(sid int, rdev uint64) ([]backend.Process, error) {
	all, err := scan()
	if err != nil {
		return nil, err
	}
	tty := encodeDevice(rdev)
	var list []backend.Process
	for _, s := range all {
		if s.session == sid && s.tty == tty {
			list = append(list, s.process())
		}
	}
	return closure(list, all), nil
}

// HasTag reports whether pid was started with tag, "NAME=value", in its
// environment. It is false where that cannot be read.
func HasTag(pid int, tag string) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && tag != "" && bytes.Contains(append([]byte{0}, b...), []byte("\x00"+tag+"\x00"))
}

// Inspect returns the living process with the number pid.
func Inspect(pid int) (backend.Process, bool) {
	s, ok := readStat(pid)
	return s.process(), ok
}

// Send sends sig to p, if p is still the process that it was. A process that is
// gone is no error.
func Send(p backend.Process, sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(p.PID, 0)
	switch {
	case err == nil:
		defer unix.Close(fd)
	case errors.Is(err, unix.ESRCH):
		return nil
	default:
		fd = -1 // older than Linux 5.3, or no descriptor left
	}
	// Now the descriptor stands for whatever had the number at the open; that it
	// is p shows only here.
	if s, ok := readStat(p.PID); !ok || s.start != p.Start {
		return nil
	}
	if fd >= 0 {
		err = unix.PidfdSendSignal(fd, sig, nil, 0)
	} else {
		err = unix.Kill(p.PID, sig)
	}
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signalling process %d: %w", p.PID, err)
	}
	return nil
}

// stat is what is needed of /proc/PID/stat (proc_pid_stat(5)).
type stat struct {
	pid, ppid, session int
	tty                int
	start              uint64
	command            string
}

func (s stat) process() backend.Process {
	if s.pid == 0 {
		return backend.Process{}
	}
	return backend.Process{PID: s.pid, PPID: s.ppid, UID: realUID(s.pid), Start: s.start, Command: s.command}
}

// readStat reports false for a process that is gone or a zombie.
func readStat(pid int) (stat, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, false
	}
	return parseStat(b)
}

func parseStat(b []byte) (stat, bool) {
	// The command may itself hold spaces and parentheses.
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 1 || end < open {
		return stat{}, false
	}
	// f[0] is the third field, the state.
	f := bytes.Fields(b[end+1:])
	if len(f) < 20 {
		return stat{}, false
	}
	num := func(b []byte) int {
		n, _ := strconv.Atoi(string(b)) // the kernel writes numbers
		return n
	}
	// The leading thread may have ended before the others: the state is Z, but
	// there are more threads.
	if s := f[0][0]; s == 'X' || s == 'Z' && num(f[17]) <= 1 {
		return stat{}, false
	}
	start, err := strconv.ParseUint(string(f[19]), 10, 64)
	if err != nil {
		return stat{}, false
	}
	return stat{
		pid: num(bytes.TrimSpace(b[:open])), ppid: num(f[1]), session: num(f[3]), tty: num(f[4]),
		start: start, command: string(b[open+1 : end]),
	}, true
}

// realUID returns the real user of pid, -1 when it is gone. The owner of
// /proc/PID would be root for an undumpable process.
func realUID(pid int) int {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return -1
	}
	_, rest, _ := bytes.Cut(b, []byte("\nUid:"))
	f := bytes.Fields(rest[:min(len(rest), 64)])
	if len(f) == 0 {
		return -1
	}
	uid, err := strconv.Atoi(string(f[0]))
	if err != nil {
		return -1
	}
	return uid
}

// ChildPIDs returns the children of every thread of pid, zombies included. A
// process that is gone has none; what could not be looked at is an error, such as
// without a descriptor to be had.
func ChildPIDs(pid int) ([]int, error) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	f, err := os.Open(dir)
	if err != nil {
		return nil, unlessGone(err)
	}
	threads, _ := f.Readdirnames(-1) // what was read before the process ended is used
	_ = f.Close()                    // nothing was written
	var pids []int
	for _, tid := range threads {
		b, err := os.ReadFile(dir + "/" + tid + "/children")
		if err := unlessGone(err); err != nil {
			return nil, err
		}
		for _, field := range bytes.Fields(b) {
			if n, err := strconv.Atoi(string(field)); err == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids, nil
}

// unlessGone is err, unless it says that there is no such process.
func unlessGone(err error) error {
	if err == nil || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return nil
	}
	return fmt.Errorf("listing processes: %w", err)
}

func hasChildrenFiles() bool {
	return unix.Access("/proc/thread-self/children", unix.F_OK) == nil
}

// scan lists every living process, or those that hidepid lets us see.
func scan() ([]stat, error) {
	f, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	names, err := f.Readdirnames(-1)
	_ = f.Close() // nothing was written
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var all []stat
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, ok := readStat(pid); ok {
			all = append(all, s)
		}
	}
	return all, nil
}

func scanDescendants(root int) ([]backend.Process, error) {
	all, err := scan()
	if err != nil {
		return nil, err
	}
	list := closure([]backend.Process{{PID: root}}, all)
	return list[1:], nil
}

// closure adds to list what of all descends from it.
func closure(list []backend.Process, all []stat) []backend.Process {
	in := make(map[int]bool, len(list))
	for _, p := range list {
		in[p.PID] = true
	}
	for i := 0; i < len(list); i++ {
		for _, s := range all {
			if s.ppid == list[i].PID && !in[s.pid] {
				in[s.pid] = true
				list = append(list, s.process())
			}
		}
	}
	return list
}

// encodeDevice puts a device number as stat(2) gives it into the form of
// /proc/PID/stat (new_encode_dev of the kernel's kdev_t.h).
func encodeDevice(rdev uint64) int {
	major, minor := unix.Major(rdev), unix.Minor(rdev)
	return int(int32(minor&0xff | major<<8 | minor&^0xff<<12))
}
