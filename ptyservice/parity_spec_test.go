package ptyservice

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ptykeep/ptykeep/backend"
)

func TestSpecOfATerminal(t *testing.T) {
	bubble(t, func(r *rig) {
		dir := r.t.TempDir()
		o, err := r.Open(r.t.Context(), "me", OpenRequest{Dir: dir, Cols: 100, Rows: 30, Env: map[string]string{"API_KEY": "explicit"}})
		if err != nil {
			r.t.Fatal(err)
		}
		got := r.backend.Last().Spec()
		if got.Name != o.Session.ID() || got.Dir != dir || got.Size != (backend.Size{Cols: 100, Rows: 30}) || got.Grace != r.cfg.DisposeGrace || got.Nonce == "" {
			r.t.Errorf("spec %+v", got)
		}
		for _, want := range []string{"API_KEY=explicit", "PATH=/bin", "PAGER=cat", "GIT_PAGER=cat"} {
			if !slices.Contains(got.Env, want) {
				r.t.Errorf("environment %q, want %q in it", got.Env, want)
			}
		}
		if i := slices.IndexFunc(got.Env, func(kv string) bool { return strings.HasPrefix(kv, "MY_TOKEN=") }); i >= 0 {
			r.t.Errorf("environment %q has a secret", got.Env)
		}
	})
}

func TestDirectoryOfATerminal(t *testing.T) {
	bubble(t, func(r *rig) {
		sub := filepath.Join(r.cfg.WorkspaceRoot, "sub")
		if err := os.Mkdir(sub, 0o700); err != nil {
			r.t.Fatal(err)
		}
		for _, test := range []struct{ dir, want string }{
			{"", r.cfg.WorkspaceRoot}, {"sub", sub}, {".", r.cfg.WorkspaceRoot}, {"/", "/"},
		} {
			if _, err := r.Open(r.t.Context(), "me", OpenRequest{Dir: test.dir}); err != nil {
				r.t.Fatal(err)
			}
			if got := r.backend.Last().Spec().Dir; got != test.want {
				r.t.Errorf("cwd %q: started in %s, want %s", test.dir, got, test.want)
			}
		}
	})
}
