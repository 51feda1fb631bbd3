// Package wire serves one MCP connection over any reader and writer.
//
//	mcp := server.NewMCPServer("ptykeep", version)
//	conn := wire.New(mcp, out, wire.Options{Log: log})
//	err := conn.Serve(ctx, in) // until the input ends, the output breaks or ctx is cancelled
//
// It stands between a byte stream and [server.MCPServer.HandleMessage]:
//
//	r -> lines -> message -> admit, ticket -> one goroutine a request -> HandleMessage -> handler
//	                  \-> notifications/cancelled ends that request's context
//	w <- writer <- queue, bounded in bytes <- one JSON line <- answer
//
// The library's own stdio server is not used: five of its workers can be held by five waiting calls, it loses a
// cancellation that comes early and answers a cancelled request, it changes ids above 2^53, and a client that stops
// reading keeps it alive for ever.
//
// # Why a call ends
//
// The context of a handler ends with one of four causes, as [context.Cause] gives it: [ErrCancelled], [ErrDetached],
// [ErrGone] or [ErrShutdown]. At the end of input nothing that was read is dropped: each request reaches its handler,
// perhaps with a context that is [ErrGone] already, and it is the handler that decides what can still be done.
//
// # Signals
//
// A Go program dies of SIGPIPE when file descriptor 1 breaks, before anything is cleaned up. That, SIGTERM and their
// like belong to the command: it catches them (signal.Notify, never signal.Ignore, which every child would inherit)
// and cancels the context of [Conn.Serve].
package wire

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

const (
	defaultGrace       = 2 * time.Second
	defaultMaxLine     = 8 << 20 // promised to clients
	defaultMaxInFlight = 256
	// heldLines bounds the requests in flight in bytes: as many as this many full lines. A guess; mcp-go needs about
	// nine times a request's size to decode it (64 MiB took 564 MB).
	heldLines = 4
	// interruptLag is for a reader whose Close does not end a Read; a deadline, or the Close of a pipe, takes no time.
	interruptLag = 100 * time.Millisecond
)

// Options configure a [Conn]. The zero value works; they are copied by [New].
type Options struct {
	// Grace is how long Serve waits, after the connection has ended, for handlers and for answers to be written.
	// 0 means 2 s.
	Grace time.Duration
	// Log gets what the client must not see: panics, texts of internal errors, what was left behind. nil discards.
	Log *slog.Logger
	// Order is called in the read loop, in arrival order, once for each request that is let in; what it returns is
	// found in the handler's context by [Ticket]. It must not block, and must not keep params. nil means no tickets.
	Order func(method string, params json.RawMessage) (ticket any)
	// MaxLine is the longest line that is accepted, in bytes without its end. 0 means 8 MiB.
	MaxLine int
	// MaxInFlight is how many requests may be under way; more are answered with -32000. 0 means 256.
	MaxInFlight int
}

// Conn is one connection. It is made by [New] and used for one [Conn.Serve].
type Conn struct {
	// Fixed by New.
	server  *server.MCPServer
	opt     Options
	log     *slog.Logger
	owner   string
	session *session
	out     *output
	buffers sync.Pool     // *bytes.Buffer, between two answers
	idle    chan struct{} // closed when stopped and nothing is running

	mu      sync.Mutex       // guards what follows; never held over I/O or a call out
	calls   map[string]*call // by key of the id: what can be cancelled and has no answer yet
	running int              // requests whose goroutine has not ended, the cancelled ones included
	held    int              // their size in bytes
	served  bool
	stopped bool
}

// New returns a connection that answers on w, one Write a line, never two at a time. w stays the caller's; whoever
// closes it ends a Write that the system blocks. A nil s or w is a programmer's mistake and panics.
func New(s *server.MCPServer, w io.Writer, o Options) *Conn {
	if s == nil || w == nil {
		panic(fmt.Sprintf("wire.New: server is nil: %t, writer is nil: %t", s == nil, w == nil))
	}
	if o.Grace <= 0 {
		o.Grace = defaultGrace
	}
	if o.MaxLine <= 0 {
		o.MaxLine = defaultMaxLine
	}
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = defaultMaxInFlight
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &Conn{
		server: s,
		opt:    o,
		log:    o.Log,
		owner:  rand.Text(),
		idle:   make(chan struct{}),
		calls:  make(map[string]*call),
	}
	c.buffers.New = func() any { return new(bytes.Buffer) }
	c.session = newSession(c.owner)
	c.out = newOutput(w, c.session.notes, c.encodeNote, c.recycle)
	return c
}

// Owner returns the random id of this connection, which is also the library's session id: whose calls they are.
func (c *Conn) Owner() string { return c.owner }

// Serve reads requests from r until the input ends, the output breaks or ctx is cancelled, then ends the contexts of
// what is under way, waits for it and for its answers to be written, together for at most Options.Grace, and returns:
// nil after the end of input, an error that is [ErrShutdown] and the cause of ctx after ctx was cancelled, otherwise
// the error of the stream. It serves once; a second call returns [ErrServed].
//
// r is Serve's to the end, and of no use afterwards: a Read under way is ended by SetReadDeadline or else Close, if r
// has them. What can stay behind when Serve returns: a Read or a Write that the system blocks and no deadline ends
// (os.Stdin of a process; ended by the other side, or with the process), and handlers that ignore their context.
func (c *Conn) Serve(ctx context.Context, r io.Reader) error {
	c.mu.Lock()
	again := c.served
	c.served = true
	c.mu.Unlock()
	if again {
		return ErrServed
	}
	// Values are inherited, the end is not: it must come with our causes and after stop.
	base, end := context.WithCancelCause(context.WithValue(context.WithoutCancel(ctx), scopeKey{}, &scope{owner: c.owner}))
	base = c.server.WithContext(base, c.session)
	if err := c.server.RegisterSession(base, c.session); err != nil {
		end(err)
		return fmt.Errorf("registering session: %w", err)
	}
	defer c.server.UnregisterSession(context.WithoutCancel(base), c.owner)

	go c.out.run() // ended by finish, below: when the queue is empty, or by abandon
	read := make(chan error, 1)
	go func() { read <- c.readLoop(base, r) }() // ends with the input, else by interrupt, below

	why, err := c.wait(ctx, read)
	c.stop()
	end(why)
	c.finish(r, read)
	if failure := c.out.failure(); err == nil && failure != nil {
		c.log.Warn("output broke after the end of input", "error", failure)
	}
	return err
}

// wait blocks until the connection ends and tells why. It puts back what it takes from read.
func (c *Conn) wait(ctx context.Context, read chan error) (why, err error) {
	select {
	case err := <-read:
		read <- err
		if err != nil {
			return ErrGone, fmt.Errorf("reading requests: %w", err)
		}
		return ErrGone, nil
	case <-c.out.gone:
		return ErrGone, fmt.Errorf("writing answers: %w", c.out.failure())
	case <-ctx.Done():
		return ErrShutdown, fmt.Errorf("%w: %w", ErrShutdown, context.Cause(ctx))
	}
}

// finish waits for handlers, then for their answers to be written, then for the reader, which comes last because r and
// w may be one connection.
func (c *Conn) finish(r io.Reader, read <-chan error) {
	expired := make(chan struct{})
	timer := time.AfterFunc(c.opt.Grace, func() { close(expired) })
	defer timer.Stop()
	if !closedBefore(c.idle, expired) {
		c.log.Warn("connection ended with requests under way", "requests", c.unfinished())
	}
	c.out.close()
	if !closedBefore(c.out.done, expired) {
		c.log.Warn("connection ended with answers unwritten", "bytes", c.out.queued())
	}
	c.out.abandon()
	if len(read) > 0 || !interruptRead(r) {
		return
	}
	select {
	case <-read:
	case <-time.After(interruptLag):
	}
}

// closedBefore waits for done and tells whether it came before expired.
func closedBefore(done, expired <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-expired:
	}
	select {
	case <-done: // both: it is done
		return true
	default:
		return false
	}
}
