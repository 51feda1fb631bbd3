//go:build amd64 || arm64

package local

import (
	"testing"
	"time"
)

// TestWaitsServes looks for listening sockets in real foreground groups.
func TestWaitsServes(t *testing.T) {
	const listen = `import socket as s; l = s.create_server(("127.0.0.1", 0)); `
	for _, test := range []struct {
		name, needs, send string
		want              bool
	}{
		{"inet", "python3", `python3 -c 'import time; ` + listen + `print("re"+"ady"); time.sleep(99)'`, true},
		{"inet6", "python3", `python3 -c 'import time, socket as s; l = s.socket(s.AF_INET6); l.listen(); print("re"+"ady"); time.sleep(99)'`, true},
		{"unix", "python3", `python3 -c 'import time, os, socket as s; l = s.socket(s.AF_UNIX); l.bind(os.environ["HOME"] + "/s"); l.listen(); print("re"+"ady"); time.sleep(99)'`, true},
		{"bound only", "python3", `python3 -c 'import time, socket as s; l = s.socket(); l.bind(("", 0)); print("re"+"ady"); time.sleep(99)'`, false},
		{"client", "python3", `python3 -c 'import time; ` + listen + `c = s.create_connection(l.getsockname()); l.close(); print("re"+"ady"); time.sleep(99)'`, false},
		{"child", "python3", `bash -c 'python3 -c "` + `import time, socket as s; l = s.create_server((\"\", 0)); print(\"re\"+\"ady\"); time.sleep(99)"; true'`, true},
		{"inner terminal", "script", `script -qc 'python3 -c "import time, socket as s; l = s.create_server((\"\", 0)); print(\"re\"+\"ady\"); time.sleep(99)"' /dev/null`, true},
		{"daemon beside", "setsid", `bash -c 'setsid python3 -c "import time, socket as s; l = s.create_server((\"\", 0)); print(\"re\"+\"ady\"); time.sleep(99)" & sleep 99'`, false},
		{"none", "sleep", `echo re''ady; sleep 99`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			needProgram(t, "python3")
			needProgram(t, test.needs)
			s := startSession(t, bash...)
			s.until(exact, "", false)
			s.send(test.send + "\r")
			s.expect("ready")
			s.until(none, "", false)
			yes, used, err := s.waits.serves(s.foreground())
			if err != nil || yes != test.want {
				t.Errorf("%v, %v; want %v", yes, err, test.want)
			}
			if used <= 0 {
				t.Errorf("CPU time %v of a program that ran", used)
			}
		})
	}
}

// TestWaitsServesWork: CPU time grows with work, also with that of children.
func TestWaitsServesWork(t *testing.T) {
	for name, command := range map[string]string{
		"own":      "i=0; while [ $((i += 1)) -lt 100000 ]; do :; done",
		"children": "bash -c 'i=0; while [ $((i += 1)) -lt 100000 ]; do :; done'",
	} {
		t.Run(name, func(t *testing.T) {
			s := startSession(t, bash...)
			s.until(exact, "", false)
			_, before, err := s.waits.serves(s.foreground())
			if err != nil {
				t.Fatal(err)
			}
			s.send(command + "; echo do''ne\r")
			s.expect("done")
			s.until(exact, "", false)
			_, after, err := s.waits.serves(s.foreground())
			if err != nil || after-before < 20*time.Millisecond {
				t.Errorf("%v more after a loop, %v", after-before, err)
			}
		})
	}
}

func TestParseTicks(t *testing.T) {
	stat := "7 (a (b) 1 2) S 1 7 7 0 -1 4194304 100 200 0 0 3 4 50 60 20 0 1 0 5 6"
	own, children, ok := parseTicks([]byte(stat))
	if own != 7 || children != 110 || !ok {
		t.Errorf("%d, %d, %v; want 7 and 110", own, children, ok)
	}
	for _, bad := range []string{"", "7 (a) S 1 2", "7 (a) S 1 7 7 0 -1 4194304 100 200 0 0 x 4 50 60 20"} {
		if _, _, ok := parseTicks([]byte(bad)); ok {
			t.Errorf("%q was read", bad)
		}
	}
}
