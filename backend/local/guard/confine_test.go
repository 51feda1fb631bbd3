package guard

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestSeatbelt: whatever a directory is called, the profile stays the same text
// and the name is one argument.
func TestSeatbelt(t *testing.T) {
	argv := []string{"/bin/echo", "-p", "(allow default)"}
	profile := func(c *Confinement) (text string, params, command []string) {
		args := seatbelt(c, argv)
		end := slices.Index(args, "--")
		if args[0] != "sandbox-exec" || args[1] != "-p" || end < 3 {
			t.Fatalf("got %q", args)
		}
		return args[2], args[3:end], args[end+1:]
	}
	plain, _, _ := profile(&Confinement{Writable: [][]byte{[]byte("/private/tmp")}})
	for _, dir := range []string{
		`/a b`, `/a"b`, `/a\`, `/a'b`, `/a")) (allow file-write* (subpath "/`, "/a\nb", `/a;b #"c`, `/a=b`, "/\xff", `/--`, `/ü`,
	} {
		text, params, command := profile(&Confinement{Writable: [][]byte{[]byte(dir)}})
		if text != plain || !slices.Equal(params, []string{"-DWRITABLE_0=" + dir}) || !slices.Equal(command, argv) {
			t.Errorf("%q: got %q, %q, %q", dir, text, params, command)
		}
	}
	for _, want := range []string{"(deny file-write*)", `(literal "/dev/null")`, `(literal "/dev/tty")`, `(regex #"^/dev/ttys[0-9]+$")`, `(subpath (param "WRITABLE_0"))`} {
		if !strings.Contains(plain, want) {
			t.Errorf("%s is not in %s", want, plain)
		}
	}
	readOnly, params, _ := profile(&Confinement{})
	if len(params) > 0 || strings.Contains(readOnly, "subpath") || !strings.Contains(readOnly, "(deny file-write*)") {
		t.Errorf("read-only: got %s, %q", readOnly, params)
	}
	for _, text := range []string{plain, readOnly} {
		if strings.Count(text, "(") != strings.Count(text, ")") || strings.Count(text, `"`)%2 != 0 {
			t.Errorf("unbalanced: %s", text)
		}
	}
}

func TestRemoveAllOfReadOnlyDirectories(t *testing.T) {
	dir := t.TempDir() + "/x"
	err := errors.Join(os.MkdirAll(dir+"/a/b", 0o700), os.WriteFile(dir+"/a/b/c", nil, 0o400), os.Chmod(dir+"/a/b", 0), os.Chmod(dir+"/a", 0o500))
	if err != nil {
		t.Fatal(err)
	}
	if err := RemoveAll(dir); err != nil {
		t.Errorf("RemoveAll: %v", err)
	}
	if err := RemoveAll(dir); err != nil {
		t.Errorf("RemoveAll of nothing: %v", err)
	}
}
