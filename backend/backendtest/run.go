package backendtest

import (
	"testing"

	"github.com/ptykeep/ptykeep/backend"
)

// Run runs the suite that every backend passes. The tests that need a power
// which its terminals lack are skipped, as are those that need a program which
// this machine lacks. The package's TestMain must call Main.
func Run(t *testing.T, start func(t *testing.T) backend.Backend) {
	groups := []struct {
		name  string
		tests []test
	}{
		{"start", startTests},
		{"output", outputTests},
		{"input", inputTests},
		{"foreground", foregroundTests},
		{"end", endTests},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.tests {
				t.Run(c.name, func(t *testing.T) { c.run(t, start(t)) })
			}
		})
	}
}

type test struct {
	name string
	run  func(t *testing.T, b backend.Backend)
}
