package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func initializeLine(id, version string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},`+
		`"clientInfo":{"name":"test","version":"1"}}}`, id, version)
}

// modern is a request of 2026-07-28, which carries what initialize used to settle.
func modern(id, method, params string) string {
	if params != "" {
		params += ","
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},`+
		`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"}}}}`, id, method, params)
}

type result struct {
	ProtocolVersion   string                     `json:"protocolVersion"`
	SupportedVersions []string                   `json:"supportedVersions"`
	Capabilities      map[string]json.RawMessage `json:"capabilities"`
	ResultType        string                     `json:"resultType"`
	Meta              map[string]json.RawMessage `json:"_meta"`
	Tools             []struct{ Name string }    `json:"tools"`
}

func (a answer) result(t *testing.T) (r result) {
	t.Helper()
	if a.Error != nil {
		t.Fatalf("got %v, want a result", a)
	}
	if err := json.Unmarshal(a.Result, &r); err != nil {
		t.Fatalf("decoding %s: %v", a.Result, err)
	}
	return r
}

func onlyTools(t *testing.T, capabilities map[string]json.RawMessage) {
	t.Helper()
	if len(capabilities) != 1 || capabilities["tools"] == nil {
		t.Errorf("capabilities: got %v, want tools alone", capabilities)
	}
}

func TestLegacyDialogue(t *testing.T) {
	for offered, settled := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25", "2030-01-01": "2025-11-25",
	} {
		t.Run(offered, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := connect(t, testServer(), Options{})
				p.send(initializeLine("1", offered))
				r := p.next().result(t)
				if r.ProtocolVersion != settled || r.ResultType != "" || r.Meta != nil {
					t.Errorf("initialize: got %+v, want %s and nothing of the later era", r, settled)
				}
				onlyTools(t, r.Capabilities)
				if got := p.conn.session.ProtocolVersion(); got != settled || p.conn.session.GetClientInfo().Name != "test" {
					t.Errorf("session: got version %q of %+v", got, p.conn.session.GetClientInfo())
				}
				p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
				if r := p.next().result(t); len(r.Tools) == 0 || r.ResultType != "" {
					t.Errorf("tools/list: got %+v", r)
				}
				p.call("3", "echo")
				a := p.next()
				if r := a.result(t); a.text() != "hi" || r.ResultType != "" {
					t.Errorf("tools/call: got %v", a)
				}
			})
		})
	}
}

func TestModernDialogue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := connect(t, testServer(), Options{})
		p.send(modern("1", "server/discover", ""))
		r := p.next().result(t)
		if !strings.Contains(strings.Join(r.SupportedVersions, " "), "2026-07-28") || r.ResultType != "complete" {
			t.Errorf("server/discover: got %+v", r)
		}
		onlyTools(t, r.Capabilities)
		p.send(modern("2", "tools/list", ""))
		if r := p.next().result(t); len(r.Tools) == 0 || r.ResultType != "complete" {
			t.Errorf("tools/list: got %+v", r)
		}
		p.send(modern("9007199254740993", "tools/call", `"name":"echo","arguments":{"text":"hi"}`))
		a := p.next()
		if r := a.result(t); a.text() != "hi" || r.ResultType != "complete" || len(r.Meta) != 1 {
			t.Errorf("tools/call: got %v, want hi, complete and the server in _meta", a)
		}
		for _, removed := range []string{"initialize", "ping", "logging/setLevel"} {
			p.send(modern("4", removed, ""))
			if a := p.next(); a.Error == nil || a.Error.Code != -32601 {
				t.Errorf("%s: got %v, want -32601", removed, a)
			}
		}
		p.send(modern("5", "subscriptions/listen", `"notifications":{"toolsListChanged":true}`))
		if a := p.next(); a.Method != "notifications/subscriptions/acknowledged" {
			t.Errorf("subscriptions/listen: got %v, want the acknowledgement first", a)
		}
		if r := p.next().result(t); r.ResultType != "complete" {
			t.Errorf("subscriptions/listen: got %+v, want it to end at once", r)
		}
		p.send(pingLine("6")) // an earlier client on the same connection
		if r := p.next().result(t); r.ResultType != "" {
			t.Errorf("ping of the earlier era: got %+v", r)
		}
	})
}

func TestModernCallIsCancelled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, seen := causes()
		p := connect(t, s, Options{})
		p.send(modern("1", "tools/call", `"name":"wait"`), cancelLine("1", `"timed out"`))
		if got := <-seen; got != "detached" {
			t.Errorf("cause: got %s, want detached", got)
		}
		p.silent()
	})
}
