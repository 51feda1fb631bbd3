//go:build amd64 || arm64

package local

import (
	"bytes"
	"strconv"
	"time"
)

// call is what /proc/P/task/T/syscall says (proc(5)): the call that a thread
// sleeps in. The kernel gives numbers only for a thread that is off the CPU and
// stays off while they are collected (lib/syscall.c, task_current_syscall).
type call struct {
	running bool
	number  int // -1: asleep outside any call, in a page fault or stopped
	args    [6]uint64
	sp, pc  uint64
}

// status is the part of /proc/P/task/T/stat that waits uses.
type status struct {
	state         byte
	ppid          int
	pgrp, session int
	tty           uint64 // controlling terminal, 0 when there is none
	tpgid         int
}

// stopped reports whether a signal or a tracer holds the thread. Its call then
// looks just like that of one that waits.
func (s status) stopped() bool { return s.state == 'T' || s.state == 't' }

// dead reports whether the thread has ended and only its number is left.
func (s status) dead() bool { return s.state == 'Z' || s.state == 'X' || s.state == 'x' }

// proc reads /proc. Its buffers are used again by the next read.
type proc struct {
	kernel
	path []byte
	text [16 << 10]byte // longest: fdinfo of an epoll with some 200 members
}

// at is the path of a file of a process, or of one of its threads.
func (p *proc) at(pid, tid int, name string) []byte {
	b := strconv.AppendInt(p.path[:0], int64(pid), 10)
	if tid != 0 {
		b = append(b, "/task/"...)
		b = strconv.AppendInt(b, int64(tid), 10)
	}
	b = append(b, name...)
	p.path = append(b, 0)
	return p.path
}

func (p *proc) file(pid, fd int, dir string) []byte {
	b := p.at(pid, 0, dir)
	b = strconv.AppendInt(b[:len(b)-1], int64(fd), 10)
	p.path = append(b, 0)
	return p.path
}

// tasks appends the threads of a process. The links of its task directory say
// how many there are (fs/proc/base.c, proc_task_getattr), which saves listing
// the one of most.
func (p *proc) tasks(pid int, ids []int) ([]int, error) {
	dir, err := p.stat(p.at(pid, 0, "/task"))
	if err != nil {
		return ids, err
	}
	if dir.links == 3 {
		return append(ids, pid), nil
	}
	return p.list(p.at(pid, 0, "/task"), ids)
}

// children appends the children that one thread of a process started.
func (p *proc) children(pid, tid int, ids []int) ([]int, error) {
	n, err := p.read(p.at(pid, tid, "/children"), p.text[:], true)
	if err != nil {
		return ids, err
	}
	for b := p.text[:n]; len(b) > 0; {
		id, rest := number(b)
		if len(rest) == len(b) {
			break
		}
		ids = append(ids, int(id))
		b = bytes.TrimLeft(rest, " ")
	}
	return ids, nil
}

func (p *proc) call(pid, tid int) (call, error) {
	n, err := p.read(p.at(pid, tid, "/syscall"), p.text[:], true)
	if err != nil {
		return call{}, err
	}
	return parseCall(p.text[:n]), nil
}

// parseCall reads "running", "-1 sp pc" or "nr args sp pc". What it cannot read
// counts as running: the look is then a miss.
func parseCall(b []byte) call {
	if bytes.HasPrefix(b, []byte("-1 ")) {
		c := call{number: -1}
		c.sp, b = hex(b[3:])
		c.pc, _ = hex(b)
		return c
	}
	nr, rest := number(b)
	if len(rest) == len(b) {
		return call{running: true}
	}
	c := call{number: int(nr)}
	for i := range c.args {
		c.args[i], rest = hex(rest)
	}
	c.sp, rest = hex(rest)
	c.pc, _ = hex(rest)
	return c
}

// runs is how often a thread has been put on a CPU, the third number of
// /proc/P/task/T/schedstat (kernel/sched/stats.h, sched_info_arrive). A kernel
// without it prints zeros; voluntary switches, at six times the cost, then
// count the sleeps.
func (p *proc) runs(pid, tid int) (uint64, error) {
	n, err := p.read(p.at(pid, tid, "/schedstat"), p.text[:], true)
	if err == nil {
		line := bytes.TrimRight(p.text[:n], "\n")
		if runs, _ := number(line[bytes.LastIndexByte(line, ' ')+1:]); runs != 0 {
			return runs, nil
		}
	}
	n, err = p.read(p.at(pid, tid, "/status"), p.text[:], true)
	if err != nil {
		return 0, err
	}
	_, after, _ := bytes.Cut(p.text[:n], []byte("\nvoluntary_ctxt_switches:"))
	runs, _ := number(bytes.TrimLeft(after, " \t"))
	return runs, nil
}

func (p *proc) status(pid, tid int) (status, error) {
	n, err := p.read(p.at(pid, tid, "/stat"), p.text[:], true)
	if err != nil {
		return status{}, err
	}
	s, ok := parseStatus(p.text[:n])
	if !ok {
		return status{}, errInconsistent
	}
	return s, nil
}

// parseStatus reads "pid (name) state ppid pgrp session tty_nr tpgid …"; the
// name may hold anything, so it ends at the last parenthesis.
func parseStatus(b []byte) (status, bool) {
	end := bytes.LastIndexByte(b, ')')
	if end < 0 || end+3 >= len(b) {
		return status{}, false
	}
	s := status{state: b[end+2]}
	rest := b[end+3:]
	var fields [5]int // ppid is field 4, tpgid 8
	for i := range fields {
		if len(rest) < 2 {
			return status{}, false
		}
		rest = rest[1:]
		negative := rest[0] == '-'
		if negative {
			rest = rest[1:]
		}
		var n uint64
		n, rest = number(rest)
		if fields[i] = int(n); negative {
			fields[i] = -fields[i]
		}
	}
	s.ppid, s.pgrp, s.session = fields[0], fields[1], fields[2]
	s.tpgid = fields[4]
	s.tty = uint64(uint32(fields[3]))
	return s, true
}

// used is the CPU time of a process: of its threads to the nanosecond
// (/proc/P/task/T/schedstat, first number), of its children that have ended in
// clock ticks (/proc/P/stat, cutime and cstime). A kernel without schedstat
// prints zeros; ticks then count for all.
func (p *proc) used(pid int, tids []int) (time.Duration, error) {
	n, err := p.read(p.at(pid, 0, "/stat"), p.text[:], true)
	if err != nil {
		return 0, err
	}
	own, children, ok := parseTicks(p.text[:n])
	if !ok {
		return 0, errInconsistent
	}
	var exact time.Duration
	for _, tid := range tids {
		if n, err := p.read(p.at(pid, tid, "/schedstat"), p.text[:], true); err == nil {
			ns, _ := number(p.text[:n])
			exact += time.Duration(ns)
		}
	}
	if exact == 0 {
		exact = time.Duration(own) * clockTick
	}
	return exact + time.Duration(children)*clockTick, nil
}

// parseTicks reads utime and stime, fields 14 and 15 of /proc/P/stat, and the
// two for children that follow them.
func parseTicks(b []byte) (own, children uint64, ok bool) {
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) // from field 3 on
	if len(fields) < 15 {
		return 0, 0, false
	}
	var n [4]uint64
	for i := range n {
		var rest []byte
		if n[i], rest = number(fields[11+i]); len(rest) > 0 {
			return 0, 0, false
		}
	}
	return n[0] + n[1], n[2] + n[3], true
}

// name is a process's name and a space, or nothing.
func (p *proc) name(pid int) string {
	n, err := p.read(p.at(pid, pid, "/stat"), p.text[:], true)
	open, end := bytes.IndexByte(p.text[:n], '('), bytes.LastIndexByte(p.text[:n], ')')
	if err != nil || open < 0 || end < open {
		return ""
	}
	return string(p.text[open+1:end]) + " "
}

// number reads decimal digits. With none, rest is b itself.
func number(b []byte) (n uint64, rest []byte) {
	i := 0
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		n = n*10 + uint64(b[i]-'0')
		i++
	}
	return n, b[i:]
}

// hex reads a hexadecimal number, with or without 0x, after spaces.
func hex(b []byte) (n uint64, rest []byte) {
	b = bytes.TrimPrefix(bytes.TrimLeft(b, " "), []byte("0x"))
	for i, c := range b {
		switch {
		case '0' <= c && c <= '9':
			n = n<<4 | uint64(c-'0')
		case 'a' <= c && c <= 'f':
			n = n<<4 | uint64(c-'a'+10)
		default:
			return n, b[i:]
		}
	}
	return n, nil
}
