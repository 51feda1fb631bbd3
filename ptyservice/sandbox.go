package ptyservice

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/ptykeep/ptykeep/backend"
)

// sandbox returns what sessions are confined to, nil for not at all. Its
// directories are resolved here, once for the life of a service, so that no
// session can make a later one write elsewhere. An error wraps
// ErrSandboxUnavailable.
func (c Config) sandbox(environ []string) (*backend.Sandbox, error) {
	switch c.SandboxMode {
	case FullAccess:
		return nil, nil
	case ReadOnly:
		return &backend.Sandbox{}, nil
	}
	root, err := filepath.EvalSymlinks(c.WorkspaceRoot)
	if err != nil {
		return nil, c.unavailable("workspaceRoot: %w", err)
	}
	if root == "/" {
		return nil, c.unavailable("workspaceRoot is /, so that everything could be written; set it to the directory of a project")
	}
	for _, home := range homes(environ) {
		if within(home, root) {
			return nil, c.unavailable("workspaceRoot %s holds the home directory %s, so that everything in it could be written; "+
				"set it to the directory of a project", c.WorkspaceRoot, home)
		}
	}
	s := &backend.Sandbox{Writable: []string{root}}
	for _, dir := range c.Writable {
		path, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return nil, c.unavailable("sandbox.writable: %w", err)
		}
		s.Writable = append(s.Writable, path)
	}
	if s.Temp, err = c.temp(environ); err != nil {
		return nil, c.unavailable("the temporary directory (TMPDIR): %w", err)
	}
	return s, nil
}

func (c Config) unavailable(format string, args ...any) error {
	return fmt.Errorf("sandbox.mode %s: %w: %w", c.SandboxMode, ErrSandboxUnavailable, fmt.Errorf(format, args...))
}

// temp is the temporary directory of sessions. What a client sets for one of
// them does not count.
func (c Config) temp(environ []string) (string, error) {
	dir := c.EnvSet["TMPDIR"]
	if dir == "" {
		dir = valueOf(environ, "TMPDIR")
	}
	if dir == "" {
		dir = "/tmp"
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	if dir == "/" {
		return "", errors.New("it is /, so that everything could be written")
	}
	return dir, directory(dir)
}

// homes returns the home directories of the user: what the environment says and
// what the system says, without symbolic links.
func homes(environ []string) []string {
	list := []string{valueOf(environ, "HOME")}
	if u, err := user.Current(); err == nil {
		list = append(list, u.HomeDir)
	}
	var found []string
	for _, dir := range list {
		if path, err := filepath.EvalSymlinks(dir); err == nil && filepath.IsAbs(path) {
			found = append(found, path) // one that does not exist holds nothing
		}
	}
	return found
}

// within reports whether path is root or below it; both are clean.
func within(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+string(os.PathSeparator))
}

// valueOf returns the last value of a variable, "" for none.
func valueOf(environ []string, name string) (value string) {
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}
