package backendtest

import (
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ptykeep/ptykeep/backend"
)

func TestFakeReadsWhatIsEmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFake(backend.Spec{})
		f.OnWrite(func(p []byte) { f.Emit("got " + string(p)) })
		go func() {
			if _, err := f.Write([]byte("x")); err != nil {
				t.Errorf("Write: %v", err)
			}
			f.End(3)
		}()
		b, err := io.ReadAll(f)
		if string(b) != "got x" || err != nil {
			t.Errorf("output: got %q, %v, want \"got x\"", b, err)
		}
		if e := f.Exit(); e.Code != 3 {
			t.Errorf("exit: got %v, want code 3", e)
		}
	})
}

func TestFakeWriteStopsAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFake(backend.Spec{})
		f.Hold(4)
		if err := f.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		n, err := f.Write([]byte("123456"))
		if n != 4 || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("Write: got %d, %v after %v, want 4, deadline exceeded after 1s", n, err, time.Since(began))
		}
		if unread, _ := f.Unread(); !unread {
			t.Error("Unread: got false with 4 bytes held")
		}
	})
}

func TestFakeWriteGoesOnWhenTheProgramReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFake(backend.Spec{})
		f.Hold(4)
		go func() {
			synctest.Wait()
			f.Consume(1)
			synctest.Wait()
			f.Release()
		}()
		if n, err := f.Write([]byte("123456")); n != 6 || err != nil {
			t.Errorf("Write: got %d, %v, want 6", n, err)
		}
	})
}

func TestFakeCloseUnblocksReadAndWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFake(backend.Spec{})
		f.Hold(0)
		go func() {
			synctest.Wait()
			_ = f.Close() // never fails
		}()
		go func() {
			if _, err := f.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
				t.Errorf("Read: got %v, want closed", err)
			}
		}()
		if _, err := f.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
			t.Errorf("Write: got %v, want closed", err)
		}
	})
}

func TestFakeRefusesToKillItsOwnProgram(t *testing.T) {
	f := NewFake(backend.Spec{})
	if _, err := f.Signal(syscall.SIGKILL); !errors.Is(err, backend.ErrOwnProgram) {
		t.Errorf("Signal: got %v, want ErrOwnProgram", err)
	}
	if pgid, err := f.Signal(syscall.SIGINT); pgid != FakePID || err != nil {
		t.Errorf("Signal: got %d, %v, want %d", pgid, err, FakePID)
	}
	if got := f.Signals(); len(got) != 1 || got[0] != syscall.SIGINT {
		t.Errorf("signals: got %v, want only SIGINT", got)
	}
}
