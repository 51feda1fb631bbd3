package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestMalformedInput(t *testing.T) {
	deep := strings.Repeat("[", 20000)
	for _, c := range []struct {
		name, line string
		code       int
		id         string
	}{
		{"no JSON", `hello`, -32700, "null"},
		{"half an object", `{"jsonrpc":"2.0","id":1,"method":"ping"`, -32700, "null"},
		{"two objects", pingLine("1") + pingLine("2"), -32700, "null"},
		{"NUL byte", "\x00", -32700, "null"},
		{"too deep", `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + deep, -32700, "null"},
		{"half a batch", `[`, -32700, "null"},
		{"batch", "[" + pingLine("1") + "," + pingLine("2") + "]", -32600, "null"},
		{"empty batch", `[]`, -32600, "null"},
		{"null", `null`, -32600, "null"},
		{"number", `5`, -32600, "null"},
		{"string", `"ping"`, -32600, "null"},
		{"empty object", `{}`, -32600, "null"},
		{"id null", pingLine("null"), -32600, "null"},
		{"id object", pingLine("{}"), -32600, "null"},
		{"id array", pingLine("[1]"), -32600, "null"},
		{"id fraction", pingLine("1.5"), -32600, "null"},
		{"id with an empty fraction", pingLine("1.0"), -32600, "null"},
		{"id with an exponent", pingLine("1e3"), -32600, "null"},
		{"id bool", pingLine("true"), -32600, "null"},
		{"no version", `{"id":1,"method":"ping"}`, -32600, "1"},
		{"version 1.0", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, -32600, "1"},
		{"version number", `{"jsonrpc":2.0,"id":1,"method":"ping"}`, -32600, "1"},
		{"version null", `{"jsonrpc":null,"id":1,"method":"ping"}`, -32600, "1"},
		{"version of a notification", `{"jsonrpc":"1.0","method":"notifications/initialized"}`, -32600, "null"},
		{"no method", `{"jsonrpc":"2.0","id":1}`, -32600, "1"},
		{"method null", `{"jsonrpc":"2.0","id":1,"method":null}`, -32600, "1"},
		{"method empty", `{"jsonrpc":"2.0","id":1,"method":""}`, -32600, "1"},
		{"method number", `{"jsonrpc":"2.0","id":"x","method":7}`, -32600, `"x"`},
		{"method and result", `{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, -32600, "1"},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"nosuch"}`, -32601, "1"},
		{"cancelled as a request", `{"jsonrpc":"2.0","id":1,"method":"notifications/cancelled","params":{"requestId":2}}`, -32601, "1"},
		{"tasks are not offered", `{"jsonrpc":"2.0","id":1,"method":"tasks/list"}`, -32601, "1"},
		{"unknown tool", callLine("1", "nosuch"), -32602, "1"},
		{"params number", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":5}`, -32600, "1"},
		{"tool name number", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}`, -32600, "1"},
		{"bad UTF-8 in an argument", strings.Replace(callLine("1", "echo"), "hi", "h\xffi", 1), -32600, "1"},
		{"bad UTF-8 in an id", pingLine("\"\xff\""), -32600, "null"},
		{"bad UTF-8 outside strings", "\xff\xfe", -32700, "null"},
	} {
		t.Run(c.name, func(t *testing.T) {
			answers, err := serve(t, testServer(), Options{}, c.line+"\n"+pingLine(`"after"`)+"\n")
			if err != nil || len(answers) != 2 {
				t.Fatalf("got %v, %v, want an error and the answer to ping", answers, err)
			}
			a, after := answers[0], answers[1]
			if string(a.ID) == `"after"` {
				a, after = after, a
			}
			if a.Error == nil || a.Error.Code != c.code || string(a.ID) != c.id {
				t.Errorf("got %v, want %d with id %s", a, c.code, c.id)
			}
			if a.Error != nil && (strings.Contains(a.Error.Message, "Go ") || strings.Contains(a.Error.Message, "mcp.")) {
				t.Errorf("message shows our inside: %s", a.Error.Message)
			}
			if after.Error != nil {
				t.Errorf("ping after it: got %v", after)
			}
		})
	}
}

func TestIgnoredInput(t *testing.T) {
	for name, line := range map[string]string{
		"nothing":                "",
		"blanks":                 " \t \r",
		"answer to nothing":      `{"jsonrpc":"2.0","id":1,"result":{}}`,
		"error to nothing":       `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`,
		"unknown notification":   `{"jsonrpc":"2.0","method":"nosuch"}`,
		"call as a notification": `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"panic"}}`,
		"initialized":            `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		"malformed notification": `{"jsonrpc":"2.0","method":"nosuch","params":5}`,
	} {
		t.Run(name, func(t *testing.T) {
			answers, err := serve(t, testServer(), Options{}, line+"\n"+pingLine("2")+"\r\n")
			if err != nil || len(answers) != 1 || string(answers[0].ID) != "2" || answers[0].Error != nil {
				t.Errorf("got %v, %v, want the answer to ping alone", answers, err)
			}
		})
	}
}

func TestLongLineIsRefusedAndSkipped(t *testing.T) {
	long := strings.Replace(callLine("1", "echo"), "hi", strings.Repeat("x", 9<<20), 1)
	fits := strings.Replace(callLine("2", "echo"), "hi", strings.Repeat("x", 8<<20-len(callLine("2", "echo"))+2), 1)
	if len(fits) != 8<<20 {
		t.Fatalf("the line that fits has %d bytes", len(fits))
	}
	answers, err := serve(t, testServer(), Options{Grace: time.Minute}, long+"\n"+fits+"\n"+pingLine("3")+"\n"+fits+" \n"+long)
	if err != nil || len(answers) != 5 {
		t.Fatalf("got %v, %v, want 5 answers", answers, err)
	}
	got := map[string]int{}
	for _, a := range answers {
		if a.Error != nil {
			got[fmt.Sprint(string(a.ID), a.Error.Code)]++
		} else {
			got[string(a.ID)]++
		}
	}
	if got["null-32600"] != 3 || got["2"] != 1 || got["3"] != 1 {
		t.Errorf("got %v, want -32600 three times and the answers to 2 and 3", got)
	}
}

// endless is a line that never ends.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.left -= n
	return n, nil
}

func TestLongLineIsNotBuffered(t *testing.T) {
	in := &lines{r: newLineReader(&endless{left: 64 << 20}), max: 1 << 20}
	allocated := testing.AllocsPerRun(1, func() {
		if _, err := in.next(); !errors.Is(err, errLong) && !errors.Is(err, io.EOF) {
			t.Errorf("got %v, want errLong", err)
		}
	})
	if allocated > 100 {
		t.Errorf("%v allocations for a line of 64 MiB", allocated)
	}
}

func TestLinesAnyChunking(t *testing.T) {
	input := "a\n\nbb\r\n" + strings.Repeat("c", 11) + "\n" + strings.Repeat("d", 10) + "\nlast"
	want := []string{"a", "", "bb\r", "long", "dddddddddd", "last"}
	for name, r := range map[string]io.Reader{
		"whole":     strings.NewReader(input),
		"bytewise":  iotest.OneByteReader(strings.NewReader(input)),
		"with data": iotest.DataErrReader(strings.NewReader(input)),
	} {
		in := &lines{r: newLineReader(r), max: 10}
		var got []string
		for {
			line, err := in.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if errors.Is(err, errLong) {
				line = []byte("long")
			}
			got = append(got, string(line))
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// Whatever comes in, only messages go out, and never more than one for a line.
func FuzzServe(f *testing.F) {
	for _, seed := range []string{
		pingLine("1"), callLine(`"a"`, "echo"), cancelLine("1", `"x"`), initializeLine("0", "x"), `[{}]`, "{\"id\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	s := testServer()
	f.Fuzz(func(t *testing.T, input []byte) {
		var out bytes.Buffer
		if err := New(s, &out, Options{MaxLine: 1000}).Serve(t.Context(), bytes.NewReader(input)); err != nil {
			t.Fatalf("Serve: %v", err)
		}
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) {
				t.Errorf("not JSON: %q", line)
			}
		}
		if in, got := bytes.Count(input, []byte("\n"))+1, bytes.Count(out.Bytes(), []byte("\n")); got > in {
			t.Errorf("%d answers to %d lines", got, in)
		}
	})
}
