package ptyservice

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/readiness"
)

func TestActiveTasksOfAnOwnerAreLimited(t *testing.T) {
	bubble(t, func(r *rig) {
		start := func() (*Session, *shell, error) {
			s, sh := r.open("")
			sh.commands(never)
			text := "job"
			_, err := s.StartTask(SendRequest{Text: &text, Submit: true})
			return s, sh, err
		}
		var last *shell
		for i := range MaxTasks {
			var err error
			if _, last, err = start(); err != nil {
				r.t.Fatalf("task %d: %v", i, err)
			}
		}
		s, sh, err := start()
		if !errors.Is(err, ErrResourceLimit) {
			r.t.Errorf("one more: %v, want ErrResourceLimit", err)
		}
		synctest.Wait()
		if sh.Written() != "" {
			r.t.Errorf("typed %q", sh.Written())
		}
		yours, err := r.Open(r.t.Context(), "you", OpenRequest{})
		if err != nil {
			r.t.Fatal(err)
		}
		(&shell{Fake: r.backend.Last(), dir: "/"}).commands(never)
		text := "job"
		if _, err := yours.Session.StartTask(SendRequest{Text: &text, Submit: true}); err != nil {
			r.t.Errorf("of another owner: %v", err)
		}
		last.prompt(0) // one ends
		time.Sleep(time.Second)
		if _, err := s.StartTask(SendRequest{Text: &text, Submit: true}); err != nil {
			r.t.Errorf("after the end of one: %v", err)
		}
	})
}

func TestTaskThatCannotStartLeavesNothing(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.commands(never)
		x := r.sendIn(r.t.Context(), s, "first")
		text := "job"
		for range 2 * MaxTasks { // a slot of a task that was kept would run out
			if _, err := s.StartTask(SendRequest{Text: &text, Submit: true}); !errors.Is(err, ErrSendActive) {
				r.t.Fatalf("error %v, want ErrSendActive", err)
			}
		}
		if len(r.tasks) > 0 {
			r.t.Errorf("%d tasks are left", len(r.tasks))
		}
		sh.prompt(0)
		<-x.done
		if sh.Written() != "first\r" {
			r.t.Errorf("typed %q", sh.Written())
		}
	})
}

func TestFailedTask(t *testing.T) {
	bubble(t, func(r *rig) {
		h := &hooked{}
		r.hook(h)
		s, sh := r.open("")
		sh.commands(never)
		text := "job"
		task, err := s.StartTask(SendRequest{Text: &text, Submit: true})
		if err != nil {
			r.t.Fatal(err)
		}
		fault := errors.New("no terminal")
		h.look(func() error { return fault })
		out, err := task.Output(r.t.Context(), time.Minute)
		if err != nil || out.Status != TaskFailed || !errors.Is(out.Err, fault) || out.Result != nil {
			r.t.Errorf("got %+v, %v; want failed with %v", out, err, fault)
		}
		h.look(nil)
		sh.commands(echo)
		if got, err := r.send(s, "next"); err != nil || got.Viewport.text() != "next" {
			r.t.Errorf("the slot is not free: %q, %v", got.Viewport.text(), err)
		}
	})
}

func TestSilenceDoesNotEndATask(t *testing.T) {
	for _, wait := range []backend.Wait{backend.WaitNone, backend.WaitUnknown, backend.WaitTimed} {
		t.Run(wait.String(), func(t *testing.T) {
			bubble(t, func(r *rig) {
				s, sh := r.open("")
				sh.OnWrite(func([]byte) {
					sh.begin("job")
					sh.UpdateProbe(func(p *backend.Probe) { p.Wait = wait })
					sh.Emit("begun\r\n")
				})
				text := "job"
				task, err := s.StartTask(SendRequest{Text: &text, Submit: true})
				if err != nil {
					r.t.Fatal(err)
				}
				out, err := task.Output(r.t.Context(), 10*time.Minute)
				if err != nil || out.Status != TaskRunning || out.Text.text() != "begun" {
					r.t.Errorf("after ten minutes: %s, %q, %v; want running", out.Status, out.Text.text(), err)
				}
				sh.Emit("done\r\n")
				sh.prompt(7)
				out, err = task.Output(r.t.Context(), time.Minute)
				if err != nil || out.Status != TaskCompleted || out.Text.text() != "done" || out.Result.ExitCode == nil || *out.Result.ExitCode != 7 {
					r.t.Errorf("at its end: %+v, %v; want completed, done, exit code 7", out, err)
				}
			})
		})
	}
}

func TestKilledTaskThatGoesOnPrintingEnds(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.commands(never)
		text := "job"
		task, err := s.StartTask(SendRequest{Text: &text, Submit: true})
		if err != nil {
			r.t.Fatal(err)
		}
		stop := make(chan struct{})
		go func() { // ends with stop
			for {
				select {
				case <-time.After(20 * time.Millisecond):
					sh.Emit("still here\r\n")
				case <-stop:
					return
				}
			}
		}()
		time.Sleep(time.Second)
		if !task.Kill() {
			r.t.Error("Kill says that it had ended")
		}
		began := time.Now()
		out, err := task.Output(r.t.Context(), time.Minute)
		if err != nil || out.Status != TaskKilled || out.Result == nil || out.Result.Reason != readiness.Timeout {
			r.t.Errorf("got %+v, %v; want killed, timeout", out, err)
		}
		if took := time.Since(began); took > 2*time.Second {
			r.t.Errorf("took %v", took)
		}
		if len(sh.Signals()) != 1 || task.Kill() {
			r.t.Errorf("signals %v; a second Kill finds it running", sh.Signals())
		}
		close(stop)
	})
}

func TestWaitForATaskCanBeCancelled(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.commands(never)
		text := "job"
		task, err := s.StartTask(SendRequest{Text: &text, Submit: true})
		if err != nil {
			r.t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(r.t.Context())
		time.AfterFunc(time.Second, func() { cancel(ErrCancelled) })
		if _, err := task.Output(ctx, time.Minute); !errors.Is(err, ErrAborted) {
			r.t.Errorf("error %v, want ErrAborted", err)
		}
		if out, err := task.Output(r.t.Context(), 0); err != nil || out.Status != TaskRunning || len(sh.Signals()) > 0 {
			r.t.Errorf("the task: %s, %v, signals %v; want it running", out.Status, err, sh.Signals())
		}
	})
}

func TestTaskGoesWithItsOwner(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.commands(never)
		text := "job"
		task, err := s.StartTask(SendRequest{Text: &text, Submit: true})
		if err != nil {
			r.t.Fatal(err)
		}
		if _, err := r.Task("you", task.ID()); !errors.Is(err, ErrNoTask) {
			r.t.Errorf("for another owner: %v, want ErrNoTask", err)
		}
		if err := r.CloseOwner(r.t.Context(), "me"); err != nil {
			r.t.Fatal(err)
		}
		select {
		case <-task.done:
		default:
			r.t.Error("it still runs")
		}
		if _, err := r.Task("me", task.ID()); !errors.Is(err, ErrNoTask) {
			r.t.Errorf("afterwards: %v, want ErrNoTask", err)
		}
	})
}
