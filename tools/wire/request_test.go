package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestSlowCallsHoldNobodyUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := connect(t, testServer(), Options{})
		start := time.Now()
		for i := range 60 {
			p.call(fmt.Sprint(i), "sleep")
		}
		p.send(pingLine(`"ping"`), callLine(`"echo"`, "echo"))
		for range 2 {
			if a := p.next(); a.ID[0] != '"' {
				t.Errorf("first answers: got %v, want ping and echo", a)
			}
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("ping and echo took %v, want no time", d)
		}
		for range 60 {
			if a := p.next(); a.text() != "slept" {
				t.Errorf("got %v, want slept", a)
			}
		}
		if d := time.Since(start); d != 2*time.Second {
			t.Errorf("60 calls took %v, want 2s", d)
		}
	})
}

func TestIDsComeBackExactly(t *testing.T) {
	ids := []string{
		"0", "-1", "-0", "9007199254740993", "-9223372036854775809", "123456789012345678901234567890",
		`""`, `"7"`, "7", `"<&> "`, `"\u0061\/"`, `"a b"`, `"9007199254740993"`,
	}
	bubble(t, func(t *testing.T) {
		p := connect(t, testServer(), Options{})
		for _, id := range ids {
			p.call(id, "sleep") // all in flight together
		}
		got := map[string]bool{}
		for range ids {
			got[string(p.next().ID)] = true
		}
		for _, id := range ids {
			if !got[id] {
				t.Errorf("no answer with id %s; got %v", id, got)
			}
		}
	})
}

func TestSecondRequestWithAnIDInFlightIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := connect(t, testServer(), Options{})
		p.send(callLine(`"a"`, "sleep"), pingLine(`"\u0061"`), pingLine("1"))
		if a := p.next(); a.Error == nil || a.Error.Code != -32600 || string(a.ID) != `"\u0061"` {
			t.Errorf("got %v, want -32600 with the id as sent", a)
		}
		if a := p.next(); string(a.ID) != "1" || a.Error != nil {
			t.Errorf("got %v, want the answer to ping", a)
		}
		if a := p.next(); a.text() != "slept" {
			t.Errorf("got %v, want the first call to go on", a)
		}
		p.call(`"a"`, "echo")
		if a := p.next(); a.text() != "hi" {
			t.Errorf("got %v, want the id to be free again", a)
		}
	})
}

// A client that uses one id for everything must never be told that it is in use.
func TestIDIsFreeWhenTheAnswerIsRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := connect(t, testServer(), Options{})
		for range 1000 {
			p.call("1", "echo")
			if a := p.next(); a.Error != nil {
				t.Fatalf("got %v, want a result", a)
			}
		}
	})
}

func TestTooManyRequestsAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := connect(t, testServer(), Options{MaxInFlight: 3})
		for i := range 4 {
			p.call(fmt.Sprint(i), "sleep")
		}
		if a := p.next(); string(a.ID) != "3" || a.Error == nil || a.Error.Code != -32000 ||
			a.Error.Message != "too many requests in flight" {
			t.Errorf("got %v, want -32000 for id 3", a)
		}
		p.send(cancelLine("0", ""))
		synctest.Wait()
		p.call("4", "echo")
		if a := p.next(); string(a.ID) != "4" || a.text() != "hi" {
			t.Errorf("got %v, want room after a cancellation", a)
		}
	})
}

func TestRequestsInFlightAreBoundedInBytes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := connect(t, testServer(), Options{MaxLine: 1000})
		for i := range 5 {
			line := callLine(fmt.Sprint(i), "sleep")
			p.send(strings.Replace(line, "hi", strings.Repeat("h", 1000-len(line)+len("hi")), 1))
		}
		if a := p.next(); string(a.ID) != "4" || a.Error == nil || a.Error.Code != -32000 {
			t.Errorf("got %v, want -32000 for id 4: four full lines are held", a)
		}
	})
}

func TestTicketsFollowArrival(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := 0 // of the read loop
		p := connect(t, testServer(), Options{MaxInFlight: 2000, Order: func(string, json.RawMessage) any {
			n++
			return n
		}})
		var lines []string
		for i := range 1000 {
			lines = append(lines, callLine(fmt.Sprint(i+1), "ticket"))
		}
		p.send(lines...)
		for range 1000 {
			if a := p.next(); a.text() != string(a.ID) {
				t.Errorf("ticket of request %s: got %s", a.ID, a.text())
			}
		}
	})
}

func TestOrderSeesMethodAndParams(t *testing.T) {
	var got []string
	_, err := serve(t, testServer(), Options{Order: func(method string, params json.RawMessage) any {
		got = append(got, method+" "+string(params))
		return nil
	}}, strings.Join([]string{
		initializeLine("0", "2025-11-25"), `{"jsonrpc":"2.0","method":"notifications/initialized"}`, pingLine("1"),
		`{"jsonrpc":"2.0","id":2,"method":"x","params":{"n":9007199254740993}}`, `{"jsonrpc":"2.0","id":null,"method":"x"}`,
	}, "\n"))
	want := []string{"ping ", `x {"n":9007199254740993}`}
	if err != nil || len(got) != 3 || !strings.HasPrefix(got[0], "initialize {") || fmt.Sprint(got[1:]) != fmt.Sprint(want) {
		t.Errorf("got %q, want initialize and %q", got, want)
	}
}

type countedTicket struct{ n *atomic.Int32 }

func (c countedTicket) Release() { c.n.Add(1) }

func TestTicketsAreReleasedWhateverHappens(t *testing.T) {
	for name, line := range map[string]string{
		"answered":       callLine("1", "echo"),
		"cancelled":      callLine("1", "wait") + "\n" + cancelLine("1", ""),
		"unknown tool":   callLine("1", "nosuch"),
		"unknown method": `{"jsonrpc":"2.0","id":1,"method":"nosuch"}`,
		"bad params":     `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}`,
		"panic":          callLine("1", "panic"),
		"not encodable":  callLine("1", "nan"),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var n atomic.Int32
				order := func(string, json.RawMessage) any { return countedTicket{&n} }
				if _, err := serve(t, testServer(), Options{Order: order}, line); err != nil || n.Load() != 1 {
					t.Errorf("released %d times, want once (%v)", n.Load(), err)
				}
			})
		})
	}
}

func TestFaultsShowNothingOfTheInside(t *testing.T) {
	for tool, inLog := range map[string]string{
		"panic": "goroutine",
		"fail":  "secret text",
		"nan":   "unsupported type",
	} {
		t.Run(tool, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var log logged
				p := connect(t, testServer(), Options{Log: log.logger()})
				p.call("1", tool)
				a := p.next()
				if a.Error == nil || a.Error.Code != -32603 || a.Error.Message != "internal error" || a.Error.Data != nil {
					t.Errorf("got %v, want -32603 internal error", a)
				}
				if !strings.Contains(log.String(), inLog) {
					t.Errorf("log: got %s, want %q in it", &log, inLog)
				}
				p.call("2", "echo")
				if got := p.next().text(); got != "hi" {
					t.Errorf("next call: got %q, want hi", got)
				}
			})
		})
	}
}

func TestPanicInOrderIsSurvived(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := connect(t, testServer(), Options{Order: func(string, json.RawMessage) any { panic("secret text") }})
		p.call("1", "ticket")
		if got := p.next().text(); got != "<nil>" {
			t.Errorf("ticket: got %q, want none", got)
		}
	})
}

func TestOwnerIsTheSessionAndUnique(t *testing.T) {
	seen := map[string]bool{}
	s := testServer()
	for range 3 {
		answers, err := serve(t, s, Options{}, callLine("1", "owner")+"\n"+callLine("2", "owner"))
		if err != nil || len(answers) != 2 || answers[0].text() != answers[1].text() {
			t.Fatalf("got %v, %v, want two equal answers", answers, err)
		}
		owner, session, _ := strings.Cut(answers[0].text(), " ")
		if owner != session || len(owner) < 26 || seen[owner] {
			t.Errorf("owner %q, session %q, seen before: %t", owner, session, seen[owner])
		}
		seen[owner] = true
	}
	if got := Owner(t.Context()); got != "" {
		t.Errorf("owner outside of a connection: got %q", got)
	}
}

func TestNotificationsComeBeforeTheResult(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := connect(t, testServer(), Options{})
		p.send(initializeLine("0", "2025-11-25"))
		p.next()
		for i := range 100 {
			p.call(fmt.Sprint(i), "notify")
			for want := range 50 {
				a := p.next()
				if a.Method != "notifications/progress" || !strings.Contains(string(a.Params), fmt.Sprintf(`"progress":%d,`, want)) {
					t.Fatalf("got %v %s %s, want progress %d", a, a.Method, a.Params, want)
				}
			}
			if got := p.next().text(); got != "done" {
				t.Fatalf("got %q, want done", got)
			}
		}
	})
}
