package ptyservice

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// MaxTasks is how many tasks of one owner may run at a time.
const MaxTasks = 10

// killSettle is how long a killed task may take to show how its program took the
// interrupt. A guess: shells and REPLs are back at their prompt within
// milliseconds, and what ignores SIGINT is not waited for.
const killSettle = time.Second

// errKilled is the cause of a context whose task was killed.
var errKilled = fmt.Errorf("the task was killed: %w", ErrCancelled)

// Task is a send in the background. It ends when the command does, or when
// something observed ends it; silence does not. Ended tasks stay until their
// session is closed.
type Task struct {
	id      string
	session *Session
	send    *Send
	cancel  context.CancelCauseFunc
	done    chan struct{} // closed when it has ended

	mu     sync.Mutex // guards what follows; taken before Session.mu
	killed bool
	result Result // once done is closed; its viewport until it was read
	err    error
}

// TaskStatus is how a task stands.
type TaskStatus string

// The states of a task. Completed is any end but the others,
// whatever the exit code; failed is our fault.
const (
	TaskRunning   TaskStatus = "running"
	TaskCompleted TaskStatus = "completed"
	TaskFailed    TaskStatus = "failed"
	TaskKilled    TaskStatus = "killed"
)

// TaskOutput is what a task has printed since it was last read.
type TaskOutput struct {
	Text   Excerpt
	Status TaskStatus
	Result *Result // once it has ended without failure; without its viewport
	Err    error   // of a failed task
}

// ID returns the task's id.
func (t *Task) ID() string { return t.id }

// StartTask begins a send in the background. It holds the slot of its session
// before the task's id is known to anybody.
func (s *Session) StartTask(r SendRequest) (*Task, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	t := &Task{id: newID("task-"), session: s, cancel: cancel, done: make(chan struct{})}
	if err := s.service.register(t); err != nil {
		cancel(nil)
		return nil, err
	}
	snd, err := s.begin(r, true)
	if err == nil && r.types() { // what is refused is refused at once
		if _, err = snd.prepare(); errors.Is(err, errEnding) {
			err = nil // its result tells how it ends
		}
		if err != nil {
			s.update(func() { s.sending = false })
			s.running.Done()
		}
	}
	if err != nil {
		s.service.forget(t)
		cancel(nil)
		return nil, err
	}
	t.send = snd
	go t.run(ctx) // ends with its send: when the command ends, by Kill, or when the session closes, which waits for it
	return t, nil
}

func (t *Task) run(ctx context.Context) {
	defer t.session.running.Done()
	defer t.cancel(nil)
	result, err := t.send.Run(ctx)
	t.session.service.ended(t)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.result, t.err = result, err
	close(t.done) // under mu: Output and Kill see the end and the result as one
}

// Task returns the task id of an owner.
func (s *Service) Task(ownerID, id string) (*Task, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tasks[id]
	if t == nil || t.session.owner != ownerID {
		return nil, fmt.Errorf("%q: %w", id, ErrNoTask)
	}
	return t, nil
}

// register admits a task to run.
func (s *Service) register(t *Task) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.owners[t.session.owner]
	switch {
	case s.disposing:
		return ErrDisposing
	case o.gone:
		return ErrOwnerNotLive
	case o.running >= MaxTasks:
		return fmt.Errorf("%d tasks are running: %w", o.running, ErrResourceLimit)
	}
	o.running++
	s.tasks[t.id] = t
	return nil
}

// forget takes back the registration of a task that could not start.
func (s *Service) forget(t *Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tasks, t.id)
	s.owners[t.session.owner].running--
}

// ended makes room for another task. This one stays readable.
func (s *Service) ended(t *Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owners[t.session.owner].running--
}

// Output returns what the task has printed since the last call. With a wait
// above zero it returns when the task ends, that time has passed or ctx ends,
// whichever comes first; it never ends the task.
func (t *Task) Output(ctx context.Context, wait time.Duration) (TaskOutput, error) {
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-t.done:
		case <-timer.C:
		case <-ctx.Done():
			return TaskOutput{}, abortError(ctx)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.done:
	default:
		return TaskOutput{Status: TaskRunning, Text: t.session.consume(t.send)}, nil
	}
	out := TaskOutput{Text: t.result.Viewport, Status: TaskCompleted}
	t.result.Viewport = Excerpt{}
	switch {
	case t.err != nil && !errors.Is(t.err, ErrAborted):
		out.Status, out.Err = TaskFailed, t.err
	case t.killed:
		out.Status = TaskKilled
	}
	if t.err == nil {
		result := t.result
		out.Result = &result
	}
	return out, nil
}

// consume returns what a send has printed since the last call, and makes what
// follows begin there.
func (s *Session) consume(snd *Send) Excerpt {
	var e Excerpt
	s.update(func() {
		w := snd.following
		if w == nil || w.told {
			return // it is still being typed, or its result is on the way
		}
		e = s.current(w)
		w.past = tailOf(w.past + e.text())
		from := s.screen.Pos()
		echo := w.text.echo
		w.text = newCollector(from, s.service.cfg.MaxReadBytes, echo)
	})
	return e
}

// Kill ends the task: its send interrupts the foreground process group and takes
// back what that has not read. It reports whether the task was still running;
// Output tells what the program made of it.
func (t *Task) Kill() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.done:
		return false
	default:
	}
	t.killed = true
	t.cancel(errKilled)
	return true
}

// dropTasks forgets the tasks of a session that has been closed. s.mu is held.
func (s *Service) dropTasks(session *Session) {
	for id, t := range s.tasks {
		if t.session == session {
			delete(s.tasks, id)
		}
	}
}
