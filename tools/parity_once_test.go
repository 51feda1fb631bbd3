package tools

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/backend/backendtest"
	"github.com/ptykeep/ptykeep/ptyservice"
)

func TestEndOfTheClientIsAborted(t *testing.T) {
	for _, cause := range []error{ptyservice.ErrCancelled, ptyservice.ErrDetached, ptyservice.ErrGone} {
		if code, _, _ := codeOf(cause); code != "ABORTED" { // what Open returns when the cancel comes after the shell is ready
			t.Errorf("%v: %s, want ABORTED", cause, code)
		}
	}
}

func TestCutAtTheSmallestLimitSaysSo(t *testing.T) {
	staged(t, Config{MaxResultBytes: 64}, func(s *stage) {
		id := s.open()
		r := s.tool("terminal_send", fmt.Sprintf(`{"sessionId":%q,"text":%q}`, id, strings.Repeat("x", 1000)))
		if !strings.Contains(r.text, "[omitted: 1000 bytes") {
			s.t.Errorf("got %q, want it to say how much is missing", r.text)
		}
	})
}

func TestDirectoryIsToldOnce(t *testing.T) {
	staged(t, Config{}, func(s *stage) {
		s.backend.OnStart = func(_ context.Context, f *backendtest.Fake) error {
			f.UpdateProbe(func(p *backend.Probe) {
				p.Own, p.Command, p.Wait, p.Flags.Canonical = true, "sh", backend.WaitExact, false
			})
			at := sign(f, "D;0;100;/home") + "$ " + sign(f, "B;100") // a start-up file went there
			f.OnWrite(func(p []byte) { f.Emit("x\r\n" + sign(f, "C;100") + at) })
			f.Emit(at)
			return nil
		}
		r := s.tool("terminal_open", `{}`)
		if !strings.Contains(r.text, "[cwd: /home]") {
			s.t.Errorf("open: %s", r.text)
		}
		r = s.tool("terminal_send", fmt.Sprintf(`{"sessionId":%q,"text":"true"}`, r.facts["sessionId"]))
		if strings.Contains(r.text, "[cwd: ") {
			s.t.Errorf("the first send tells it again: %s", r.text)
		}
	})
}

// A send that was cancelled before it typed anything: what open tells of it.
func TestOpenWithBadTextTellsTheCode(t *testing.T) {
	staged(t, Config{}, func(s *stage) {
		r := s.tool("terminal_open", `{"text":"a\u0003"}`)
		if !strings.Contains(r.text, "INVALID_ARGS") || !strings.Contains(r.text, "pty-") {
			s.t.Errorf("%s", r.text)
		}
	})
}
