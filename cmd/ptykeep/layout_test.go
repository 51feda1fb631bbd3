package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/ptykeep/ptykeep"

// mayImport are the directions of the house: what of it a package may import.
var mayImport = map[string][]string{
	"cmd/ptykeep":         {"tools", "tools/wire", "ptyservice", "backend", "backend/local"},
	"tools":               {"tools/wire", "ptyservice", "readiness", "backend"},
	"tools/wire":          {},
	"ptyservice":          {"readiness", "ptyservice/screen", "backend"},
	"ptyservice/screen":   {},
	"readiness":           {"backend"},
	"backend":             {},
	"backend/local":       {"backend", "teardown", "backend/local/guard"},
	"backend/local/guard": {"backend", "teardown"},
	"backend/backendtest": {"backend", "teardown"},
	"teardown":            {"backend"},
}

type listed struct {
	ImportPath string
	Dir        string
	Imports    []string
	GoFiles    []string
}

// packages lists the module's packages as they are for one platform.
func packages(t *testing.T, goos string) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,GoFiles", module+"/...")
	cmd.Env = append(cmd.Environ(), "GOOS="+goos)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestImportsGoOneWay(t *testing.T) {
	for _, goos := range []string{"linux", "darwin"} {
		for _, p := range packages(t, goos) {
			name := strings.TrimPrefix(p.ImportPath, module+"/")
			allowed, known := mayImport[name]
			if !known {
				t.Errorf("%s: no rule says what it may import", name)
			}
			for _, i := range p.Imports {
				own, ours := strings.CutPrefix(i, module+"/")
				if ours && !slices.Contains(allowed, own) {
					t.Errorf("%s imports %s (%s)", name, own, goos)
				}
				mcp := strings.HasPrefix(i, "github.com/mark3labs/mcp-go")
				if mcp && !strings.HasPrefix(name, "tools") && name != "cmd/ptykeep" {
					t.Errorf("%s imports the MCP library", name)
				}
				outside := strings.Contains(i, ".") && !ours
				if outside && name == "backend" {
					t.Errorf("backend imports %s; it keeps to the standard library", i)
				}
				if outside && name == "ptyservice/screen" && i != "github.com/mattn/go-runewidth" {
					t.Errorf("screen imports %s; it keeps to the standard library and the width tables", i)
				}
			}
		}
	}
}

// TestBuildTagsStayBelow holds that only what talks to the platform knows it.
func TestBuildTagsStayBelow(t *testing.T) {
	platform := map[string]bool{"backend/local": true, "backend/local/guard": true, "teardown": true}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil || platform[filepath.ToSlash(dir)] || dir == filepath.Join("backend", "backendtest") {
			return err
		}
		for _, suffix := range []string{"_linux.go", "_darwin.go", "_unix.go", "_other.go"} {
			if strings.HasSuffix(path, suffix) {
				t.Errorf("%s is a file for one platform", path)
			}
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, group := range f.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "//go:build") {
					t.Errorf("%s has a build tag", path)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
