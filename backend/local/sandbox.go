package local

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/backend/local/guard"
)

// confinement returns what a guard is told of a sandbox.
func (b *Backend) confinement(s *backend.Sandbox) *guard.Confinement {
	if s == nil {
		return nil
	}
	c := &guard.Confinement{Writable: raw(s.Writable), ABI: b.abi}
	if s.Temp != "" {
		c.Writable = append(c.Writable, []byte(s.Temp))
	}
	return c
}

// temp is where the private directories of a session are made; "" is the
// default.
func temp(s *backend.Sandbox) string {
	if s == nil {
		return ""
	}
	return s.Temp
}

// redirect has programs keep their caches, where nothing says where they belong,
// in a directory that all sandboxes of b share. It returns the environment and
// the directory, which goes with Close, or by the guards when the server is
// killed.
func (b *Backend) redirect(env []string, s *backend.Sandbox) (changed []string, dir string, err error) {
	if s == nil || s.Temp == "" {
		return env, "", nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	// A session may have removed or replaced it.
	if info, err := os.Lstat(b.private); err != nil || !info.IsDir() {
		made, err := os.MkdirTemp(s.Temp, "ptykeep-"+rand.Text()+"-")
		if err == nil {
			// Not every program makes this one. Now, while nobody knows the name.
			if err = os.Mkdir(filepath.Join(made, "cache"), 0o700); err != nil {
				err = errors.Join(err, os.Remove(made))
			}
		}
		if err != nil {
			return nil, "", fmt.Errorf("making directory for caches: %w", err)
		}
		b.private = made
	}
	changed = append([]string(nil), env...)
	for _, v := range [][2]string{
		{"XDG_CACHE_HOME", "cache"}, {"GOCACHE", "go-build"}, {"npm_config_cache", "npm"}, {"HISTFILE", "history"},
	} {
		if !hasVariable(env, v[0]) {
			changed = append(changed, v[0]+"="+filepath.Join(b.private, v[1]))
		}
	}
	return changed, b.private, nil
}

// hasVariable reports whether name is set. npm takes its own in any case.
func hasVariable(env []string, name string) bool {
	for _, kv := range env {
		key, _, _ := strings.Cut(kv, "=")
		if key == name || strings.HasPrefix(name, "npm_") && strings.EqualFold(key, name) {
			return true
		}
	}
	return false
}

// Close removes what the terminals of b had in common. Call it when all of them
// are closed.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.private == "" {
		return nil
	}
	if err := guard.RemoveAll(b.private); err != nil {
		return fmt.Errorf("removing caches of the terminals: %w", err)
	}
	b.private = ""
	return nil
}

// sandboxError says why the guard could not confine.
func sandboxError(f *guard.Failed) error {
	switch {
	case errors.Is(f.Errno, syscall.ELOOP):
		return fmt.Errorf("%s: there is a symbolic link now where the directory was", f.Path)
	case len(f.Path) > 0:
		return &fs.PathError{Op: "confining to", Path: string(f.Path), Err: f.Errno}
	}
	// A Mac names the program that it lacks.
	return fmt.Errorf("this kernel has no Landlock, or does not let us use it: %w", f.Errno)
}

// SandboxGaps says what the sandbox of this host does not confine although it
// should: older kernels know less (landlock(7)). It does not tell whether there
// is a sandbox at all; a start does.
func SandboxGaps() []string {
	abi, err := guard.Landlock()
	if err != nil { // macOS; where Linux has none, there is no sandbox to have gaps
		return []string{"signals"}
	}
	var gaps []string
	for _, g := range []struct {
		since int
		what  string
	}{
		{2, "moving files to another directory is refused even inside"},
		{3, "truncate(2) works everywhere"},
		{5, "ioctls of devices"},
		{6, "signals and abstract sockets"},
	} {
		if abi < g.since {
			gaps = append(gaps, g.what)
		}
	}
	return gaps
}
