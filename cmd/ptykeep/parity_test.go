package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestParityTableIsComplete holds testdata/parity.tsv: a row for each behaviour
// that the tests of the system before ours pinned (testdata/parity-ids.txt), in
// that order, with tests of ours that are there. Where the contract replaces a
// behaviour the row says so, and the test is that of what replaces it.
func TestParityTableIsComplete(t *testing.T) {
	table := readLines(t, "../../testdata/parity.tsv")
	if want := "id\twhat it pinned\ttest\tcontract"; table[0] != want {
		t.Errorf("header %q, want %q", table[0], want)
	}
	var ids []string
	tests := map[string]*testNames{}
	for i, row := range table[1:] {
		fields := strings.Split(row, "\t")
		if len(fields) != 4 || fields[0] == "" || fields[1] == "" {
			t.Errorf("line %d has %d fields or an empty one, want id, what, test, contract: %q", i+2, len(fields), row)
			continue
		}
		ids = append(ids, fields[0])
		if fields[2] == "" {
			t.Errorf("%s names no test", fields[0])
		}
		for _, name := range strings.Fields(fields[2]) {
			if err := findTest(name, tests); err != nil {
				t.Errorf("%s: %v", fields[0], err)
			}
		}
	}
	want := readLines(t, "../../testdata/parity-ids.txt")
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			t.Errorf("%s is there twice", id)
		}
		if !slices.Contains(want, id) {
			t.Errorf("%s is none of the known behaviours", id)
		}
	}
	for _, id := range want {
		if !slices.Contains(ids, id) {
			t.Errorf("%s is missing", id)
		}
	}
	if !t.Failed() && !slices.Equal(ids, want) {
		t.Error("the rows are in another order than parity-ids.txt")
	}
}

func TestParityFindsWhatIsMissing(t *testing.T) {
	tests := map[string]*testNames{}
	for name, found := range map[string]bool{
		"cmd/ptykeep:TestScripts":                         true,
		"cmd/ptykeep:TestScripts/exit":                    true,
		"cmd/ptykeep:TestScripts/no_such":                 false,
		"cmd/ptykeep:TestNoSuch":                          false,
		"cmd/ptykeep":                                     false,
		"no/such:TestScripts":                             false,
		"backend/local:TestConformance/end/NothingIsLeft": true,
		"backend/local:TestConformance/end/NothingLikeIt": false,
		"readiness:TestDecide/shell_at_its_prompt":        true,
		"readiness:TestDecide/shell_at_anothers_prompt":   false,
	} {
		if err := findTest(name, tests); (err == nil) != found {
			t.Errorf("%s: %v, want it to be found: %v", name, err, found)
		}
	}
}

func readLines(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// testNames is what the test files of a package have.
type testNames struct {
	funcs    []string
	literals []string // with blanks as go test writes them
}

// findTest looks for PACKAGE:TEST or PACKAGE:TEST/SUBTEST, without running
// anything. A subtest is there if its name stands in the package as a string.
func findTest(name string, cache map[string]*testNames) error {
	dir, test, ok := strings.Cut(name, ":")
	if !ok {
		return fmt.Errorf("%q is not PACKAGE:TEST", name)
	}
	have := cache[dir]
	if have == nil {
		have = &testNames{}
		if err := have.collect(filepath.Join("../..", dir, "*_test.go"), true); err != nil {
			return err
		}
		if dir == "backend/local" { // which runs the suite of this package
			if err := have.collect("../../backend/backendtest/*.go", false); err != nil {
				return err
			}
		}
		cache[dir] = have
	}
	fn, subtests, _ := strings.Cut(test, "/")
	if !slices.Contains(have.funcs, fn) {
		return fmt.Errorf("%s has no %s", dir, fn)
	}
	for sub := range strings.SplitSeq(subtests, "/") {
		switch {
		case sub == "":
		case fn == "TestScripts":
			if _, err := os.Stat("../../testdata/script/" + sub + ".txtar"); err != nil {
				return fmt.Errorf("no script %s: %w", sub, err)
			}
		case !slices.Contains(have.literals, sub):
			return fmt.Errorf("%s: %s has no subtest %s", dir, fn, sub)
		}
	}
	return nil
}

// collect reads the files that match a pattern.
func (n *testNames) collect(pattern string, functions bool) error {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no files %s: %w", pattern, err)
	}
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && functions && f.Recv == nil {
				n.funcs = append(n.funcs, f.Name.Name)
			}
		}
		ast.Inspect(tree, func(node ast.Node) bool {
			if lit, ok := node.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil {
					n.literals = append(n.literals, strings.ReplaceAll(s, " ", "_"))
				}
			}
			return true
		})
	}
	return nil
}

// A child that the shell disowned lives on when the shell has ended by itself,
// and ends with the session.
func TestChildOfAnEndedShellGoesWithTheSession(t *testing.T) {
	need(t, "bash", "sleep")
	s := start(t, exec.Command(binary, "mcp", "--shell", "/bin/bash", "--dispose-grace-ms", "500"))
	id := s.must(t, "terminal_open", nil).facts["sessionId"]
	mark := newMark()
	r := s.must(t, "terminal_send", map[string]any{"sessionId": id, "text": "sleep " + mark + " & disown; exit 3"})
	status, _ := r.facts["sessionStatus"].(map[string]any)
	if r.facts["waitReason"] != "session_exit" || status["exitCode"] != float64(3) {
		t.Errorf("the end of the shell: %s", r.text)
	}
	if list := s.must(t, "terminal_list", nil); !strings.Contains(list.text, fmt.Sprint(id)) {
		t.Errorf("the ended session is not listed: %s", list.text)
	}
	s.must(t, "terminal_close", map[string]any{"sessionId": id})
	if left := processes(mark); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// A cancelled call interrupts by a signal, not by a character: also a program
// that reads raw and has switched ISIG off.
func TestCancelInterruptsARawProgram(t *testing.T) {
	need(t, "bash", "sh", "stty", "sleep")
	s := start(t, exec.Command(binary, "mcp", "--shell", "/bin/bash"))
	id := s.must(t, "terminal_open", nil).facts["sessionId"]
	call := fmt.Sprintf(`{"jsonrpc":"2.0","id":"raw","method":"tools/call","params":{"name":"terminal_send","arguments":{"sessionId":%q,"text":%q}}}`,
		id, `sh -c 'trap "stty sane; echo inter''rupted; exit 5" INT; stty raw -echo -isig; echo rea''dy; sleep 600'`)
	if err := s.write(call); err != nil {
		t.Fatal(err)
	}
	read := map[string]any{"sessionId": id, "search": "^ *(ready|interrupted)"}
	if !eventually(func() bool { return strings.Contains(s.must(t, "terminal_read", read).body(), "ready") }) {
		t.Fatal("the program does not start")
	}
	if err := s.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"raw"}}`); err != nil {
		t.Fatal(err)
	}
	if !eventually(func() bool { return strings.Contains(s.must(t, "terminal_read", read).body(), "interrupted") }) {
		t.Errorf("not interrupted: %s", s.must(t, "terminal_read", map[string]any{"sessionId": id}).text)
	}
	var r reply
	eventually(func() bool { // the slot becomes free when the interrupt is done
		var err error
		r, err = s.tool("terminal_send", map[string]any{"sessionId": id, "text": "echo usable"})
		return err != nil || r.facts["code"] != "SEND_ACTIVE"
	})
	if r.isError || r.body() != "usable" {
		t.Errorf("the next send: %s", r.text)
	}
}
