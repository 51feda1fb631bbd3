//go:build amd64 || arm64

package local

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernel is what waits asks the system. Paths are relative to /proc and end in
// a NUL byte. Tests put a made-up system in its place.
type kernel interface {
	read(path, buf []byte, keep bool) (int, error) // a whole file, as far as it fits
	list(path []byte, ids []int) ([]int, error)    // the names that are numbers
	stat(path []byte) (inode, error)
	link(path, buf []byte) (int, error)
	memory(pid int, addr uint64, buf []byte) error
	group(pid int) (pgrp, session int, err error)
}

// inode is the part of a stat(2) that waits uses.
type inode struct {
	mode           uint32
	links          uint64
	dev, ino, rdev uint64
}

// maxKept bounds the open /proc files of one session. A shell with one program
// needs about a dozen: those of the guard's threads, the shell, the program. A
// program like node, with 7 threads, needs 50.
const maxKept = 64

// procfs is the running system. Reading a file that is kept open takes a third
// of the time that opening it afresh does (0.3-0.9 µs against 1.2-2.1 µs), and
// a kept file cannot come to mean another process: it fails with ESRCH when
// its own is gone.
type procfs struct {
	dir  int            // /proc itself: saves the lookup of one component
	kept map[string]int // path to descriptor
	dirs [4096]byte     // for getdents64
}

func newProcfs() (*procfs, error) {
	dir, err := unix.Open("/proc", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &procfs{dir: dir, kept: make(map[string]int)}, nil
}

func (p *procfs) close() {
	p.forget()
	_ = unix.Close(p.dir) // nothing to be done about it
}

func (p *procfs) forget() {
	for _, fd := range p.kept {
		_ = unix.Close(fd) // a read-only descriptor has nothing to lose
	}
	clear(p.kept)
}

func (p *procfs) read(path, buf []byte, keep bool) (int, error) {
	if fd, ok := p.kept[string(path)]; ok {
		if n, err := readAll(fd, buf); err == nil {
			return n, nil
		}
		delete(p.kept, string(path))
		_ = unix.Close(fd) // read-only
	}
	fd, err := p.open(path, unix.O_RDONLY)
	if err != nil {
		return 0, err
	}
	n, err := readAll(fd, buf)
	if err != nil || !keep {
		_ = unix.Close(fd) // read-only
		return n, err
	}
	if len(p.kept) >= maxKept {
		p.forget()
	}
	p.kept[string(path)] = fd
	return n, nil
}

// readAll reads from the start of a seq_file. One that has more than it gave
// always fills its page but for one record (fs/seq_file.c, seq_read_iter), so
// an answer that leaves half a page is the last.
func readAll(fd int, buf []byte) (int, error) {
	for n := 0; ; {
		m, err := unix.Pread(fd, buf[n:], int64(n))
		if err != nil {
			return 0, err
		}
		n += m
		if m < 2048 || n == len(buf) {
			return n, nil
		}
	}
}

func (p *procfs) open(path []byte, flags int) (int, error) {
	fd, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(p.dir), uintptr(unsafe.Pointer(&path[0])),
		uintptr(flags|unix.O_CLOEXEC), 0, 0, 0)
	if errno == unix.EMFILE && len(p.kept) > 0 {
		p.forget()
		return p.open(path, flags)
	}
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

func (p *procfs) list(path []byte, ids []int) ([]int, error) {
	fd, err := p.open(path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return ids, err
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Getdents(fd, p.dirs[:])
		if err != nil || n == 0 {
			return ids, err
		}
		ids = numericNames(p.dirs[:n], ids)
	}
}

// numericNames takes the numbers out of the linux_dirent64 records of
// getdents64(2): ino 8, off 8, reclen 2, type 1, name.
func numericNames(b []byte, ids []int) []int {
	for len(b) > 19 {
		size := int(b[16]) | int(b[17])<<8
		if size < 20 || size > len(b) {
			break
		}
		if id, rest := number(b[19:size]); len(rest) > 0 && rest[0] == 0 && id > 0 {
			ids = append(ids, int(id))
		}
		b = b[size:]
	}
	return ids
}

func (p *procfs) stat(path []byte) (inode, error) {
	var st unix.Stat_t
	_, _, errno := unix.Syscall6(sysFstatat, uintptr(p.dir), uintptr(unsafe.Pointer(&path[0])),
		uintptr(unsafe.Pointer(&st)), 0, 0, 0)
	if errno != 0 {
		return inode{}, errno
	}
	return inode{mode: st.Mode, links: uint64(st.Nlink), dev: st.Dev, ino: st.Ino, rdev: st.Rdev}, nil
}

func (p *procfs) link(path, buf []byte) (int, error) {
	n, _, errno := unix.Syscall6(unix.SYS_READLINKAT, uintptr(p.dir), uintptr(unsafe.Pointer(&path[0])),
		uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

func (p *procfs) memory(pid int, addr uint64, buf []byte) error {
	local := unix.Iovec{Base: &buf[0], Len: uint64(len(buf))}
	remote := unix.RemoteIovec{Base: uintptr(addr), Len: len(buf)}
	n, _, errno := unix.Syscall6(unix.SYS_PROCESS_VM_READV, uintptr(pid), uintptr(unsafe.Pointer(&local)), 1,
		uintptr(unsafe.Pointer(&remote)), 1, 0)
	if errno != 0 {
		return errno
	}
	if int(n) != len(buf) {
		return unix.EFAULT
	}
	return nil
}

func (p *procfs) group(pid int) (pgrp, session int, err error) {
	if pgrp, err = unix.Getpgid(pid); err != nil {
		return 0, 0, err
	}
	session, err = unix.Getsid(pid)
	return pgrp, session, err
}
