package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"runtime/debug"
)

// call is one request under way.
type call struct {
	id        json.RawMessage
	key       string
	method    string
	size      int
	ticket    any
	inline    bool // runs in the read loop, which must not wait for room
	cancel    context.CancelCauseFunc
	cancelled chan struct{} // closed with Conn.mu held, together with leaving Conn.calls
}

// take deals with one line, in the read loop. It does not wait for handlers or for the output.
func (c *Conn) take(base context.Context, line []byte) {
	if len(line) == 0 {
		return
	}
	m, no := parse(line)
	switch {
	case no != nil:
		c.refuse(*no)
	case m.answer:
		c.log.Debug("ignoring an answer: nothing was asked")
	case m.id == nil && m.method == "notifications/cancelled":
		c.cancelCall(m.params)
	case m.id == nil:
		c.notify(base, m)
	default:
		c.start(base, m)
	}
}

// start lets a request in and runs it: initialize here, so that what follows finds a session, others on their own.
func (c *Conn) start(base context.Context, m message) {
	ctx, cancel := context.WithCancelCause(base)
	cl := &call{
		id: m.id, key: m.key, method: m.method, size: len(m.line), inline: m.method == "initialize",
		cancel: cancel, cancelled: make(chan struct{}),
	}
	if no := c.admit(cl); no != nil {
		cancel(nil)
		if no.code != 0 {
			c.refuse(*no)
		}
		return
	}
	cl.ticket = c.order(m)
	ctx = context.WithValue(ctx, scopeKey{}, &scope{owner: c.owner, ticket: cl.ticket})
	if cl.inline {
		c.run(ctx, cl, m.line)
		return
	}
	go c.run(ctx, cl, m.line) // ends with its handler; Serve waits for it through idle, for at most Grace
}

// admit enters a call into the table, from where it can be cancelled before its goroutine has run. The zero code
// means that the connection has ended and nothing is to be said.
func (c *Conn) admit(cl *call) *refusal {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.stopped:
		return &refusal{}
	case c.calls[cl.key] != nil:
		return &refusal{id: cl.id, code: codeInvalidRequest, text: "a request with this id is still under way"}
	case c.running >= c.opt.MaxInFlight, c.running > 0 && c.held+cl.size > heldLines*c.opt.MaxLine:
		return &refusal{id: cl.id, code: codeBusy, text: "too many requests in flight"}
	}
	c.calls[cl.key] = cl
	c.running++
	c.held += cl.size
	return nil
}

// order takes the ticket. A panic there must not end the server, which holds everybody's terminals.
func (c *Conn) order(m message) (ticket any) {
	if c.opt.Order == nil {
		return nil
	}
	defer c.logPanic("ordering a request", m.method)
	return c.opt.Order(m.method, m.params)
}

// run takes one request to its end: handler, answer, out of the table.
func (c *Conn) run(ctx context.Context, cl *call, line []byte) {
	defer c.leave(cl)
	answer := c.respond(ctx, cl, line)
	if answer == nil {
		return
	}
	size := answer.Len() // commit gives the answer away
	if err := c.out.reserve(size, cl.cancelled, cl.inline); err != nil {
		c.log.Debug("answer dropped", "method", cl.method, "reason", err)
		c.recycle(answer)
		return
	}
	if !c.settle(cl) {
		c.out.release(size)
		c.recycle(answer)
		return
	}
	c.out.commit(answer)
}

// respond calls the handler and encodes what it returned. The ticket is given back before the answer can be seen.
func (c *Conn) respond(ctx context.Context, cl *call, line []byte) (answer *bytes.Buffer) {
	defer func() {
		if v := recover(); v != nil {
			c.log.Error("panic", "in", "handling a request", "method", cl.method, "panic", v, "stack", string(debug.Stack()))
			answer = c.encodeError(refusal{id: cl.id, code: codeInternal, text: internalError})
		}
	}()
	defer c.releaseTicket(cl)
	return c.encode(cl, c.server.HandleMessage(ctx, line))
}

func (c *Conn) releaseTicket(cl *call) {
	if t, ok := cl.ticket.(Releaser); ok {
		t.Release()
	}
}

// settle claims the right to answer: false if the client has cancelled. From here on the id is free, so that a client
// can use it again as soon as it has read the answer.
func (c *Conn) settle(cl *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[cl.key] != cl {
		return false
	}
	delete(c.calls, cl.key)
	return true
}

// leave is the end of a request's goroutine.
func (c *Conn) leave(cl *call) {
	cl.cancel(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[cl.key] == cl {
		delete(c.calls, cl.key)
	}
	c.running--
	c.held -= cl.size
	c.closeIfIdle()
}

// stop lets no further request in.
func (c *Conn) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.closeIfIdle()
}

// closeIfIdle wants mu held. Nothing runs after it has closed idle: admit looks at stopped first.
func (c *Conn) closeIfIdle() {
	if c.stopped && c.running == 0 {
		close(c.idle)
	}
}

func (c *Conn) isStopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopped
}

// unfinished returns how many requests are under way.
func (c *Conn) unfinished() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running
}

// cancelCall ends a request's context, whether or not its goroutine has started; an id that is unknown, finished or
// cancelled already is ignored. initialize cannot be under way here: both belong to the read loop.
func (c *Conn) cancelCall(params json.RawMessage) {
	key, cause, ok := cancellation(params)
	if !ok {
		c.log.Debug("ignoring a cancellation without a valid requestId")
		return
	}
	c.mu.Lock()
	cl := c.calls[key]
	if cl != nil {
		delete(c.calls, key)
		close(cl.cancelled)
	}
	c.mu.Unlock()
	if cl != nil {
		cl.cancel(cause)
	}
}

// notify hands a notification to mcp-go, inline: what it tells holds for all that comes after it.
func (c *Conn) notify(base context.Context, m message) {
	defer c.logPanic("handling a notification", m.method)
	c.server.HandleMessage(base, m.line)
}

// refuse answers a line that never became a call. It does not wait for room.
func (c *Conn) refuse(no refusal) {
	answer := c.encodeError(no)
	if err := c.out.reserve(answer.Len(), nil, true); err != nil {
		c.log.Warn("refusal dropped", "refusal", no.text, "reason", err)
		c.recycle(answer)
		return
	}
	c.out.commit(answer)
}

// logPanic is deferred: it ends a panic and tells the log, never the client.
func (c *Conn) logPanic(in, method string) {
	if v := recover(); v != nil {
		c.log.Error("panic", "in", in, "method", method, "panic", v, "stack", string(debug.Stack()))
	}
}
