package guard

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/teardown"
)

// defaultPath is searched when the environment has no PATH.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// start runs the program on the terminal and gives the terminal up. It uses
// syscall.ForkExec and not os/exec, which would wait for its child itself.
func (g *guard) start() (backend.Process, *Failed) {
	defer func() { _ = unix.Close(SlaveFD) }() // it is written to by nobody here

	// The guard itself enters the directory, so that a directory's error can be
	// told from the program's.
	if err := unix.Chdir(string(g.spec.Dir)); err != nil {
		return backend.Process{}, failed(backend.StepDirectory, err, string(g.spec.Dir))
	}
	// A directory that a guard stands in could not be unmounted. / can always
	// be entered.
	defer func() { _ = unix.Chdir("/") }()

	argv, env := texts(g.spec.Argv), texts(g.spec.Env)
	if len(argv) == 0 {
		return backend.Process{}, failed(backend.StepProgram, unix.EINVAL, "")
	}
	path, err := lookPath(argv[0], env)
	if err != nil {
		return backend.Process{}, failed(backend.StepProgram, err, argv[0])
	}
	path, argv, confineFailed := g.confine(path, argv)
	if confineFailed != nil {
		return backend.Process{}, confineFailed
	}
	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{
		Env:   env,
		Files: []uintptr{SlaveFD, SlaveFD, SlaveFD},
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0},
	})
	if err != nil {
		return backend.Process{}, failed(backend.StepProgram, err, path)
	}
	// Nothing is reaped yet, so pid still is this program. It is seen as gone
	// when it has ended already; then its number is all that is wanted.
	p, ok := teardown.Inspect(pid)
	if !ok {
		p = backend.Process{PID: pid, PPID: os.Getpid()}
	}
	return p, nil
}

func failed(step string, err error, path string) *Failed {
	f := &Failed{Step: step, Path: []byte(path), Errno: unix.EINVAL}
	_ = errors.As(err, &f.Errno) // a system call gave it
	return f
}

// lookPath finds name in PATH of env as execvp(3) does. The working directory
// is the program's.
func lookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := defaultPath
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	notFound := unix.ENOENT
	for _, dir := range filepath.SplitList(path) {
		if dir == "" {
			dir = "."
		}
		file := dir + "/" + name
		var st unix.Stat_t
		if unix.Stat(file, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
			continue
		}
		if unix.Access(file, unix.X_OK) == nil {
			return file, nil
		}
		notFound = unix.EACCES
	}
	return "", notFound
}

func texts(list [][]byte) []string {
	s := make([]string, len(list))
	for i, b := range list {
		s[i] = string(b)
	}
	return s
}
