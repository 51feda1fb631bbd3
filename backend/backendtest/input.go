package backendtest

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/ptykeep/ptykeep/backend"
)

var inputTests = []test{
	{"WriteStopsAtItsDeadline", writeStopsAtItsDeadline},
	{"WriteGoesOnWhenThereIsRoom", writeGoesOnWhenThereIsRoom},
	{"CloseUnblocksWrite", closeUnblocksWrite},
	{"ExitUnblocksWrite", exitUnblocksWrite},
	{"WriteAfterExitFails", writeAfterExitFails},
	{"UnreadAndDiscard", unreadAndDiscard},
	{"UnreadEndsWhenTheProgramReads", unreadEndsWhenTheProgramReads},
}

// flood is more than any terminal takes that nobody reads from: Linux keeps 20 kB
// at most (measured).
var flood = bytes.Repeat([]byte("x"), 1<<20)

func writeStopsAtItsDeadline(t *testing.T, b backend.Backend) {
	r := run(t, b, "raw", mark())
	r.await("ready")
	if err := r.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	n, err := r.Write(flood)
	if n == 0 || n == len(flood) || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Write: got %d, %v, want a part and deadline exceeded", n, err)
	}
	if n, err = r.Write([]byte("x")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Write after the deadline: got %d, %v, want 0, deadline exceeded", n, err)
	}
	// The zero time takes the deadline away, and room is there again.
	if err := r.SetWriteDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := power[backend.Input](r).Discard(); err != nil {
		t.Fatalf("Discard: %v", err)
	}
	r.write("x")
}

// blockWrite starts a Write that fills the terminal and returns when it is full.
func blockWrite(r *rig) <-chan error {
	c := make(chan error, 1)
	// Ends when the Write does, which is what the callers are about.
	go func() {
		_, err := r.Write(flood)
		c <- err
	}()
	input := power[backend.Input](r)
	last := -1
	Await(r.t, "full terminal", func() bool {
		n, err := input.Queued()
		full := err == nil && n > 0 && n == last
		last = n
		return full
	})
	return c
}

func writeGoesOnWhenThereIsRoom(t *testing.T, b backend.Backend) {
	r := run(t, b, "raw", mark())
	r.await("ready")
	input := power[backend.Input](r)
	written := blockWrite(r)
	Await(t, "end of Write", func() bool {
		if err := input.Discard(); err != nil {
			t.Fatalf("Discard: %v", err)
		}
		select {
		case err := <-written:
			if err != nil {
				t.Errorf("Write: %v", err)
			}
			return true
		default:
			return false
		}
	})
}

func awaitWrite(t *testing.T, c <-chan error, want error) {
	t.Helper()
	select {
	case err := <-c:
		if !errors.Is(err, want) {
			t.Errorf("Write: got %v, want %v", err, want)
		}
	case <-time.After(patience):
		t.Fatal("Write still blocks")
	}
}

func closeUnblocksWrite(t *testing.T, b backend.Backend) {
	r := run(t, b, "raw", mark())
	r.await("ready")
	written := blockWrite(r)
	if err := r.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	awaitWrite(t, written, os.ErrClosed)
}

func exitUnblocksWrite(t *testing.T, b backend.Backend) {
	r := run(t, b, "raw", mark())
	r.await("ready")
	written := blockWrite(r)
	r.terminate()
	awaitWrite(t, written, os.ErrProcessDone)
}

func writeAfterExitFails(t *testing.T, b backend.Backend) {
	r := run(t, b, "lines", "1", "0")
	r.exit()
	if n, err := r.Write([]byte("x")); n != 0 || err == nil {
		t.Errorf("Write: got %d, %v, want an error", n, err)
	}
}

func unreadAndDiscard(t *testing.T, b backend.Backend) {
	r := run(t, b, "raw", mark())
	r.await("ready")
	input := power[backend.Input](r)
	unread := func(want bool) {
		t.Helper()
		if got, err := input.Unread(); got != want || err != nil {
			t.Errorf("Unread: got %v, %v, want %v", got, err, want)
		}
	}
	unread(false)
	r.write("abc")
	unread(true)
	Await(t, "3 bytes queued", func() bool {
		n, err := input.Queued()
		return n == 3 && err == nil
	})
	if err := input.Discard(); err != nil {
		t.Errorf("Discard: %v", err)
	}
	unread(false)
	if n, err := input.Queued(); n != 0 || err != nil {
		t.Errorf("Queued: got %d, %v, want 0", n, err)
	}
}

func unreadEndsWhenTheProgramReads(t *testing.T, b backend.Backend) {
	r := start(t, b, spec(Need(t, "cat")))
	input := power[backend.Input](r)
	r.write("abc\r")
	Await(t, "all input read", func() bool {
		unread, err := input.Unread()
		return !unread && err == nil
	})
	r.await("abc\r\nabc\r\n") // the echo, and what cat made of it
}
