package backendtest

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/ptykeep/ptykeep/backend"
)

var foregroundTests = []test{
	{"ProbeSeesTheProgram", probeSeesTheProgram},
	{"ProbeSeesAJob", probeSeesAJob},
	{"SignalReachesARawProgram", signalReachesARawProgram},
	{"SignalReachesTheJobOnly", signalReachesTheJobOnly},
	{"KillOfTheOwnProgramIsRefused", killOfTheOwnProgramIsRefused},
	{"NoSignalAfterExit", noSignalAfterExit},
}

func probe(r *rig) backend.Probe {
	r.t.Helper()
	p, err := power[backend.Prober](r).Probe()
	if err != nil {
		r.t.Fatalf("Probe: %v", err)
	}
	return p
}

func probeSeesTheProgram(t *testing.T, b backend.Backend) {
	r := run(t, b, "raw", mark())
	r.await("ready")
	p := probe(r)
	if p.PGID == 0 || p.PID != p.PGID || !p.Own || p.Command == "" {
		t.Errorf("probe: got %+v, want the program itself", p)
	}
	// How long a line may be depends on the platform.
	if want := (backend.Flags{Erase: 0x7f, LineMax: p.Flags.LineMax}); p.Flags != want || want.LineMax < 255 {
		t.Errorf("flags: got %+v, want %+v", p.Flags, want)
	}
	r = run(t, b, "sleep", mark())
	r.await("ready")
	want := backend.Flags{Canonical: true, Echo: true, Signals: true, CRNL: true, Erase: 0x7f, LineMax: p.Flags.LineMax}
	if p := probe(r); p.Flags != want {
		t.Errorf("flags: got %+v, want %+v", p.Flags, want)
	}
}

// startJob starts a bash with a helper as its foreground job.
func startJob(t *testing.T, b backend.Backend, mode, id string) *rig {
	r := start(t, b, spec(Need(t, "bash"), "--norc", "--noprofile", "-i"))
	r.await("$ ")
	r.write("'" + strings.Join(Helper(t, mode, id), "' '") + "'\r")
	r.await("\nready")
	return r
}

func probeSeesAJob(t *testing.T, b backend.Backend) {
	r := startJob(t, b, "sleep", mark())
	if p := probe(r); p.PGID == 0 || p.Own || p.Command == "" || p.Command == "bash" {
		t.Errorf("probe: got %+v, want the job", p)
	}
}

func send(r *rig, sig syscall.Signal, want error) int {
	r.t.Helper()
	pgid, err := power[backend.Signaller](r).Signal(sig)
	if !errors.Is(err, want) {
		r.t.Errorf("Signal(%v): got %d, %v, want %v", sig, pgid, err, want)
	}
	return pgid
}

func signalReachesARawProgram(t *testing.T, b backend.Backend) {
	r := run(t, b, "raw", mark())
	r.await("ready")
	if got, want := send(r, syscall.SIGINT, nil), probe(r).PGID; got != want {
		t.Errorf("group: got %d, want %d", got, want)
	}
	r.await("interrupted")
}

func signalReachesTheJobOnly(t *testing.T, b backend.Backend) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL, syscall.SIGTSTP} {
		t.Run(sig.String(), func(t *testing.T) {
			id := mark()
			r := startJob(t, b, "sleep", id)
			send(r, sig, nil)
			r.write("echo ba''ck\r")
			r.await("back")
			Await(t, "shell in the foreground", func() bool { return probe(r).Own })
			if sig != syscall.SIGTSTP {
				awaitMarked(t, id, 0)
			}
		})
	}
}

func killOfTheOwnProgramIsRefused(t *testing.T, b backend.Backend) {
	r := run(t, b, "sleep", mark())
	r.await("ready")
	send(r, syscall.SIGKILL, backend.ErrOwnProgram)
	if p := probe(r); !p.Own {
		t.Errorf("probe after a refused kill: got %+v", p)
	}
	send(r, syscall.SIGTERM, nil)
	if e := r.exit(); e.Signal != syscall.SIGTERM {
		t.Errorf("exit: got %+v, want SIGTERM", e)
	}
}

func noSignalAfterExit(t *testing.T, b backend.Backend) {
	r := run(t, b, "orphan", mark())
	r.exit()
	if pgid, err := power[backend.Signaller](r).Signal(syscall.SIGINT); err == nil {
		t.Errorf("Signal: got group %d, want an error", pgid)
	}
}
