package wire

import (
	"bytes"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// internalError is all that a client learns of a fault of ours.
const internalError = "internal error"

// keepBytes is the largest buffer that is kept for the next answer. A guess.
const keepBytes = 1 << 20

// toolResult is mcp.CallToolResult with its fields on the wire. The library's own MarshalJSON fills a map, and
// encoding/json then validates and compacts the outcome once more: five times the time for a large result
// . TestEncodingEqualsLibrary holds the two together.
type toolResult struct {
	Meta              *mcp.Meta         `json:"_meta,omitempty"`
	ResultType        mcp.ResultType    `json:"resultType,omitempty"` // required since 2026-07-28, set by the library
	IsError           bool              `json:"isError,omitempty"`
	Content           []mcp.Content     `json:"content"`
	StructuredContent any               `json:"structuredContent,omitempty"`
	InputRequests     mcp.InputRequests `json:"inputRequests,omitempty"`
	RequestState      string            `json:"requestState,omitempty"`
}

func newToolResult(r *mcp.CallToolResult) toolResult {
	t := toolResult{
		Meta: r.Meta, ResultType: r.ResultType, IsError: r.IsError, Content: r.Content,
		StructuredContent: r.StructuredContent, InputRequests: r.InputRequests, RequestState: r.RequestState,
	}
	if len(r.RawStructuredContent) > 0 {
		t.StructuredContent = r.RawStructuredContent
	}
	if t.Content == nil {
		t.Content = []mcp.Content{} // required: [] and not null
	}
	return t
}

// encode returns the line that answers a call.
func (c *Conn) encode(cl *call, response mcp.JSONRPCMessage) *bytes.Buffer {
	switch m := response.(type) {
	case mcp.JSONRPCResponse:
		result := m.Result
		if r, ok := result.(*mcp.CallToolResult); ok && r != nil {
			result = newToolResult(r)
		}
		line, err := c.encodeLine(cl.id, "result", result)
		if err == nil {
			return line
		}
		c.log.Error("encoding a result", "method", cl.method, "error", err)
	case mcp.JSONRPCError:
		return c.encodeLibraryError(cl, m.Error)
	default:
		c.log.Error("no response to a request", "method", cl.method)
	}
	return c.encodeError(refusal{id: cl.id, code: codeInternal, text: internalError})
}

// encodeLibraryError passes on what mcp-go has to say, but for two texts that show our insides: -32603 carries the
// text of a Go error or a panic, and -32600, whose other reasons parse has ruled out, that of a Go decoder.
func (c *Conn) encodeLibraryError(cl *call, e mcp.JSONRPCErrorDetails) *bytes.Buffer {
	switch e.Code {
	case codeInternal:
		c.log.Error("internal error", "method", cl.method, "error", e.Message)
		e.Message, e.Data = internalError, nil
	case codeInvalidRequest:
		c.log.Debug("malformed params", "method", cl.method, "error", e.Message)
		e.Message, e.Data = "params of "+cl.method+" are malformed", nil
	}
	line, err := c.encodeLine(cl.id, "error", e)
	if err != nil {
		c.log.Error("encoding an error", "method", cl.method, "error", err)
		return c.encodeError(refusal{id: cl.id, code: e.Code, text: e.Message})
	}
	return line
}

func (c *Conn) encodeError(no refusal) *bytes.Buffer {
	line, err := c.encodeLine(no.id, "error", mcp.JSONRPCErrorDetails{Code: no.code, Message: no.text})
	if err != nil {
		panic(err) // a number and a string always encode
	}
	return line
}

// encodeLine puts the id in as it came; encoding/json would not touch it either, but scans it.
func (c *Conn) encodeLine(id json.RawMessage, member string, value any) (*bytes.Buffer, error) {
	if id == nil {
		id = json.RawMessage("null")
	}
	line := c.buffers.Get().(*bytes.Buffer)
	line.WriteString(`{"jsonrpc":"2.0","id":`)
	line.Write(id)
	line.WriteString(`,"` + member + `":`)
	if err := encodeTo(line, value); err != nil {
		c.recycle(line)
		return nil, err
	}
	line.Truncate(line.Len() - 1) // Encode's newline
	line.WriteString("}\n")
	return line, nil
}

// encodeNote returns the line of a notification, nil if it cannot be encoded.
func (c *Conn) encodeNote(n mcp.JSONRPCNotification) *bytes.Buffer {
	line := c.buffers.Get().(*bytes.Buffer)
	if err := encodeTo(line, n); err != nil {
		c.log.Error("encoding a notification", "method", n.Method, "error", err)
		c.recycle(line)
		return nil
	}
	return line
}

// encodeTo does not write < > & as six bytes each: terminal output is full of them, and nobody puts this into HTML.
func encodeTo(line *bytes.Buffer, value any) error {
	e := json.NewEncoder(line)
	e.SetEscapeHTML(false)
	return e.Encode(value)
}

// recycle takes a line back when it is written or unwanted.
func (c *Conn) recycle(line *bytes.Buffer) {
	if line.Cap() <= keepBytes {
		line.Reset()
		c.buffers.Put(line)
	}
}
