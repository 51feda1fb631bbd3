package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

func BenchmarkRoundTrip(b *testing.B) {
	inR, inW, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- New(testServer(), outW, Options{}).Serve(context.Background(), inR) }() // ends with inW
	out := bufio.NewReader(outR)
	line := callLine("1", "echo") + "\n"
	b.ReportAllocs()
	for b.Loop() {
		if _, err := io.WriteString(inW, line); err != nil {
			b.Fatal(err)
		}
		if _, err := out.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
	_ = inW.Close() // the end of input; nothing else can come of it
	if err := <-served; err != nil {
		b.Fatal(err)
	}
	for _, f := range []*os.File{inR, outR, outW} {
		_ = f.Close() // no longer in use
	}
}

// 256 KiB of coloured text, alone and with the same again as structured content.
func BenchmarkEncode(b *testing.B) {
	text := strings.Repeat("\x1b[1m<ok>\x1b[0m & done é\n", 256<<10/24)
	for name, r := range map[string]*mcp.CallToolResult{
		"text": mcp.NewToolResultText(text),
		"both": mcp.NewToolResultStructured(struct {
			Text string `json:"text"`
		}{text}, text),
	} {
		response := mcp.NewJSONRPCResultResponse(mcp.NewRequestId(1), r)
		b.Run(name+"/wire", func(b *testing.B) {
			c := New(testServer(), &bytes.Buffer{}, Options{})
			b.ReportAllocs()
			for b.Loop() {
				c.recycle(c.encode(&call{id: json.RawMessage("1")}, response))
			}
		})
		b.Run(name+"/library", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := json.Marshal(response); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
