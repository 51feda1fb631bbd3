package ptyservice

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/backend/backendtest"
	"github.com/ptykeep/ptykeep/readiness"
)

func TestSendReturnsOutputWithoutPromptAndEcho(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.commands(func(string) (string, int, bool) { return "one\r\n\r\ntwo", 3, true })
		got, err := r.send(s, "work")
		if err != nil {
			r.t.Fatal(err)
		}
		if got.Viewport.text() != "one\n\ntwo" {
			r.t.Errorf("viewport %q, want %q", got.Viewport.text(), "one\n\ntwo")
		}
		if got.Reason != readiness.StdinRead || got.Foreground.State != readiness.Prompt || got.Foreground.Evidence != readiness.KernelPrompt {
			r.t.Errorf("got %s, %s by %s", got.Reason, got.Foreground.State, got.Foreground.Evidence)
		}
		if got.ExitCode == nil || *got.ExitCode != 3 {
			r.t.Errorf("exit code %v, want 3", got.ExitCode)
		}
		if sh.Written() != "work\r" {
			r.t.Errorf("typed %q", sh.Written())
		}
	})
}

func TestEmptyLineClaimsNoExitCode(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.OnWrite(func([]byte) { sh.Emit("\r\n"); sh.prompt(0) })
		for _, text := range []string{"", "  ", "# nothing"} {
			if got, err := r.send(s, text); err != nil || got.ExitCode != nil {
				r.t.Errorf("%q: exit code %v, error %v; no command ran", text, got.ExitCode, err)
			}
		}
		got, err := r.send(s, "")
		if err != nil || got.ExitCode != nil || got.Viewport.Len() != 0 {
			r.t.Errorf("got exit code %v, viewport %q, error %v", got.ExitCode, got.Viewport.text(), err)
		}
	})
}

func TestRefusedLineHasItsStatus(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.Emit("\x1b[?2004h")
		synctest.Wait()
		sh.OnWrite(func([]byte) { sh.Emit("))\r\n\x1b[?2004l\rbash: syntax error\r\n"); sh.prompt(2) })
		for range 2 { // the status of the second is no change
			got, err := r.send(s, "))")
			if err != nil || got.ExitCode == nil || *got.ExitCode != 2 || got.Viewport.text() != "bash: syntax error" {
				r.t.Errorf("got exit code %v, %q, error %v; want 2 and the message", got.ExitCode, got.Viewport.text(), err)
			}
		}
	})
}

func TestWaitingOnTellsTheStatusOfTheCommandItSawEnd(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.commands(never)
		text := "make"
		if _, err := run(r.t.Context(), s, SendRequest{Text: &text, Submit: true, Timeout: after(time.Second)}); err != nil {
			r.t.Fatal(err)
		}
		sh.prompt(2)
		got, err := run(r.t.Context(), s, SendRequest{})
		if err != nil || got.ExitCode == nil || *got.ExitCode != 2 {
			r.t.Errorf("got exit code %v, error %v; want 2", got.ExitCode, err)
		}
		if again, err := run(r.t.Context(), s, SendRequest{}); err != nil || again.ExitCode != nil {
			r.t.Errorf("a further wait: exit code %v, error %v; it saw no command end", again.ExitCode, err)
		}
	})
}

func TestWaitFromBeforeTheWriteDoesNotCount(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.Hold(1000) // the wait stays, the input is not read
		go func() {
			time.Sleep(5 * time.Second)
			sh.Emit("late\r\n")
			sh.Release()
		}()
		got, err := r.send(s, "x")
		if err != nil || got.Reason != readiness.StdinRead || got.Elapsed < 5*time.Second {
			r.t.Errorf("got %s after %v, error %v; want stdin_read after the input was read", got.Reason, got.Elapsed, err)
		}
	})
}

func TestDelayedEarlierPromptDoesNotSettle(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.OnWrite(func([]byte) {
			sh.prompt(0) // of a command before, drawn late
			sh.begin("x")
			go func() { time.Sleep(time.Second); sh.Emit("mine\r\n"); sh.prompt(0) }()
		})
		got, err := r.send(s, "x")
		if err != nil || got.Viewport.text() != "mine" || got.Elapsed < time.Second {
			r.t.Errorf("got %q after %v, error %v", got.Viewport.text(), got.Elapsed, err)
		}
	})
}

func TestSilentProgramIsWaitedForUntilTimeout(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.commands(never)
		got, err := r.send(s, "sleep 60")
		if err != nil || got.Reason != readiness.Timeout || got.Elapsed != 30*time.Second || got.Foreground.State != readiness.Running {
			r.t.Errorf("got %s, %s after %v, error %v", got.Reason, got.Foreground.State, got.Elapsed, err)
		}
		if len(sh.Signals()) > 0 {
			r.t.Errorf("signalled %v; a timeout is an answer", sh.Signals())
		}
	})
}

func TestSecondSendIsRefusedAndWritesNothing(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.commands(never)
		first := make(chan error)
		go func() { _, err := r.send(s, "first"); first <- err }()
		synctest.Wait()
		if _, err := r.send(s, "second"); !errors.Is(err, ErrSendActive) {
			r.t.Errorf("error %v, want ErrSendActive", err)
		}
		if err := <-first; err != nil {
			r.t.Error(err)
		}
		if sh.Written() != "first\r" {
			r.t.Errorf("typed %q", sh.Written())
		}
		sh.prompt(0)
		synctest.Wait()
		sh.commands(echo)
		if _, err := r.send(s, "third"); err != nil {
			r.t.Errorf("after the first: %v", err)
		}
	})
}

func TestUntilMatchesOutputAndNotTheEcho(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.commands(func(string) (string, int, bool) {
			go func() { time.Sleep(2 * time.Second); sh.Emit("listening on 80\r\n") }()
			return "", 0, false
		})
		text := "serve # listening"
		got, err := run(r.t.Context(), s, SendRequest{Text: &text, Submit: true, Until: regexp.MustCompile(`(?m)listening`)})
		if err != nil || got.Reason != readiness.Matched || got.Elapsed < 2*time.Second {
			r.t.Errorf("got %s after %v, error %v", got.Reason, got.Elapsed, err)
		}
	})
}

func TestWaitingOnContinuesWhereTheLastResultEnded(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.commands(never)
		text := "job"
		if _, err := run(r.t.Context(), s, SendRequest{Text: &text, Submit: true, Timeout: after(time.Second)}); err != nil {
			r.t.Fatal(err)
		}
		sh.Emit("end of it\r\n")
		sh.prompt(2)
		got, err := run(r.t.Context(), s, SendRequest{})
		if err != nil || got.Viewport.text() != "end of it" || got.Reason != readiness.StdinRead {
			r.t.Errorf("got %q, %s, error %v", got.Viewport.text(), got.Reason, err)
		}
		if again, err := run(r.t.Context(), s, SendRequest{}); err != nil || again.Viewport.Len() > 0 {
			r.t.Errorf("a further wait: %q, error %v; a send returns only what is new", again.Viewport.text(), err)
		}
	})
}

func TestOutputBetweenSendsIsCounted(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.Emit("\r\na\r\nb\r\n")
		synctest.Wait()
		sh.commands(echo)
		got, err := r.send(s, "x")
		if err != nil || got.Missed != 2 || got.Viewport.text() != "x" {
			r.t.Errorf("missed %d lines, viewport %q, error %v; want 2 lines", got.Missed, got.Viewport.text(), err)
		}
	})
}

func TestEndOfContext(t *testing.T) {
	for _, test := range []struct {
		name      string
		cause     error
		interrupt bool
	}{
		{"cancelled", ErrCancelled, true},
		{"detached", ErrDetached, false},
		{"gone", ErrGone, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				s, sh := r.open("")
				sh.commands(never)
				ctx, cancel := context.WithCancelCause(r.t.Context())
				time.AfterFunc(time.Second, func() { cancel(test.cause) })
				text := "sleep 60"
				_, err := run(ctx, s, SendRequest{Text: &text, Submit: true})
				if !errors.Is(err, ErrAborted) || !errors.Is(err, test.cause) {
					r.t.Errorf("error %v, want %v", err, test.cause)
				}
				if got := len(sh.Signals()) > 0; got != test.interrupt {
					r.t.Errorf("signals %v, want an interrupt: %v", sh.Signals(), test.interrupt)
				}
				if got := sh.Counts().Discards > 0; got != test.interrupt {
					r.t.Errorf("%d discards, want some: %v", sh.Counts().Discards, test.interrupt)
				}
				if _, err := run(r.t.Context(), s, SendRequest{Timeout: after(0)}); err != nil {
					r.t.Errorf("the slot is not free: %v", err)
				}
			})
		})
	}
}

func TestCancelBeforeTheWriteWritesNothing(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		ctx, cancel := context.WithCancelCause(r.t.Context())
		cancel(ErrCancelled)
		text := "rm -rf x"
		if _, err := run(ctx, s, SendRequest{Text: &text, Submit: true}); !errors.Is(err, ErrAborted) {
			r.t.Errorf("error %v, want ErrAborted", err)
		}
		if sh.Written() != "" || len(sh.Signals()) > 0 {
			r.t.Errorf("typed %q, signalled %v", sh.Written(), sh.Signals())
		}
	})
}

func TestProgramThatDoesNotReadStallsTheSend(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.Hold(10)
		text := strings.Repeat("x", 30)
		_, err := run(r.t.Context(), s, SendRequest{Text: &text, Submit: true, Timeout: after(2 * time.Second)})
		var stalled *StalledError
		if !errors.As(err, &stalled) || stalled.Read != 0 || stalled.Total != 31 {
			r.t.Fatalf("error %v, want 0 of 31 bytes read", err)
		}
		if sh.Counts().Discards == 0 {
			r.t.Error("nothing was taken back")
		}
	})
}

func TestTypeAheadThatFitsIsKept(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.UpdateProbe(func(p *backend.Probe) { p.Wait = backend.WaitNone })
		sh.Hold(100)
		text := "next"
		got, err := run(r.t.Context(), s, SendRequest{Text: &text, Submit: true, Timeout: after(0)})
		if err != nil || got.Reason != readiness.Timeout || got.Unread != 5 {
			r.t.Errorf("got %s, %d bytes unread, error %v; want timeout, 5", got.Reason, got.Unread, err)
		}
		if sh.Counts().Discards > 0 {
			r.t.Error("type-ahead was taken back")
		}
	})
}

func TestLineThatCanonicalModeWouldCutIsRefused(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.UpdateProbe(func(p *backend.Probe) { p.Flags.Canonical, p.Flags.LineMax = true, 4095 })
		for _, text := range []string{strings.Repeat("x", 4096), "ok\n" + strings.Repeat("y", 5000)} {
			if _, err := r.send(s, text); !errors.Is(err, ErrLineTooLong) {
				r.t.Errorf("%d bytes: error %v, want ErrLineTooLong", len(text), err)
			}
		}
		if sh.Written() != "" {
			r.t.Errorf("typed %d bytes", len(sh.Written()))
		}
	})
}

func TestTextIsTextAndNotKeys(t *testing.T) {
	for _, text := range []string{"a\x03", "\x1b[A", "x\x7f", "\x1b[201~rm", "a\u009bb"} {
		bubble(t, func(r *rig) {
			s, sh := r.open("")
			if _, err := r.send(s, text); !errors.Is(err, ErrInvalid) {
				r.t.Errorf("%q: error %v, want ErrInvalid", text, err)
			}
			if sh.Written() != "" {
				r.t.Errorf("%q: typed %q", text, sh.Written())
			}
		})
	}
}

func TestLineEndsBecomeEnter(t *testing.T) {
	for _, test := range []struct {
		text   string
		submit bool
		modes  string
		want   string
	}{
		{"a", true, "", "a\r"},
		{"", true, "", "\r"},
		{"a\r\nb\r\n", true, "", "a\rb\r"},
		{"a\n\nb", true, "", "a\r\rb\r"},
		{"a\nb", true, "\x1b[?2004h", "\x1b[200~a\nb\x1b[201~\r"},
		{"a", true, "\x1b[?2004h", "a\r"},
		{"a\tb", true, "\x1b[?2004h", "\x1b[200~a\tb\x1b[201~\r"},
		{"a\x03", false, "", "a\x03"},
	} {
		bubble(t, func(r *rig) {
			s, sh := r.open("")
			sh.Emit(test.modes)
			synctest.Wait()
			if _, err := run(r.t.Context(), s, SendRequest{Text: &test.text, Submit: test.submit, Timeout: after(0)}); err != nil {
				r.t.Fatal(err)
			}
			if sh.Written() != test.want {
				r.t.Errorf("%q, submit %v: typed %q, want %q", test.text, test.submit, sh.Written(), test.want)
			}
		})
	}
}

func TestEchoOfAProgramWithoutMarksIsRemovedOnce(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.commands(never)
		text := "cat"
		if _, err := run(r.t.Context(), s, SendRequest{Text: &text, Submit: true, Timeout: after(time.Second)}); err != nil {
			r.t.Fatal(err)
		}
		sh.OnWrite(func([]byte) {
			sh.UpdateProbe(func(p *backend.Probe) { p.Wait = backend.WaitExact })
			sh.Emit("hi\r\nhi\r\n")
		})
		got, err := r.send(s, "hi")
		if err != nil || got.Viewport.text() != "hi" || got.Foreground.State != readiness.WaitingInput {
			r.t.Errorf("got %q, %s, error %v; want hi once", got.Viewport.text(), got.Foreground.State, err)
		}
		if got.ExitCode != nil {
			r.t.Errorf("exit code %d of a command that still runs", *got.ExitCode)
		}
	})
}

func TestExitEndsTheSend(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.OnWrite(func([]byte) { sh.begin("exit 3"); sh.Emit("bye\r\n"); sh.End(3) })
		got, err := r.send(s, "exit 3")
		if err != nil || got.Reason != readiness.SessionExit || !got.Status.Exited || got.Status.Exit.Code != 3 {
			r.t.Errorf("got %s, %+v, error %v", got.Reason, got.Status, err)
		}
		if _, err := r.send(s, "more"); !errors.Is(err, ErrSessionExited) {
			r.t.Errorf("a send after exit: %v", err)
		}
		if _, err := s.Signal(syscall.SIGINT); !errors.Is(err, ErrSessionExited) {
			r.t.Errorf("a signal after exit: %v", err)
		}
		if p, err := s.Read(ReadRequest{Count: 10}); err != nil || !strings.Contains(p.Text, "bye") {
			r.t.Errorf("a read after exit: %q, %v", p.Text, err)
		}
	})
}

func TestExitWaitsForTheLastOutput(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.OnWrite(func([]byte) {
			sh.begin("x")
			sh.Emit("last words\r\n")
			sh.Finish(backend.Exit{Signal: syscall.SIGKILL}) // a child still holds the terminal
		})
		got, err := r.send(s, "x")
		if err != nil || got.Reason != readiness.SessionExit || !strings.Contains(got.Viewport.text(), "last words") {
			r.t.Errorf("got %s, %q, error %v", got.Reason, got.Viewport.text(), err)
		}
		sh.EOF()
	})
}

func TestRepliesReachTheProgramThatAsked(t *testing.T) {
	bubble(t, func(r *rig) {
		_, sh := r.open("")
		sh.UpdateProbe(func(p *backend.Probe) { p.Flags.Canonical = false })
		sh.Emit("\x1b[6n")
		synctest.Wait()
		if got := sh.Written(); got != "\x1b[1;3R" {
			r.t.Errorf("answered %q, want the cursor's place", got)
		}
	})
}

func TestShellWithoutStartMarksLosesNoOutput(t *testing.T) {
	bubble(t, func(r *rig) {
		r.backend.OnStart = func(_ context.Context, f *backendtest.Fake) error {
			(&shell{Fake: f, dir: "/"}).prompt(0)
			return nil
		}
		s, sh := r.open("")
		sh.OnWrite(func([]byte) { sh.Emit("work\r\nresult\r\n"); sh.prompt(3) })
		got, err := r.send(s, "work")
		if err != nil || got.Viewport.text() != "result" || got.ExitCode == nil || *got.ExitCode != 3 {
			r.t.Errorf("got %q, exit code %v, error %v", got.Viewport.text(), got.ExitCode, err)
		}
	})
}

func TestLineThatTheShellDoesNotTakeIsShown(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.OnWrite(func([]byte) { sh.Emit("echo )\r\nfish: Unexpected ')'\r\n") })
		got, err := r.send(s, "echo )")
		if err != nil || got.Foreground.State != readiness.WaitingInput || !strings.Contains(got.Viewport.text(), "Unexpected") || got.ExitCode != nil {
			r.t.Errorf("got %q, %s, exit code %v, error %v", got.Viewport.text(), got.Foreground.State, got.ExitCode, err)
		}
	})
}

func TestKeysAreEncodedForTheModes(t *testing.T) {
	for _, test := range []struct {
		modes string
		keys  []string
		want  string
	}{
		{"", []string{"Up", "C-c", "M-x", "é"}, "\x1b[A\x03\x1bxé"},
		{"\x1b[?1h", []string{"Up", "Home"}, "\x1bOA\x1bOH"},
		{"", []string{"BSpace"}, "\x7f"},
	} {
		bubble(t, func(r *rig) {
			s, sh := r.open("")
			sh.Emit(test.modes)
			synctest.Wait()
			if _, err := run(r.t.Context(), s, SendRequest{Keys: test.keys, Timeout: after(0)}); err != nil {
				r.t.Fatal(err)
			}
			if sh.Written() != test.want {
				r.t.Errorf("%v: typed %q, want %q", test.keys, sh.Written(), test.want)
			}
		})
	}
}

func TestUnknownKeyTypesNothing(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		_, err := run(r.t.Context(), s, SendRequest{Keys: []string{"a", "Foo"}})
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "Foo") || sh.Written() != "" {
			r.t.Errorf("error %v, typed %q", err, sh.Written())
		}
	})
}

func TestEscapeStandsAlone(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		var at []time.Time
		sh.OnWrite(func([]byte) { at = append(at, time.Now()) })
		for _, keys := range [][]string{{"Escape", "b"}, {"Escape"}, {"b"}} {
			if _, err := run(r.t.Context(), s, SendRequest{Keys: keys, Timeout: after(0)}); err != nil {
				r.t.Fatal(err)
			}
		}
		if len(at) != 4 || at[1].Sub(at[0]) < 50*time.Millisecond || at[3].Sub(at[2]) < 50*time.Millisecond {
			r.t.Errorf("written at %v; an Escape has to stand alone, in one call and in two", at)
		}
	})
}

func TestEnterIsApartFromAPasteToAnotherProgram(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.Emit("\x1b[?2004h")
		sh.UpdateProbe(func(p *backend.Probe) { p.Own, p.Command, p.PGID = false, "python3", 300 })
		synctest.Wait()
		var writes []string
		sh.OnWrite(func(p []byte) { writes = append(writes, string(p)) })
		text := "print(1)\nprint(2)"
		if _, err := run(r.t.Context(), s, SendRequest{Text: &text, Submit: true, Timeout: after(time.Second)}); err != nil {
			r.t.Fatal(err)
		}
		if len(writes) != 2 || writes[1] != "\r" {
			r.t.Errorf("wrote %q, want the paste and then Enter", writes)
		}
	})
}

func TestQueriesAfterAnInterruptStayUnanswered(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.UpdateProbe(func(p *backend.Probe) { p.Flags.Canonical = false })
		if _, err := s.Signal(syscall.SIGINT); err != nil {
			r.t.Fatal(err)
		}
		sh.Emit("\x1b[6n")
		synctest.Wait()
		if sh.Written() != "" {
			r.t.Errorf("answered %q to whoever reads next", sh.Written())
		}
		time.Sleep(muteTime + time.Millisecond)
		sh.Emit("\x1b[6n")
		synctest.Wait()
		if sh.Written() == "" {
			r.t.Error("no answer later on")
		}
	})
}

func TestQueryOfAProgramThatReadsLinesIsNotAnsweredToTheShell(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.commands(func(string) (string, int, bool) { return "\x1b[6n", 0, true })
		if got, err := r.send(s, "printf query"); err != nil || got.Viewport.Len() > 0 {
			r.t.Errorf("got %q, error %v", got.Viewport.text(), err)
		}
		sh.UpdateProbe(func(p *backend.Probe) { p.Flags.Canonical = false })
		if got, err := run(r.t.Context(), s, SendRequest{}); err != nil || got.Reason != readiness.StdinRead {
			r.t.Errorf("got %s, error %v", got.Reason, err)
		}
		if sh.Written() != "printf query\r" {
			r.t.Errorf("typed %q", sh.Written())
		}
	})
}

func TestWaitForAnAnswerIsNoWaitForInput(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.OnWrite(func(p []byte) {
			if string(p) == "ask\r" {
				sh.begin("ask")
				sh.Emit("\x1b[6n") // while the terminal still reads by lines
				sh.UpdateProbe(func(p *backend.Probe) { p.Wait, p.Flags.Canonical = backend.WaitExact, false })
				return
			}
			sh.Emit("answered\r\n")
			sh.prompt(0)
		})
		got, err := r.send(s, "ask")
		if err != nil || got.Viewport.text() != "answered" || got.Foreground.State != readiness.Prompt {
			r.t.Errorf("got %q, %s, error %v", got.Viewport.text(), got.Foreground.State, err)
		}
	})
}

// TestInterruptThatTheShellKeeps: a shell that is about to start the command takes
// the signal itself, and the command runs. It is interrupted too, once, before the
// slot is free.
func TestInterruptThatTheShellKeeps(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.OnWrite(func([]byte) { sh.UpdateProbe(func(p *backend.Probe) { p.Wait = backend.WaitBusy }) })
		sh.OnSignal(func(syscall.Signal) error {
			if len(sh.Signals()) == 1 {
				sh.begin("sleep 9")
				sh.inFront(backend.WaitNone)
			} else {
				sh.prompt(130)
			}
			return nil
		})
		ctx, cancel := context.WithCancelCause(r.t.Context())
		time.AfterFunc(time.Second, func() { cancel(ErrCancelled) })
		text := "sleep 9"
		if _, err := run(ctx, s, SendRequest{Text: &text, Submit: true}); !errors.Is(err, ErrAborted) {
			t.Errorf("error %v, want ErrAborted", err)
		}
		if got := len(sh.Signals()); got != 2 {
			t.Errorf("%d interrupts, want one for the shell and one for the command", got)
		}
		sh.commands(echo)
		if got, err := r.send(s, "next"); err != nil || got.Viewport.Head != "next" {
			t.Errorf("next: %q, %v", got.Viewport.Head, err)
		}
	})
}
