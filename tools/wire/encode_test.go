package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

func results() map[string]*mcp.CallToolResult {
	priority := 0.5
	return map[string]*mcp.CallToolResult{
		"text":       mcp.NewToolResultText("a <b> & \"c\"\n\x00\x1b[0m é \u2028 \xff"),
		"two texts":  {Content: []mcp.Content{mcp.NewTextContent("a"), mcp.NewTextContent("")}},
		"no content": {},
		"empty":      {Content: []mcp.Content{}},
		"error":      mcp.NewToolResultError("no such session"),
		"structured": mcp.NewToolResultStructured(struct {
			Text string `json:"text"`
			N    int64  `json:"n"`
		}{"a<b", 9007199254740993}, "a"),
		"structured null": {StructuredContent: json.RawMessage("null")},
		"structured raw":  {RawStructuredContent: json.RawMessage(`{"n": 9007199254740993}`), StructuredContent: 1},
		"structured nil":  {StructuredContent: (*int)(nil)},
		"structured map":  {StructuredContent: map[string]any{"b": 1, "a": []int{}}},
		"meta": {Result: mcp.Result{Meta: &mcp.Meta{
			ProgressToken: "t", AdditionalFields: map[string]any{"ptykeep/x": map[string]any{"a<b": 1}},
		}}},
		"meta empty": {Result: mcp.Result{Meta: &mcp.Meta{}}, IsError: true},
		"input required": {
			Result:               mcp.Result{ResultType: mcp.ResultTypeInputRequired},
			MultiRoundTripResult: mcp.MultiRoundTripResult{RequestState: "s"},
		},
		"other content": {Content: []mcp.Content{
			mcp.NewImageContent("AAAA", "image/png"), mcp.NewResourceLink("file:///a", "a", "d", "text/plain"),
			mcp.TextContent{
				Annotated: mcp.Annotated{Annotations: &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser}, Priority: &priority}},
				Meta:      &mcp.Meta{}, Type: "text", Text: "a",
			},
			&mcp.TextContent{Type: "text", Text: "pointer"},
		}},
	}
}

func normal(t *testing.T, line []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("decoding %s: %v", line, err)
	}
	return v
}

func TestEncodingEqualsLibrary(t *testing.T) {
	c := New(testServer(), &bytes.Buffer{}, Options{})
	eras := map[string]func(*mcp.CallToolResult){
		"legacy": func(*mcp.CallToolResult) {},
		"modern": func(r *mcp.CallToolResult) { // as the library's decorateResult
			if r.ResultType == "" {
				r.ResultType = mcp.ResultTypeComplete
			}
			r.EnsureResultMeta().SetServerInfo(mcp.Implementation{Name: "test", Version: "1"})
		},
	}
	for era, decorate := range eras {
		for name, r := range results() {
			decorate(r)
			response := mcp.NewJSONRPCResultResponse(mcp.NewRequestId("id"), r)
			want, err := json.Marshal(response)
			if err != nil {
				t.Fatalf("%s %s: %v", era, name, err)
			}
			got := c.encode(&call{id: json.RawMessage(`"id"`)}, response).Bytes()
			if !reflect.DeepEqual(normal(t, got), normal(t, want)) {
				t.Errorf("%s %s:\ngot  %s\nwant %s", era, name, got, want)
			}
			if !bytes.HasSuffix(got, []byte("}\n")) || bytes.Count(got, []byte("\n")) != 1 {
				t.Errorf("%s %s: not one line: %q", era, name, got)
			}
		}
	}
}

// The fields of the library's type, so that a new one is not forgotten with its next version.
func TestToolResultHasAllFieldsOfLibrary(t *testing.T) {
	var got []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[mcp.CallToolResult]()) {
		if !f.Anonymous {
			got = append(got, f.Name)
		}
	}
	want := "Meta ResultType InputRequests RequestState Content StructuredContent RawStructuredContent IsError"
	if strings.Join(got, " ") != want {
		t.Errorf("fields of mcp.CallToolResult: got %v, want %v: see newToolResult", got, want)
	}
}

// A whole dialogue gives what mcp-go's own encoding of HandleMessage gives, in both eras.
func TestAnswersEqualLibrary(t *testing.T) {
	lines := []string{
		initializeLine("1", "2025-11-25"), modern("1", "server/discover", ""),
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, modern("1", "tools/list", ""),
		callLine("1", "echo"), modern("1", "tools/call", `"name":"echo","arguments":{"text":"<&>"}`),
		callLine("1", "nosuch"), pingLine("1"), modern("1", "ping", ""),
		strings.Replace(modern("1", "tools/list", ""), "2026-07-28", "2027-01-01", 1),
	}
	for _, line := range lines {
		answers, err := serve(t, testServer(), Options{}, line)
		if err != nil || len(answers) != 1 {
			t.Fatalf("%s: got %v, %v", line, answers, err)
		}
		var out bytes.Buffer
		if err := New(testServer(), &out, Options{}).Serve(t.Context(), strings.NewReader(line)); err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(testServer().HandleMessage(t.Context(), json.RawMessage(line)))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(normal(t, out.Bytes()), normal(t, want)) {
			t.Errorf("%s:\ngot  %s\nwant %s", line, out.Bytes(), want)
		}
	}
}

func TestInternalErrorsOfLibraryAreHidden(t *testing.T) {
	c := New(testServer(), &bytes.Buffer{}, Options{})
	e := mcp.NewJSONRPCError(mcp.NewRequestId(1), mcp.INTERNAL_ERROR, "secret", map[string]any{"x": "secret"})
	if got := c.encode(&call{id: json.RawMessage("1")}, e).String(); strings.Contains(got, "secret") {
		t.Errorf("got %s", got)
	}
}
