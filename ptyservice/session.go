package ptyservice

import (
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/ptyservice/screen"
	"github.com/ptykeep/ptykeep/readiness"
)

// Session is one terminal of one owner. Its methods may be called
// concurrently.
type Session struct {
	// Fixed at creation.
	service *Service
	id      string
	owner   string
	name    string // "" also once rollback failed: it is free then; set before anybody else has the session
	typ     string
	command bool // it runs a program that was asked for, not the user's shell
	term    backend.Terminal
	log     *slog.Logger
	pumped  chan struct{}  // closed when pump has ended
	reaped  chan struct{}  // closed when reap has ended
	running sync.WaitGroup // tasks; counted up under mu, where closing is looked at

	// writing is held by whoever writes to the terminal, for as long as one
	// text takes, so that nothing comes between its bytes. It is taken before
	// mu, never under it.
	writing sync.Mutex

	mu sync.Mutex // guards what follows; changed in update only

	wake      chan struct{} // closed and replaced at each change
	screen    *screen.Screen
	offset    int64 // bytes of output taken so far
	lastOut   time.Time
	changed   time.Time // last visible change
	changes   uint64
	lastUse   time.Time // last output or input
	replies   []byte    // to queries of the program, not yet written
	answers   int       // written so far
	answering bool      // replies are being written
	place     readiness.Place
	starts    bool   // the shell marks where commands start
	status    int    // of the last command
	untold    bool   // no result has told that status
	dir       string // by the marks, "" without
	begun     bool   // a prompt has begun and has not come to its end
	goesOn    int64  // the line that the last prompt ends on
	prompted  bool   // the shell has drawn a prompt
	unsettled bool   // it had not when open returned
	dirTold   bool   // the prompt that told it is still there
	exited    bool
	exit      backend.Exit
	drained   bool  // no output can come any more
	lost      error // reading failed

	sending   bool            // the send slot is taken
	watches   []*watch        // who follows the output: a send, an open
	shown     screen.Pos      // where the last result ended
	shownLeft string          // what stood left of it
	told      string          // the directory that the last result knew
	prompts   map[string]bool // program and row at which input was typed
	waited    int64           // output when the last result said that the program waits; -1 when it did not
	mute      time.Time       // no query is answered before
	escape    time.Time       // when an Escape was the last that was typed; else zero
	partial   int             // bytes of a line that was typed without its end, to a program that reads by lines
	closing   *closing        // a close that is under way or done
}

func (s *Service) newSession(ownerID string, r OpenRequest, spec backend.Spec, term backend.Terminal) *Session {
	now := time.Now()
	x := &Session{
		service: s, id: spec.Name, owner: ownerID, name: r.Name, typ: r.Type, command: r.Command != nil,
		term: term, log: s.log.With("session", spec.Name),
		pumped: make(chan struct{}), reaped: make(chan struct{}),
		wake: make(chan struct{}), lastOut: now, changed: now, lastUse: now,
		shown: screen.Pos{Line: 1}, told: spec.Dir, prompts: map[string]bool{},
	}
	x.screen = screen.New(screen.Config{
		Cols: r.Cols, Rows: r.Rows, Lines: s.cfg.ScrollbackLines, Bytes: s.cfg.ScrollbackMaxBytes,
		Nonce: spec.Nonce, Final: x.final,
	})
	go x.pump() // ends at the end of output or when close closes the terminal
	go x.reap() // ends when the program has, which close sees to
	return x
}

// ID returns the session's id.
func (s *Session) ID() string { return s.id }

// Name returns the name it was opened under, "" without one.
func (s *Session) Name() string { return s.name }

// Type returns the type of its backend.
func (s *Session) Type() string { return s.typ }

// update changes what mu guards and wakes whoever waits for a change.
func (s *Session) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.wake)
	s.wake = make(chan struct{})
}

// pump reads until the end of output. It waits for nobody but, for replyTimeout,
// a program that asks the terminal something and does not read.
func (s *Session) pump() {
	defer close(s.pumped)
	buf := make([]byte, 64<<10)
	for {
		n, err := s.term.Read(buf)
		if n > 0 {
			s.take(buf[:n])
		}
		if err != nil {
			s.update(func() {
				_, _ = s.screen.Write([]byte{0}) // ends an unfinished character; never fails
				s.drained = true
				if !errors.Is(err, io.EOF) && s.closing == nil {
					s.lost = err
				}
			})
			if !errors.Is(err, io.EOF) {
				s.log.Debug("end of output", "error", err)
			}
			return
		}
	}
}

// take feeds output to the screen and notes what it tells.
func (s *Session) take(p []byte) {
	replies, started := false, false // started: the prompt that open did not see
	s.update(func() {
		now := time.Now()
		_, _ = s.screen.Write(p) // never fails
		s.offset += int64(len(p))
		s.lastOut, s.lastUse = now, now
		if c := s.screen.Changes(); c != s.changes {
			s.changes, s.changed = c, now
		}
		for _, m := range s.screen.Marks() {
			s.mark(m)
		}
		if s.prompted && s.unsettled {
			started, s.unsettled = true, false
		}
		for _, w := range s.watches {
			w.output = true
		}
		if r := s.screen.Replies(); len(r) > 0 && len(s.replies) < maxReplies && now.After(s.mute) {
			s.replies = append(s.replies, r...)
			replies = true
		}
	})
	if replies {
		s.reply()
	}
	if started {
		s.settled()
	}
}

// mark notes what the session's own shell says.
func (s *Session) mark(m screen.Mark) {
	if pid := pidOf(s.term); m.PID != 0 && pid != 0 && m.PID != pid {
		return // a nested shell that inherited the marked prompt
	}
	for _, w := range s.watches {
		w.mark(m)
	}
	switch m.Kind {
	case screen.PromptStart:
		s.prompted, s.begun = true, true
		s.replies = nil // whoever asked is gone, and the shell did not ask
		if s.place == readiness.InCommand {
			s.status, s.untold = m.Status, m.Status >= 0
		}
		s.place, s.dir, s.dirTold = readiness.AtPrompt, m.Dir, m.Dir != ""
	case screen.PromptEnd:
		s.begun, s.goesOn = false, m.At.Line
		if s.place == readiness.InCommand {
			s.place = readiness.AtPrompt // its start was lost
		}
	case screen.CommandStart:
		s.place, s.starts, s.dirTold = readiness.InCommand, true, false
		s.begun = false
	case screen.Continuation:
		s.place, s.goesOn = readiness.AtContinuation, m.At.Line
	}
}

// placeNow is place, unless the continuation prompt is not where the cursor is: a
// shell without marks in its prompt has gone on from there. s.mu is held.
func (s *Session) placeNow() readiness.Place {
	if s.place == readiness.AtContinuation && s.screen.Pos().Line > s.goesOn {
		return readiness.InCommand
	}
	return s.place
}

// final passes a line that will not change any more to whoever follows.
func (s *Session) final(line screen.Line) {
	for _, w := range s.watches {
		w.text.add(line)
	}
}

// reap waits for the end of the program. Output may still come: exit and end
// of output are two events.
func (s *Session) reap() {
	defer close(s.reaped)
	<-s.term.Done()
	exit := s.term.Exit()
	s.update(func() { s.exited, s.exit = true, exit })
}

// exitStatus returns how the program ended, and whether it has.
func (s *Session) exitStatus() (backend.Exit, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exit, s.exited
}

// settled tells the backend that start-up is over: the shell draws a prompt. That
// it waits is not enough, a start-up file may ask something before ours is read.
func (s *Session) settled() {
	if t, ok := s.term.(backend.Settler); ok {
		t.Settled()
	}
}

// pidOf returns the process id of t's program, 0 where it has none here.
func pidOf(t backend.Terminal) int {
	if i, ok := t.(backend.Identifier); ok {
		return i.PID()
	}
	return 0
}
