package backendtest

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// Need skips the test if a program is missing, or fails it if the environment
// has PTYKEEP_TEST_REQUIRE_ALL=1. It returns the program's path.
func Need(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		lack(t, "needs "+program)
	}
	return path
}

func lack(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("PTYKEEP_TEST_REQUIRE_ALL") == "1" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// patience is how long a test waits for what must happen. Nothing is measured by
// it: a loaded machine may be very slow.
const patience = 30 * time.Second

// Await polls for what the kernel announces to nobody, such as the end of
// somebody else's process. It fails the test when ok stays false.
func Await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: still not so after %v", what, patience)
		}
	}
}
