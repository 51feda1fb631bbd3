package local

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// fence is a control group (cgroups(7), version 2) of one session: the guard is
// started in it, and nothing that descends from it gets out but by an explicit
// move. So one write kills all of it, whosever it is, also without a guard. It
// is there where the server's own group may be written, as root or where it was
// delegated; a nil *fence does nothing. The guard needs none: this is for what
// the guard may not signal, and for what it leaves when it is killed.
type fence struct {
	dir string
	fd  int // of dir, until begun
}

const (
	fencePrefix = "ptykeep-"
	// fenceBound is how long a fence may take to be empty after the kill. 370
	// processes took 70 ms.
	fenceBound = 5 * time.Second
	fencePause = 5 * time.Millisecond // between two looks; a guess
)

// findGroup returns the directory of the calling process's own group, "" if it
// cannot hold fences, and why.
func findGroup() (dir string, err error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	if dir, err = groupDir(string(mounts), string(own)); err != nil {
		return "", err
	}
	if err := unix.Access(dir, unix.W_OK); err != nil {
		return "", fmt.Errorf("writing %s: %w", dir, err)
	}
	// The root has no such file. A group of threads can have no processes below.
	typ, err := os.ReadFile(filepath.Join(dir, "cgroup.type"))
	if err == nil && string(bytes.TrimSpace(typ)) != "domain" {
		return "", fmt.Errorf("%s is %s", dir, bytes.TrimSpace(typ))
	}
	sweepFences(dir)
	return dir, nil
}

// groupDir finds the group that /proc/self/cgroup names in the mounts of
// /proc/self/mountinfo.
func groupDir(mounts, own string) (string, error) {
	var path string
	for line := range strings.Lines(own) {
		if p, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			path = p
		}
	}
	if !filepath.IsAbs(path) || strings.HasPrefix(path, "/..") {
		return "", errors.New("no control group of version 2 in sight")
	}
	for line := range strings.Lines(mounts) {
		// 36 35 98:0 /root /mount/point options [optional...] - type source super
		f := strings.Fields(line)
		left, right, ok := strings.Cut(line, " - ")
		if !ok || len(f) < 5 || !strings.HasPrefix(right, "cgroup2 ") || strings.Contains(left, `\`) {
			continue // octal escapes: a mount that nobody has
		}
		if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(f[3], "/")); ok && (rest == "" || rest[0] == '/') {
			return filepath.Join(f[4], rest), nil
		}
	}
	return "", errors.New("control groups of version 2 are not mounted")
}

// sweepFences removes what servers left that were killed. One that is just being
// made may go as well: then its session does without.
func sweepFences(dir string) {
	list, _ := filepath.Glob(filepath.Join(dir, fencePrefix+"*")) // the pattern is right
	for _, d := range list {
		f := fence{dir: d}
		f.remove()
	}
}

// newFence makes a fence in the group dir.
func newFence(dir string) (*fence, error) {
	f := &fence{dir: filepath.Join(dir, fencePrefix+rand.Text())}
	if err := os.Mkdir(f.dir, 0o755); err != nil {
		return nil, err
	}
	_, err := os.Stat(filepath.Join(f.dir, "cgroup.kill")) // since Linux 5.14
	if err == nil {
		f.fd, err = unix.Open(f.dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		f.remove()
		return nil, err
	}
	return f, nil
}

// enclose has a process that is to be started begin inside.
func (f *fence) enclose(sys *syscall.SysProcAttr) { sys.UseCgroupFD, sys.CgroupFD = true, f.fd }

// begun says that the start is over. It must be called once.
func (f *fence) begun() { _ = unix.Close(f.fd) } // only opened for its number

// kill kills all that is inside, and reports whether that is empty then.
func (f *fence) kill() bool {
	if f == nil || os.WriteFile(filepath.Join(f.dir, "cgroup.kill"), []byte("1"), 0) != nil {
		return false
	}
	for end := time.Now().Add(fenceBound); !f.empty(); time.Sleep(fencePause) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// empty reports that no process is inside, zombies apart.
func (f *fence) empty() bool {
	b, err := os.ReadFile(filepath.Join(f.dir, "cgroup.events"))
	return err == nil && bytes.Contains(b, []byte("populated 0"))
}

// remove removes the fence if it is empty, with the groups that programs have
// made inside. It may be called again.
func (f *fence) remove() {
	if f == nil {
		return
	}
	if !f.empty() {
		return
	}
	var dirs []string
	_ = filepath.WalkDir(f.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return nil // what cannot be read cannot be removed
	})
	for i := len(dirs) - 1; i >= 0; i-- {
		_ = unix.Rmdir(dirs[i]) // what stays, the next server removes
	}
}
