package wire

import (
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// noteSlots is how many notifications of the library wait for the writer; what does not fit is dropped by the
// library, which tells its caller. A guess.
const noteSlots = 256

// session is what mcp-go knows of a connection. It can do no more than is served: no elicitation, sampling, roots or
// subscriptions. Safe for concurrent use, because a 2026-07-28 client states who it is in every request.
type session struct {
	id    string
	notes chan mcp.JSONRPCNotification

	mu          sync.Mutex // guards what follows
	initialized bool
	level       mcp.LoggingLevel
	client      mcp.Implementation
	can         mcp.ClientCapabilities
	version     string
}

var (
	_ server.SessionWithClientInfo      = (*session)(nil)
	_ server.SessionWithLogging         = (*session)(nil)
	_ server.SessionWithProtocolVersion = (*session)(nil)
)

func newSession(id string) *session {
	return &session{id: id, notes: make(chan mcp.JSONRPCNotification, noteSlots), level: mcp.LoggingLevelError}
}

func (s *session) SessionID() string                                   { return s.id }
func (s *session) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.notes }

func (s *session) Initialize() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.initialized = true
}

func (s *session) Initialized() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.initialized
}

func (s *session) SetLogLevel(l mcp.LoggingLevel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.level = l
}

func (s *session) GetLogLevel() mcp.LoggingLevel {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.level
}

func (s *session) SetClientInfo(i mcp.Implementation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client = i
}

func (s *session) GetClientInfo() mcp.Implementation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

func (s *session) SetClientCapabilities(c mcp.ClientCapabilities) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.can = c
}

func (s *session) GetClientCapabilities() mcp.ClientCapabilities {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.can
}

// SetProtocolVersion is how mcp-go tells what initialize has settled.
func (s *session) SetProtocolVersion(v string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = v
}

func (s *session) ProtocolVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}
