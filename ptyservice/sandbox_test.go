package ptyservice

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ptykeep/ptykeep/backend"
)

func TestSandboxOfASession(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"home/project", "project", "temp", "more", "project2"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"tohome": "home", "toproject": "project", "tomore": "more", "totemp": "temp"} {
		if err := os.Symlink(target, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	in := func(s string) string { return strings.ReplaceAll(s, "@", base) }
	for _, test := range []struct {
		name           string
		mode           SandboxMode
		root, writable string
		temp, envSet   string
		want           *backend.Sandbox
		says           string // instead
	}{
		{"none", FullAccess, "/", "", "", "", nil, ""},
		{"read-only opens nothing", ReadOnly, "/", "@/more", "@/temp", "", &backend.Sandbox{}, ""},
		{"workspace", WorkspaceWrite, "@/project", "", "@/temp", "", &backend.Sandbox{Writable: []string{"@/project"}, Temp: "@/temp"}, ""},
		{"below home", WorkspaceWrite, "@/home/project", "", "@/temp", "", &backend.Sandbox{Writable: []string{"@/home/project"}, Temp: "@/temp"}, ""},
		{"links are resolved", WorkspaceWrite, "@/toproject", "@/tomore", "@/totemp", "", &backend.Sandbox{Writable: []string{"@/project", "@/more"}, Temp: "@/temp"}, ""},
		{"the operator's TMPDIR", WorkspaceWrite, "@/project", "", "@/temp", "@/more", &backend.Sandbox{Writable: []string{"@/project"}, Temp: "@/more"}, ""},
		{"home", WorkspaceWrite, "@/home", "", "@/temp", "", nil, "workspaceRoot @/home holds the home directory"},
		{"a link to home", WorkspaceWrite, "@/tohome", "", "@/temp", "", nil, "workspaceRoot @/tohome holds the home directory @/home"},
		{"above home", WorkspaceWrite, "@", "", "@/temp", "", nil, "workspaceRoot"},
		{"everything", WorkspaceWrite, "/", "", "@/temp", "", nil, "workspaceRoot is /"},
		{"no temporary directory", WorkspaceWrite, "@/project", "", "@/none", "", nil, "TMPDIR"},
		{"everything is temporary", WorkspaceWrite, "@/project", "", "/", "", nil, "TMPDIR"},
	} {
		c := DefaultConfig()
		c.SandboxMode, c.WorkspaceRoot = test.mode, in(test.root)
		if test.writable != "" {
			c.Writable = []string{in(test.writable)}
		}
		if test.envSet != "" {
			c.EnvSet = map[string]string{"TMPDIR": in(test.envSet)}
		}
		got, err := c.sandbox([]string{"HOME=/none", "HOME=" + in("@/home"), "TMPDIR=" + in(test.temp)})
		if test.says != "" {
			if !errors.Is(err, ErrSandboxUnavailable) || !strings.Contains(err.Error(), in(test.says)) || !strings.Contains(err.Error(), string(test.mode)) {
				t.Errorf("%s: got %v, want ErrSandboxUnavailable with %q", test.name, err, in(test.says))
			}
			continue
		}
		want := test.want
		if want != nil {
			want.Temp = in(want.Temp)
			for i := range want.Writable {
				want.Writable[i] = in(want.Writable[i])
			}
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v, want %+v", test.name, got, err, want)
		}
	}
}
