package tools

import (
	"encoding/json"
	"sync"
)

// lines keeps the sends of each session in the order in which their requests
// arrived, although each request runs on its own goroutine: the slot of a
// session goes to the first that asked for it.
type lines struct {
	mu   sync.Mutex
	last map[string]*place // the newest of each session
}

// place is where one request stands.
type place struct {
	lines   *lines
	session string
	before  <-chan struct{} // closed when the one before has left; nil = nobody
	left    chan struct{}
	once    sync.Once
}

// Order takes a place for a terminal_send. It is called from the read loop of
// the connection (wire.Options.Order), in the order of arrival.
func (t *Tools) Order(method string, params json.RawMessage) any {
	if method != "tools/call" {
		return nil
	}
	var call struct {
		Name      string `json:"name"`
		Arguments struct {
			SessionID string `json:"sessionId"`
		} `json:"arguments"`
	}
	// What does not decode is refused by whoever handles it, and needs no place.
	if json.Unmarshal(params, &call) != nil || call.Name != "terminal_send" || call.Arguments.SessionID == "" {
		return nil
	}
	return t.lines.join(call.Arguments.SessionID)
}

func (l *lines) join(session string) *place {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &place{lines: l, session: session, left: make(chan struct{})}
	if l.last == nil {
		l.last = map[string]*place{}
	}
	if before := l.last[session]; before != nil {
		p.before = before.left
	}
	l.last[session] = p
	return p
}

// wait returns when everybody who stood before p has left. Nobody stands there
// for longer than it takes to decide on a slot: package wire releases what a
// handler did not. A nil place waits for nobody.
func (p *place) wait() {
	if p != nil && p.before != nil {
		<-p.before
	}
}

// Release gives up the place. Further calls do nothing (wire.Releaser).
func (p *place) Release() {
	if p == nil {
		return
	}
	p.lines.mu.Lock()
	if p.lines.last[p.session] == p {
		delete(p.lines.last, p.session)
	}
	p.lines.mu.Unlock()
	p.once.Do(func() { close(p.left) })
}
