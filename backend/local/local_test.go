package local

import (
	"testing"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/backend/backendtest"
)

func newBackend() (backend.Backend, error) { return New(Options{}) }

func TestMain(m *testing.M) { backendtest.Main(m, newBackend) }

func TestConformance(t *testing.T) {
	backendtest.Run(t, func(t *testing.T) backend.Backend {
		b, err := newBackend()
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
}
