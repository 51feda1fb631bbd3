package wire

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode/utf8"
)

// JSON-RPC 2.0, section 5.1; -32000 is from the range left to servers.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeInternal       = -32603
	codeBusy           = -32000
)

// message is one line, understood as far as the connection needs. mcp-go decodes the same line again, by the same
// rules of encoding/json.
type message struct {
	id     json.RawMessage // as received; nil for a notification
	key    string          // of id: equal for equal ids only
	method string
	params json.RawMessage
	answer bool // an answer to a request of ours. We make none
	line   []byte
}

// refusal is an error that the connection answers itself.
type refusal struct {
	id   json.RawMessage // nil is null
	code int
	text string
}

// parse understands one line that is not empty, or says how to refuse it.
func parse(line []byte) (message, *refusal) {
	var e struct {
		JSONRPC, ID, Method, Params, Result, Error json.RawMessage
	}
	if err := json.Unmarshal(line, &e); err != nil {
		if !json.Valid(line) {
			return message{}, &refusal{code: codeParse, text: "request is not valid JSON"}
		}
		if line[0] == '[' {
			return message{}, &refusal{code: codeInvalidRequest, text: "batches are not supported"}
		}
		return message{}, &refusal{code: codeInvalidRequest, text: "request is not a JSON object"}
	}
	m := message{id: e.ID, params: e.Params, line: line}
	refuse := func(text string) (message, *refusal) {
		return message{}, &refusal{id: m.id, code: codeInvalidRequest, text: text}
	}
	if m.id != nil {
		key, ok := idKey(m.id)
		if !ok {
			m.id = nil
			return refuse("id is neither a string nor an integer")
		}
		m.key = key
	}
	hasMethod := e.Method != nil
	m.answer = !hasMethod && (e.Result != nil || e.Error != nil)
	switch {
	case !utf8.Valid(line):
		// encoding/json would put U+FFFD for each bad byte without a word, and something else than was meant would
		// be typed into a terminal.
		return refuse("request is not valid UTF-8")
	case m.answer:
		return m, nil
	case !isString(e.JSONRPC, "2.0"):
		return refuse(`jsonrpc is not "2.0"`)
	case json.Unmarshal(e.Method, &m.method) != nil || m.method == "": // null decodes as ""
		return refuse("method is not a string")
	case e.Result != nil || e.Error != nil:
		return refuse("request has a result or an error")
	}
	return m, nil
}

// idKey returns a name for an id under which equal ids meet ("a" and "\u0061", but not "7" and 7), and whether it is
// one that MCP allows: a string or an integer, of any size.
func idKey(id json.RawMessage) (string, bool) {
	if len(id) == 0 || !utf8.Valid(id) {
		return "", false
	}
	switch first := id[0]; {
	case first == '"':
		var s string
		if json.Unmarshal(id, &s) != nil {
			return "", false
		}
		return `"` + s, true
	case first == '-' || '0' <= first && first <= '9':
		return string(id), !strings.ContainsAny(string(id), ".eE")
	}
	return "", false
}

func isString(raw json.RawMessage, want string) bool {
	var s *string
	return json.Unmarshal(raw, &s) == nil && s != nil && *s == want
}

// timedOut recognises the reason of a client that has only run out of patience.
var timedOut = regexp.MustCompile(`(?i)time[d]?[ -]?out|deadline`)

// cancellation reads the params of notifications/cancelled: which request, and the cause for its context.
func cancellation(params json.RawMessage) (key string, cause error, ok bool) {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
		Reason    any             `json:"reason"`
	}
	if json.Unmarshal(params, &p) != nil {
		return "", nil, false
	}
	key, ok = idKey(p.RequestID)
	if reason, isText := p.Reason.(string); isText && timedOut.MatchString(reason) {
		return key, ErrDetached, ok
	}
	return key, ErrCancelled, ok
}
