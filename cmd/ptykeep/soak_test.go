package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/ptykeep/ptykeep/backend"
	"github.com/ptykeep/ptykeep/backend/local"
	"github.com/ptykeep/ptykeep/ptyservice"
	"github.com/ptykeep/ptykeep/readiness"
)

// TestSoakLeavesNothing lets ten owners open and close real shells in parallel
// and wants descriptors, goroutines and memory back where they were.
func TestSoakLeavesNothing(t *testing.T) {
	need(t, "bash")
	lasts := 4 * time.Second
	if os.Getenv("PTYKEEP_TEST_LONG") == "1" {
		lasts = 5 * time.Minute
	}
	service := inProcess(t, ptyservice.DefaultConfig())
	round(t, service, 0, time.Now().Add(time.Second)) // what is made once stays
	before := holds()
	end := time.Now().Add(lasts)
	var wg sync.WaitGroup
	for owner := range 10 {
		wg.Go(func() { round(t, service, owner, end) })
	}
	wg.Wait()
	if err := service.Close(t.Context()); err != nil {
		t.Error(err)
	}
	var after held
	if !eventually(func() bool { after = holds(); return after.within(before) }) {
		t.Errorf("held before %+v, after %+v", before, after)
	}
}

// inProcess returns a service with real shells.
func inProcess(t *testing.T, cfg ptyservice.Config) *ptyservice.Service {
	t.Helper()
	terminals, err := local.New(local.Options{Executable: binary})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := terminals.Close(); err != nil {
			t.Error(err)
		}
	})
	cfg.Shell, cfg.WorkspaceRoot = "/bin/bash", t.TempDir()
	service, err := ptyservice.New(cfg, ptyservice.Options{
		Backends: map[string]backend.Backend{"shell": terminals},
		Environ:  []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()},
	})
	if err != nil {
		t.Fatal(err)
	}
	return service
}

// TestMemoryOfASessionIsBounded lets a terminal write far more than it may keep:
// lines, one line without an end, cells with all that can hang on them.
func TestMemoryOfASessionIsBounded(t *testing.T) {
	need(t, "bash", "seq", "head", "tr")
	cfg := ptyservice.DefaultConfig()
	cfg.ScrollbackMaxBytes = 1 << 20
	cfg.MaxReadBytes = 1 << 18
	service := inProcess(t, cfg)
	o, err := service.Open(t.Context(), "owner", ptyservice.OpenRequest{})
	if err != nil {
		t.Fatal(err)
	}
	before, wait := holds().heap, patience
	for _, text := range []string{
		"seq 1500000",
		"head -c 10000000 /dev/zero | tr '\\0' x",
		`for i in {1..3000}; do printf 'a\u0301\u0302\u0303\u0304\e[38;2;1;2;%dm\e]8;;http://x/%0500d\e\\l\e]8;;\e\\\n' $((i % 256)) $i; done`,
		`for i in {1..20000}; do printf '\e]0;%0100d\a\e[?1049h\e[?1049l' $i; done`,
	} {
		snd, err := o.Session.Begin(ptyservice.SendRequest{Text: &text, Submit: true, Timeout: &wait})
		var r ptyservice.Result
		if err == nil {
			r, err = snd.Run(t.Context())
		}
		if err != nil || r.Reason != readiness.StdinRead {
			t.Fatalf("%s: %v, %v", text, r.Reason, err)
		}
		if after := holds().heap; after > before+16<<20 {
			t.Errorf("heap %d before, %d after %s", before, after, text)
		}
	}
	if err := service.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// round opens, uses and closes shells until end.
func round(t *testing.T, service *ptyservice.Service, owner int, end time.Time) {
	for i := 0; time.Now().Before(end); i++ {
		o, err := service.Open(t.Context(), fmt.Sprint("owner", owner), ptyservice.OpenRequest{})
		if err != nil {
			t.Errorf("open: %v", err)
			return
		}
		text := "seq 2000; sleep 100 &"
		snd, err := o.Session.Begin(ptyservice.SendRequest{Text: &text, Submit: true})
		if err == nil {
			_, err = snd.Run(t.Context())
		}
		if err != nil {
			t.Errorf("send: %v", err)
		}
		if _, err := o.Session.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// held is what a process holds.
type held struct {
	descriptors, goroutines int
	heap                    uint64
}

// within allows for what the runtime keeps: some memory.
func (h held) within(before held) bool {
	return h.descriptors <= before.descriptors && h.goroutines <= before.goroutines && h.heap <= before.heap+8<<20
}

func holds() held {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h := held{goroutines: runtime.NumGoroutine(), heap: m.HeapAlloc}
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		if list, err := os.ReadDir(dir); err == nil {
			h.descriptors = len(list)
			break
		}
	}
	return h
}

func TestNoDescriptorLeftIsAClearError(t *testing.T) {
	need(t, "bash", "sh")
	s := start(t, exec.Command("sh", "-c", `ulimit -n 40; exec "$0" mcp --shell /bin/bash`, binary))
	var first any
	for i := range 40 {
		r, err := s.tool("terminal_open", nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.isError {
			if r.facts["code"] != "RESOURCE_LIMIT" || i == 0 {
				t.Fatalf("open %d: %s; want RESOURCE_LIMIT after some", i, r.text)
			}
			if r := s.must(t, "terminal_send", map[string]any{"sessionId": first, "text": "echo works"}); r.body() != "works" {
				t.Errorf("a session that is open: %s", r.text)
			}
			s.must(t, "terminal_close", map[string]any{"sessionId": first})
			if r, err := s.tool("terminal_open", nil); err != nil || r.isError {
				t.Errorf("after a close: %v, %s", err, r.text)
			}
			return
		}
		if first == nil {
			first = r.facts["sessionId"]
		}
	}
	t.Fatal("40 sessions with 40 descriptors")
}

func TestClientThatStopsReadingDoesNotKeepTheServer(t *testing.T) {
	need(t, "bash")
	mark := newMark()
	cmd := unconfined(exec.Command(binary, "mcp", "--shell", "/bin/bash", "--dispose-grace-ms", "500"))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdoutPipe(); err != nil { // of which nothing is read
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		_, err := io.WriteString(in, `{"jsonrpc":"2.0","id":"l","method":"tools/list"}
{"jsonrpc":"2.0","id":"o","method":"tools/call","params":{"name":"terminal_open","arguments":{"command":["sleep","`+mark+`"],"timeoutMs":0}}}
`)
		if err != nil {
			t.Fatal(err)
		}
	}
	if !eventually(func() bool { return len(processes(mark)) > 0 }) {
		t.Fatal("no terminal was opened")
	}
	_ = in.Close() // of a pipe: never fails
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the server
	select {
	case <-ended:
	case <-time.After(patience):
		_ = cmd.Process.Kill() // it may have ended now
		t.Fatal("the server does not end")
	}
	if !eventually(func() bool { return len(processes(mark)) == 0 }) {
		t.Errorf("still there: %v", processes(mark))
	}
}
