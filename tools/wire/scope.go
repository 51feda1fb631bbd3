package wire

import "context"

// Releaser is a power that a ticket may have: Release is called once, after the request was handled, also when no
// handler has ever seen it (unknown tool, malformed arguments, a panic). So a queue of tickets never stalls.
type Releaser interface {
	Release()
}

// scope is what the context of a request, or of a notification, carries.
type scope struct {
	owner  string
	ticket any
}

type scopeKey struct{}

// Ticket returns what Options.Order returned for the request whose context ctx is or comes from, else nil.
func Ticket(ctx context.Context) any {
	if s, ok := ctx.Value(scopeKey{}).(*scope); ok {
		return s.ticket
	}
	return nil
}

// Owner returns the id of the connection whose request ctx belongs to, else "". It is unique and cannot be guessed
// (128 random bits): one connection, one owner.
func Owner(ctx context.Context) string {
	if s, ok := ctx.Value(scopeKey{}).(*scope); ok {
		return s.owner
	}
	return ""
}
