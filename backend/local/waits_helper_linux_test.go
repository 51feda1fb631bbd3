//go:build amd64 || arm64

package local

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// waitsHelper names the environment variable that makes the test binary a
// program of these tests instead.
const waitsHelper = "PTYKEEP_WAITS_HELPER"

// init is the entry of the helper programs: before the test framework, so that
// they behave as programs of their own.
func init() {
	name := os.Getenv(waitsHelper)
	if name == "" {
		return
	}
	helpers := map[string]func(){
		"guard": guardHelper, "read": readHelper, "readv": readvHelper, "threads": threadsHelper,
		"timer": timerHelper, "devtty": devttyHelper, "uring": func() { uringHelper(false) },
		"uringtimer": func() { uringHelper(true) }, "work": workHelper,
		"hog": hogHelper,
	}
	run, ok := helpers[name]
	if !ok {
		fmt.Println("no helper", name)
		os.Exit(2)
	}
	run()
	os.Exit(0)
}

// guardHelper starts its arguments on the terminal that is its stdin, says
// their process on descriptor 3, and ends all of it when descriptor 4 ends.
func guardHelper() {
	unix.CloseOnExec(3)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	unix.CloseOnExec(4)
	os.Unsetenv(waitsHelper)
	if helper := os.Getenv("RUN_HELPER"); helper != "" {
		os.Setenv(waitsHelper, helper)
	}
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdin, os.Stdin
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Stdin.Close()
	report := os.NewFile(3, "report")
	fmt.Fprintln(report, cmd.Process.Pid)
	report.Close()
	go reap()
	_, _ = unix.Read(4, make([]byte, 1)) // the end is all that can come
	killAll()
}

// reap buries orphans until killAll takes over; it ends with the process.
func reap() {
	for {
		var st unix.WaitStatus
		if _, err := unix.Wait4(-1, &st, 0, nil); err == unix.ECHILD {
			return
		}
	}
}

// killAll kills direct children until there are none: every process of the
// session becomes one.
func killAll() {
	p := proc{}
	fs, err := newProcfs()
	if err != nil {
		panic(err)
	}
	p.kernel = fs
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		tasks, _ := p.tasks(os.Getpid(), nil)
		var kids []int
		for _, tid := range tasks {
			kids, _ = p.children(os.Getpid(), tid, kids)
		}
		if len(kids) == 0 {
			return
		}
		for _, kid := range kids {
			_ = unix.Kill(kid, unix.SIGKILL) // gone is as good
		}
	}
}

// readHelper is the ordinary Go program that reads lines.
func readHelper() {
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println("got", in.Text())
	}
}

func readvHelper() {
	fmt.Println("ready")
	b := make([]byte, 100)
	_, _ = unix.Readv(0, [][]byte{b[:50], b[50:]})
}

// devttyHelper reads /dev/tty with descriptor 0 closed.
func devttyHelper() {
	unix.Close(0)
	unix.Open("/dev/null", unix.O_RDONLY, 0)
	tty, err := unix.Open("/dev/tty", unix.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	fmt.Println("ready")
	_, _ = unix.Read(tty, make([]byte, 10))
}

// threadsHelper has 20 threads that wait for each other while one reads.
func threadsHelper() {
	var pair [2]int
	if err := unix.Pipe(pair[:]); err != nil {
		panic(err)
	}
	for range 20 {
		go func() { _, _ = unix.Read(pair[0], make([]byte, 1)) }() // ends with the process
	}
	readHelper()
}

// timerHelper reads while another goroutine sleeps: its timer will run out.
func timerHelper() {
	go func() {
		for {
			time.Sleep(3 * time.Second)
		}
	}()
	readHelper()
}

// workHelper reads in one thread while another computes.
func workHelper() {
	go func() {
		for n := 0; ; n++ {
			_ = strings.Repeat("x", n%100)
		}
	}()
	readHelper()
}

// uringHelper reads the terminal through an io_uring, with a time-out beside it
// or without.
func uringHelper(timer bool) {
	var params [120]byte // struct io_uring_params
	ring, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)), 0)
	if errno != 0 {
		fmt.Println("no io_uring:", errno)
		return
	}
	u32 := func(b []byte, at uint32) *uint32 { return (*uint32)(unsafe.Pointer(&b[at])) }
	const offSQ = 40 // sq_off: head, tail, ring_mask, ring_entries, flags, dropped, array
	tail, array := *u32(params[:], offSQ+4), *u32(params[:], offSQ+24)
	sq, err := unix.Mmap(int(ring), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	sqes, err := unix.Mmap(int(ring), 0x10000000, 4*64, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	buf, ts := make([]byte, 100), [2]int64{50, 0}
	put := func(i int, op byte, fd int32, off int64, addr unsafe.Pointer, n uint32) {
		e := sqes[i*64:]
		e[0] = op
		*(*int32)(unsafe.Pointer(&e[4])) = fd
		*(*int64)(unsafe.Pointer(&e[8])) = off
		*(*uintptr)(unsafe.Pointer(&e[16])) = uintptr(addr)
		*u32(e, 24) = n
		*u32(sq, array+uint32(4*i)) = uint32(i)
	}
	put(0, 22, 0, -1, unsafe.Pointer(&buf[0]), 100) // IORING_OP_READ
	n := uint32(1)
	if timer {
		put(1, 11, -1, 0, unsafe.Pointer(&ts), 1) // IORING_OP_TIMEOUT
		n = 2
	}
	*u32(sq, tail) = n
	fmt.Println("ready")
	_, _, _ = unix.Syscall6(unix.SYS_IO_URING_ENTER, ring, uintptr(n), 1, 1, 0, 0)
}

// hogHelper keeps a CPU busy until it is killed.
func hogHelper() {
	for os.Getpid() != 0 {
	}
}
