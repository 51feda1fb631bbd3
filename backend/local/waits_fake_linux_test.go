//go:build amd64 || arm64

package local

import (
	"encoding/binary"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/backend"
)

// numbersAMD64 and numbersARM64 are tables of their own, so that both are tried
// on either machine. The arm64 numbers are those of asm-generic/unistd.h.
var (
	numbersAMD64 = map[int]op{0: opRead, 19: opRead, 1: opWrite, 23: opSelect, 270: opPselect, 7: opPoll, 271: opPpoll,
		232: opEpoll, 281: opEpoll, 441: opEpoll2, 426: opUring, 202: opFutex, 61: opWait4, 247: opWaitid,
		130: opSigsuspend, 34: opPause, 128: opSigtimedwait, 219: opRestart, 230: opNanosleep, 42: opSocket, 275: opSplice}
	numbersARM64 = map[int]op{63: opRead, 65: opRead, 64: opWrite, 72: opPselect, 73: opPpoll, 22: opEpoll, 441: opEpoll2,
		426: opUring, 98: opFutex, 260: opWait4, 95: opWaitid, 133: opSigsuspend, 137: opSigtimedwait, 128: opRestart,
		115: opNanosleep, 203: opSocket, 76: opSplice}
)

// The made-up system: the session's terminal, a guard, a shell with the process
// 100 in the foreground.
const (
	fakeTTY   = 0x8805 // /dev/pts/5
	fakePipes = 14
	fakeGuard = 50
	fakeShell = 60
)

// fake is a kernel made of maps from paths to contents.
type fake struct {
	files  map[string]string
	errs   map[string]error
	tasks  map[string][]int
	inodes map[string]inode
	links  map[string]string
	mem    map[uint64][]byte
	groups map[int][2]int
}

func newFake() *fake {
	f := &fake{files: map[string]string{}, errs: map[string]error{}, tasks: map[string][]int{}, inodes: map[string]inode{},
		links: map[string]string{}, mem: map[uint64][]byte{}, groups: map[int][2]int{}}
	f.process(fakeGuard, 0, 40, 40, "202 0 80 0 0 0 0")
	f.process(fakeShell, fakeGuard, fakeShell, fakeShell, "61 ffffffff 0 0 0 0 0")
	return f
}

// process adds a process with the given threads, each as its system call.
func (f *fake) process(pid, parent, pgrp, session int, calls ...string) {
	f.groups[pid] = [2]int{pgrp, session}
	tids := []int{}
	for i, c := range calls {
		tid := pid + i*1000
		tids = append(tids, tid)
		if c != "running" {
			c += " 0x7ffd00000000 0x7f0000000000"
		}
		at := fmt.Sprintf("%d/task/%d/", pid, tid)
		f.files[at+"syscall"] = c + "\n"
		f.files[at+"schedstat"] = "1 2 3\n"
		f.files[at+"children"] = ""
		f.state(pid, tid, 'S', fakeTTY)
	}
	dir := fmt.Sprintf("%d/task", pid)
	f.tasks[dir] = tids
	f.inodes[dir] = inode{links: uint64(2 + len(tids))}
	if parent != 0 {
		f.files[fmt.Sprintf("%d/task/%d/children", parent, parent)] += fmt.Sprintf("%d ", pid)
	}
	f.fd(pid, 0, unix.S_IFCHR, fakeTTY, "")
}

func (f *fake) state(pid, tid int, state byte, tty int) {
	g := f.groups[pid]
	f.files[fmt.Sprintf("%d/task/%d/stat", pid, tid)] = fmt.Sprintf("%d (a (b) c) %c %d %d %d %d 100 0 0 0 0 0 0 0 0 0 20 0 1 0 5 6\n",
		pid, state, fakeShell, g[0], g[1], tty)
}

func (f *fake) fd(pid, fd int, mode uint32, rdev uint64, link string) {
	path := fmt.Sprintf("%d/fd/%d", pid, fd)
	i := inode{mode: mode, rdev: rdev, ino: uint64(1000 + fd)}
	if mode == unix.S_IFIFO && link == "" {
		i.dev = fakePipes
	}
	f.inodes[path] = i
	f.links[path] = link
}

func (f *fake) look(numbers map[int]op) (backend.Wait, int, string) {
	w := &waits{root: fakeShell, start: fakeGuard, numbers: numbers, pipes: fakePipes, rdev: fakeTTY,
		dup: func(int, int) (innerPTY, error) { return nil, unix.EPERM }}
	w.proc.kernel = f
	return w.look(100)
}

func key(path []byte) string { return strings.TrimSuffix(string(path), "\x00") }

func (f *fake) read(path, buf []byte, _ bool) (int, error) {
	if err := f.errs[key(path)]; err != nil {
		return 0, err
	}
	text, ok := f.files[key(path)]
	if !ok {
		return 0, unix.ENOENT
	}
	return copy(buf, text), nil
}

func (f *fake) list(path []byte, ids []int) ([]int, error) {
	list, ok := f.tasks[key(path)]
	if !ok {
		return ids, unix.ENOENT
	}
	return append(ids, list...), nil
}

func (f *fake) stat(path []byte) (inode, error) {
	i, ok := f.inodes[key(path)]
	if !ok {
		return inode{}, unix.ENOENT
	}
	return i, nil
}

func (f *fake) link(path, buf []byte) (int, error) {
	return copy(buf, f.links[key(path)]), nil
}

func (f *fake) memory(_ int, addr uint64, buf []byte) error {
	b, ok := f.mem[addr]
	if !ok {
		return unix.EFAULT
	}
	copy(buf, b)
	return nil
}

func (f *fake) group(pid int) (pgrp, session int, err error) {
	g, ok := f.groups[pid]
	if !ok {
		return 0, 0, unix.ESRCH
	}
	return g[0], g[1], nil
}

// words is memory of 64-bit words.
func words(ws ...uint64) (b []byte) {
	for _, w := range ws {
		b = binary.NativeEndian.AppendUint64(b, w)
	}
	return b
}

// pollfd is a struct pollfd.
func pollfd(fd int32, events uint16) uint64 { return uint64(uint32(fd)) | uint64(events)<<32 }

// furnished has descriptors of all kinds and memory with their sets.
func furnished(calls ...string) *fake {
	f := newFake()
	f.process(100, fakeShell, 100, fakeShell, calls...)
	f.fd(100, 3, unix.S_IFIFO, 0, "")
	f.fd(100, 4, unix.S_IFSOCK, 0, "socket:[1]")
	f.fd(100, 5, unix.S_IFCHR, devTTY, "")
	f.fd(100, 6, unix.S_IFCHR, devPtmx, "")
	f.fd(100, 7, 0, 0, "anon_inode:[eventfd]")
	f.fd(100, 8, 0, 0, "anon_inode:[timerfd]")
	f.fd(100, 9, 0, 0, "anon_inode:[eventpoll]")
	f.fd(100, 10, 0, 0, "anon_inode:[eventpoll]")
	f.fd(100, 11, unix.S_IFREG, 0, "/etc/passwd")
	f.fd(100, 12, unix.S_IFIFO, 0, "/tmp/fifo")
	f.fd(100, 13, unix.S_IFCHR, 0x8806, "/dev/pts/6")
	f.fd(100, 14, 0, 0, "anon_inode:[eventpoll]")
	f.files["100/fdinfo/9"] = "pos:\t0\nflags:\t02\ntfd:        0 events:       19 data:                0  pos:0 ino:3e8 sdev:18\n" +
		"tfd:        7 events: 80000001 data:        7  pos:0 ino:3ef sdev:e\n"
	f.files["100/fdinfo/10"] = "tfd:        9 events:        1 data: 0  pos:0 ino:3f1 sdev:e\n"
	f.files["100/fdinfo/14"] = "tfd:        0 events:       19 data: 0  pos:0 ino:3e8 sdev:18\ntfd:        4 events: 40000000 data: 0  pos:0 ino:3ec sdev:8\n" +
		"tfd:        7 events:  1 data: 0  pos:0 ino:fff sdev:8\n"
	f.mem[0x10] = words(1) // descriptor 0
	f.mem[0x18] = words(1 | 1<<3 | 1<<7)
	f.mem[0x20] = words(1 | 1<<4)
	f.mem[0x28] = words(5, 0)  // 5 s
	f.mem[0x30] = words(60, 0) // 60 s
	f.mem[0x38] = words(1 << 7)
	f.mem[0x40] = words(pollfd(0, unix.POLLIN), pollfd(7, unix.POLLIN), pollfd(-1, unix.POLLIN))
	f.mem[0x48] = words(pollfd(0, unix.POLLPRI), pollfd(7, unix.POLLIN))
	f.mem[0x50] = words(pollfd(0, unix.POLLOUT))
	f.mem[0x58] = words(pollfd(0, 0x40), pollfd(6, unix.POLLIN))
	return f
}
