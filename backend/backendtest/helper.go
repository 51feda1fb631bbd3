package backendtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/backend"
)

// helperArg as first argument makes the test binary a program for tests.
const helperArg = "ptykeep-test-helper"

// Main runs the tests of a package that calls Run. Call it from TestMain. The
// test binary is also the programs that the tests run, and the server that is
// killed; the latter starts its terminals with what start returns.
func Main(m *testing.M, start func() (backend.Backend, error)) {
	if len(os.Args) > 2 && os.Args[1] == helperArg {
		if os.Args[2] == "server" {
			serve(start, os.Args[3:])
		} else {
			help(os.Args[2], os.Args[3:])
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Helper returns the command line of a helper program.
//
//	lines N CODE    writes the numbers 1 to N, a line each, and exits with CODE
//	die SIGNAL      kills itself
//	sleep MARK      writes "ready" and stays
//	deaf MARK       the same, and ignores HUP, INT and TERM
//	daemon MARK     starts a deaf one in a session of its own, and exits
//	orphan MARK     starts a deaf one on the terminal, and exits with 5
//	raw MARK        raw mode, ISIG off; writes "ready", reads nothing; tells of SIGINT
//	fds             writes the descriptors that it was started with
//	size            writes "size COLSxROWS"
func Helper(t testing.TB, mode string, args ...string) []string {
	t.Helper()
	return append(helper(mode), args...)
}

func helper(mode string, args ...string) []string {
	self, err := os.Executable()
	if err != nil {
		panic(err) // the test binary is there
	}
	return append([]string{self, helperArg, mode}, args...)
}

func help(mode string, args []string) {
	switch mode {
	case "lines":
		n, code := number(args[0]), number(args[1])
		var b strings.Builder
		for i := 1; i <= n; i++ {
			fmt.Fprintln(&b, i)
		}
		fmt.Print(b.String())
		os.Exit(code)
	case "die":
		sig := syscall.Signal(number(args[0]))
		signal.Reset(sig)
		_ = unix.Kill(os.Getpid(), sig) // it is our own
		stay()
	case "deaf":
		signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGTERM)
		fallthrough
	case "sleep":
		fmt.Println("ready")
		stay()
	case "daemon":
		launch("deaf", args[0], &syscall.SysProcAttr{Setsid: true}, nil)
	case "orphan":
		// Inherited: our end hangs the terminal up, before the other can see to
		// that itself.
		signal.Ignore(unix.SIGHUP)
		launch("deaf", args[0], nil, os.Stdout)
		os.Exit(5)
	case "raw":
		raw()
	case "fds":
		for fd := range 1024 {
			// What Go itself has opened is closed on exec; what was inherited
			// cannot be.
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
				fmt.Print("fd", fd, " ")
			}
		}
	case "size":
		ws, err := unix.IoctlGetWinsize(0, unix.TIOCGWINSZ)
		if err != nil {
			ws = &unix.Winsize{}
		}
		fmt.Printf("size %dx%d\n", ws.Col, ws.Row)
	}
}

// launch starts another helper and does not wait for it.
func launch(mode, mark string, attr *syscall.SysProcAttr, out *os.File) {
	argv := helper(mode, mark)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = attr
	if out != nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, out, out
	}
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func raw() {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, unix.SIGINT)
	tio, err := unix.IoctlGetTermios(0, getTermios)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	tio.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG
	tio.Iflag &^= unix.ICRNL
	if err := unix.IoctlSetTermios(0, setTermios, tio); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("ready")
	for range interrupts {
		fmt.Println("interrupted")
	}
}

// serve is a server that is killed: it starts a session with each of the
// commands, which are separated by "--", and stays.
func serve(start func() (backend.Backend, error), args []string) {
	b, err := start()
	for _, command := range strings.Split(strings.Join(args, "\n"), "\n--\n") {
		if err != nil {
			break
		}
		var term backend.Terminal
		term, err = b.Start(context.Background(), spec(strings.Split(command, "\n")...))
		if err == nil {
			// Ends with the process.
			go func() { _, _ = discard(term) }()
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("serving")
	stay()
}

func stay() { time.Sleep(10 * time.Minute) }

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err) // a test's mistake
	}
	return n
}
