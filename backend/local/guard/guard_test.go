package guard

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestImports holds what a guard costs: each session has one, and what is
// imported here is initialised in it.
func TestImports(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs go")
	}
	out, err := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	allowed := []string{
		"context", "encoding/json", "errors", "os", "os/signal", "path/filepath", "strconv", "strings", "sync",
		"syscall", "time", "golang.org/x/sys/unix",
		// The restriction has to be made on all threads of the guard at once. No
		// measurable part of its start: see BenchmarkStart.
		"github.com/landlock-lsm/go-landlock/landlock", "github.com/landlock-lsm/go-landlock/landlock/syscall",
		"github.com/ptykeep/ptykeep/backend", "github.com/ptykeep/ptykeep/teardown",
	}
	for _, path := range strings.Fields(string(out)) {
		if !slices.Contains(allowed, path) {
			t.Errorf("imports %s", path)
		}
	}
	out, err = exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(out)) {
		if path == "net" || strings.HasPrefix(path, "net/") || path == "os/exec" || path == "log/slog" {
			t.Errorf("depends on %s", path)
		}
	}
}

func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"a/tool": 0o600, "b/tool": 0o700, "a/plain": 0o600, "b/dir/x": 0o600} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	path := "PATH=" + dir + "/a:" + dir + "/b:" + dir + "/none"
	for _, c := range []struct {
		name string
		env  []string
		want string
		err  error
	}{
		{"tool", []string{path}, dir + "/b/tool", nil},
		{"plain", []string{path}, "", unix.EACCES},
		{"dir", []string{path}, "", unix.ENOENT},
		{"other", []string{path}, "", unix.ENOENT},
		{"tool", []string{"PATH=/none", path}, dir + "/b/tool", nil},
		{"./other", []string{path}, "./other", nil},
		{"tool", []string{"PATH="}, "", unix.ENOENT},
		{"ptykeep-no-such-program", nil, "", unix.ENOENT},
	} {
		if got, err := lookPath(c.name, c.env); got != c.want || err != c.err {
			t.Errorf("got %q, %v, want %q, %v for %s with %q", got, err, c.want, c.err, c.name, c.env)
		}
	}
}

func TestErrnoIsKept(t *testing.T) {
	f := failed("step", &os.PathError{Op: "open", Path: "x", Err: syscall.ENOTDIR}, "x")
	if f.Errno != syscall.ENOTDIR {
		t.Errorf("got %v, want ENOTDIR", f.Errno)
	}
}

// BenchmarkStart measures a guard that finds nobody at its control socket: its
// start, initialisation and end.
func BenchmarkStart(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		cmd := exec.Command(self)
		cmd.Args = []string{Name}
		_ = cmd.Run() // exits with 1: no control socket
	}
}
