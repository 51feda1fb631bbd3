package ptyservice

import (
	"fmt"
	"testing"
	"time"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/readiness"
)

// inFront puts a program into the foreground that waits as class says.
func (s *shell) inFront(class backend.Wait) {
	s.SetProbe(backend.Probe{PGID: 7, PID: 7, Command: "job", Wait: class, Flags: backend.Flags{Echo: true, Signals: true}}, nil)
}

// during calls step every period until the send that run makes has ended.
func during(period time.Duration, step func(n int), run func()) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			case <-time.After(period):
				step(n)
			}
		}
	}()
	run()
	close(stop)
	<-stopped
}

// TestServerThatListens: the call returns when the server has been quiet and
// idle for idleSilenceMs, and not while it works, prints or is none.
func TestServerThatListens(t *testing.T) {
	for _, test := range []struct {
		name   string
		used   func(since time.Duration) time.Duration // CPU time
		from   time.Duration                           // when it begins to listen; negative: never
		prints time.Duration                           // how often; 0: never
		class  backend.Wait
		want   readiness.Reason
		after  time.Duration
	}{
		{name: "idle", class: backend.WaitNone, want: readiness.InferredIdle, after: 3 * time.Second},
		{name: "timers", used: func(d time.Duration) time.Duration { return d / 1000 }, class: backend.WaitNone, want: readiness.InferredIdle, after: 3 * time.Second},
		{name: "slow start", from: 2 * time.Second, class: backend.WaitNone, want: readiness.InferredIdle, after: 5 * time.Second},
		{name: "works", used: func(d time.Duration) time.Duration { return d / 100 }, class: backend.WaitNone, want: readiness.Timeout},
		{name: "seen at work", class: backend.WaitBusy, want: readiness.Timeout},
		{name: "prints", prints: time.Second, class: backend.WaitNone, want: readiness.Timeout},
		{name: "no server", from: -1, class: backend.WaitNone, want: readiness.Timeout},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				s, sh := r.open("")
				start := time.Now()
				sh.OnListening(func() (bool, time.Duration) {
					d := time.Since(start)
					var used time.Duration
					if test.used != nil {
						used = test.used(d)
					}
					return test.from >= 0 && d >= test.from, used
				})
				sh.OnWrite(func([]byte) { sh.begin("serve"); sh.inFront(test.class) })
				var got Result
				var err error
				send := func() { got, err = r.send(s, "serve") }
				if test.prints > 0 {
					during(test.prints, func(n int) { sh.Emit(fmt.Sprintf("request %d\r\n", n)) }, send)
				} else {
					send()
				}
				if err != nil || got.Reason != test.want {
					t.Fatalf("%v after %v, %v; want %v", got.Reason, got.Elapsed, err, test.want)
				}
				if test.want == readiness.InferredIdle && (got.Elapsed < test.after || got.Elapsed > test.after+time.Second) {
					t.Errorf("after %v, want %v at least and a second more at most", got.Elapsed, test.after)
				}
				if got.Foreground.State != readiness.Running && test.class == backend.WaitNone {
					t.Errorf("state %v, want running", got.Foreground.State)
				}
			})
		})
	}
}

// TestBackgroundServer: in the background nothing that is concluded ends the
// wait.
func TestBackgroundServer(t *testing.T) {
	bubble(t, func(r *rig) {
		s, sh := r.open("")
		sh.OnListening(func() (bool, time.Duration) { return true, 0 })
		sh.OnWrite(func([]byte) { sh.begin("serve"); sh.inFront(backend.WaitNone) })
		text := "serve"
		task, err := s.StartTask(SendRequest{Text: &text, Submit: true})
		if err != nil {
			t.Fatal(err)
		}
		out, err := task.Output(r.t.Context(), time.Minute)
		if err != nil || out.Status != TaskRunning {
			t.Errorf("after a minute: %v, %v; want running", out.Status, err)
		}
	})
}

// TestRedraw: who waits with a timer and draws the same lines anew is idle
// after idleSilenceMs, who prints lines or does not wait is not.
func TestRedraw(t *testing.T) {
	const home = "\x1b[H"
	for _, test := range []struct {
		name  string
		draw  func(n int) string
		class backend.Wait
		want  readiness.Reason
	}{
		{"top", func(n int) string { return fmt.Sprintf("%s%d tasks\x1b[K\r\n", home, n) }, backend.WaitTimed, readiness.InferredIdle},
		{"spinner with keys", func(n int) string { return fmt.Sprintf("\r%c working", "-/|"[n%3]) }, backend.WaitTimed, readiness.InferredIdle},
		{"spinner without", func(n int) string { return fmt.Sprintf("\r%c working", "-/|"[n%3]) }, backend.WaitNone, readiness.Timeout},
		{"spinner over a network", func(n int) string { return fmt.Sprintf("\r%c working", "-/|"[n%3]) }, backend.WaitOpen, readiness.Timeout},
		{"lines", func(n int) string { return fmt.Sprintf("line %d\r\n", n) }, backend.WaitTimed, readiness.Timeout},
		{"full screen", func(n int) string { return fmt.Sprintf("\x1b[?1049h%s%d", home, n) }, backend.WaitTimed, readiness.InferredIdle},
		{"full screen, reader elsewhere", func(n int) string { return fmt.Sprintf("\x1b[?1049h%s%d", home, n) }, backend.WaitNone, readiness.InferredIdle},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				s, sh := r.open("")
				sh.OnWrite(func([]byte) { sh.begin("draw"); sh.inFront(test.class) })
				var got Result
				var err error
				during(70*time.Millisecond, func(n int) {
					// Drawing takes a while in which it does not wait.
					sh.inFront(backend.WaitBusy)
					time.Sleep(5 * time.Millisecond)
					sh.Emit(test.draw(n))
					sh.inFront(test.class)
				}, func() { got, err = r.send(s, "draw") })
				if err != nil || got.Reason != test.want {
					t.Fatalf("%v after %v, %v; want %v", got.Reason, got.Elapsed, err, test.want)
				}
				if test.want == readiness.InferredIdle && (got.Elapsed < r.cfg.IdleSilence || got.Elapsed > 2*r.cfg.IdleSilence) {
					t.Errorf("after %v, want about %v", got.Elapsed, r.cfg.IdleSilence)
				}
			})
		})
	}
}
