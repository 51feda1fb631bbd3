package wire

import "errors"

// Why the context of a handler ended: [context.Cause] is exactly one of these.
var (
	// ErrCancelled means that the client cancelled the request. It gets no answer.
	ErrCancelled = errors.New("cancelled by the client")
	// ErrDetached means that the client has only given up waiting: its reason named a time-out. What the request
	// started goes on. It gets no answer.
	ErrDetached = errors.New("the client stopped waiting")
	// ErrGone means that the input ended or the output broke: there is no client any more.
	ErrGone = errors.New("the client is gone")
	// ErrShutdown means that the context of Serve was cancelled: the server is told to stop.
	ErrShutdown = errors.New("the server is shutting down")
)

// ErrServed is returned by a second Serve of one connection.
var ErrServed = errors.New("connection has been served already")

// What becomes of an answer that cannot be written.
var (
	errUnwanted = errors.New("request was cancelled")
	errClosed   = errors.New("output is closed")
	errFull     = errors.New("output queue is full")
)
