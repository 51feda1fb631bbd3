package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// stuckServer has a tool "stuck" that does not look at its context, and returns what lets it go.
func stuckServer() (*server.MCPServer, func()) {
	s, free := testServer(), make(chan struct{})
	s.AddTool(mcp.NewTool("stuck"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-free
		return mcp.NewToolResultText("late"), nil
	})
	return s, func() { close(free) }
}

func TestPipedCallsAreAllAnswered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var in strings.Builder
		for i := range 50 {
			in.WriteString(callLine(fmt.Sprint(i), "echo") + "\n")
		}
		answers, err := serve(t, testServer(), Options{}, in.String())
		if err != nil {
			t.Errorf("Serve: %v", err)
		}
		seen := map[string]bool{}
		for _, a := range answers {
			if a.text() != "hi" {
				t.Errorf("got %v, want hi", a)
			}
			seen[string(a.ID)] = true
		}
		if len(seen) != 50 || len(answers) != 50 {
			t.Errorf("got %d answers to %d calls, want 50 to 50", len(answers), len(seen))
		}
	})
}

func TestEndOfInputEndsWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		start := time.Now()
		answers, err := serve(t, testServer(), Options{}, callLine("1", "wait"))
		if err != nil || len(answers) != 1 || answers[0].text() != "gone" {
			t.Errorf("got %v, %v, want one answer: gone", answers, err)
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("took %v, want no time", d)
		}
	})
}

// More than the queue holds, to a client that reads after the end of input.
func TestEndOfInputWritesEverything(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := connect(t, testServer(), Options{})
		for i := range 12 {
			p.call(fmt.Sprint(i), "big")
		}
		_ = p.in.Close() // never fails
		synctest.Wait()
		for range 12 {
			if a := p.next(); len(a.text()) != 1<<20 {
				t.Fatalf("got %v, want a text of 1 MiB", a)
			}
		}
		if err := <-p.served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

func TestStuckHandlerIsLeftAfterGrace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, release := stuckServer()
		defer release()
		var log logged
		start := time.Now()
		answers, err := serve(t, s, Options{Log: log.logger()}, callLine("1", "stuck")+"\n"+callLine("2", "echo"))
		if d := time.Since(start); d != 2*time.Second {
			t.Errorf("Serve returned after %v, want 2s", d)
		}
		if err != nil || len(answers) != 1 || string(answers[0].ID) != "2" {
			t.Errorf("got %v, %v, want the answer to 2", answers, err)
		}
		if !strings.Contains(log.String(), "requests=1") {
			t.Errorf("log does not tell of the stuck request:\n%s", &log)
		}
	})
}

func TestBlockedOutputIsLeftAfterGrace(t *testing.T) {
	for _, end := range []string{"input", "context"} {
		t.Run(end, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := connect(t, testServer(), Options{Grace: 3 * time.Second})
				for i := range 20 { // the queue is full too
					p.call(fmt.Sprint(i), "big")
				}
				synctest.Wait()
				start := time.Now()
				if end == "input" {
					_ = p.in.Close() // never fails
				} else {
					p.stop(nil)
				}
				err := <-p.served
				if d := time.Since(start); d != 3*time.Second {
					t.Errorf("Serve returned after %v, want 3s", d)
				}
				if stopped := end == "context"; errors.Is(err, ErrShutdown) != stopped || err == nil == stopped {
					t.Errorf("Serve: %v", err)
				}
				// The cleanup closes the pipe, which ends the Write; the bubble finds all other goroutines gone.
			})
		})
	}
}

func TestBrokenOutputEndsConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, seen := causes()
		p := connect(t, s, Options{})
		p.call("1", "wait")
		synctest.Wait()
		broken := errors.New("broken")
		_ = p.outEnd.CloseWithError(broken) // never fails
		p.call("2", "echo")
		if err := <-p.served; !errors.Is(err, broken) {
			t.Errorf("Serve: got %v, want %v", err, broken)
		}
		if got := <-seen; got != "gone" {
			t.Errorf("cause: got %s, want gone", got)
		}
	})
}

func TestBrokenInputEndsConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		broken := errors.New("broken")
		r := io.MultiReader(strings.NewReader(callLine("1", "wait")+"\n"+callLine("2", "echo")), iotest.ErrReader(broken))
		var out logged
		if err := New(testServer(), &out, Options{}).Serve(t.Context(), r); !errors.Is(err, broken) {
			t.Errorf("Serve: got %v, want %v", err, broken)
		}
		if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "gone") {
			t.Errorf("answers: got %s, want one, and none to half a line", got)
		}
	})
}

func TestShutdownTellsHandlersAndAnswers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := connect(t, testServer(), Options{})
		p.call("1", "wait")
		synctest.Wait()
		signal := errors.New("SIGTERM")
		p.stop(signal)
		if got := p.next().text(); got != "shutdown" {
			t.Errorf("cause: got %s, want shutdown", got)
		}
		if err := <-p.served; !errors.Is(err, ErrShutdown) || !errors.Is(err, signal) {
			t.Errorf("Serve: got %v, want ErrShutdown and the signal", err)
		}
	})
}

func TestServesOnce(t *testing.T) {
	c := New(testServer(), io.Discard, Options{})
	if err := c.Serve(t.Context(), strings.NewReader("")); err != nil {
		t.Fatalf("first Serve: %v", err)
	}
	if err := c.Serve(t.Context(), strings.NewReader("")); !errors.Is(err, ErrServed) {
		t.Errorf("second Serve: got %v, want ErrServed", err)
	}
}

func TestSessionIsUnregisteredAfterHandlers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var events []string
		hooks := &server.Hooks{}
		hooks.AddOnRegisterSession(func(_ context.Context, s server.ClientSession) { events = append(events, "register") })
		hooks.AddOnUnregisterSession(func(ctx context.Context, s server.ClientSession) {
			events = append(events, fmt.Sprint("unregister ", ctx.Err()))
		})
		s := server.NewMCPServer("test", "1", server.WithHooks(hooks))
		s.AddTool(mcp.NewTool("wait"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			events = append(events, "handler")
			return mcp.NewToolResultText(""), nil
		})
		if _, err := serve(t, s, Options{}, callLine("1", "wait")); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(events, ", "); got != "register, handler, unregister <nil>" {
			t.Errorf("got %s", got)
		}
	})
}

// watched counts the Reads and Writes of a file that have not returned.
type watched struct {
	*os.File
	active atomic.Int32
}

func (w *watched) Read(p []byte) (int, error) {
	defer w.active.Add(-1)
	w.active.Add(1)
	return w.File.Read(p)
}

func (w *watched) Write(p []byte) (int, error) {
	defer w.active.Add(-1)
	w.active.Add(1)
	return w.File.Write(p)
}

// On the pipes of a system a deadline ends the Read and the Write that nobody else would.
func TestSystemPipesLeaveNothingBlocked(t *testing.T) {
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, f := range []*os.File{inR, inW, outR, outW} {
			_ = f.Close() // nothing is read or written any more
		}
	})
	in, out := &watched{File: inR}, &watched{File: outW}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { // ends because stop is called
		served <- New(testServer(), out, Options{Grace: 50 * time.Millisecond}).Serve(ctx, in)
	}()
	if _, err := io.WriteString(inW, callLine("1", "big")+"\n"); err != nil { // more than a pipe holds
		t.Fatal(err)
	}
	if _, err := io.ReadFull(outR, make([]byte, 1)); err != nil { // the Write has begun
		t.Fatal(err)
	}
	stop()
	select {
	case err := <-served:
		if !errors.Is(err, ErrShutdown) {
			t.Errorf("Serve: got %v, want ErrShutdown", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Serve did not return")
	}
	if r, w := in.active.Load(), out.active.Load(); r != 0 || w != 0 {
		t.Errorf("after Serve: %d Reads and %d Writes are under way, want none", r, w)
	}
}

// stubborn is a Reader that nothing but its other end can end.
type stubborn struct{ io.Reader }

func TestReadThatCannotBeInterruptedDelaysNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, w := io.Pipe()
		defer w.Close()
		ctx, stop := context.WithCancel(t.Context())
		stop()
		start := time.Now()
		if err := New(testServer(), io.Discard, Options{}).Serve(ctx, stubborn{r}); !errors.Is(err, ErrShutdown) {
			t.Errorf("Serve: got %v, want ErrShutdown", err)
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("took %v, want no time", d)
		}
	})
}
