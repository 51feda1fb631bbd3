//go:build linux && (amd64 || arm64)

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// root is for rows that become another user.
func (b *bench) root(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	asOrdinaryUser(t, &exec.Cmd{}) // skips where there is none
}

// helper is a program for what is hard to find ready-made.
func (b *bench) helper(t *testing.T) {
	need(t, "cc")
	b.once(t, "helper", func() error {
		return output(exec.Command("cc", "-g", "-pthread", "-o", b.path("bin/helper"), b.file("helper.c", helperSource)))
	})
}

const helperSource = `
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char line[100];
static void *park(void *p) { pthread_mutex_lock(&lock); return p; }
static void *take(void *p) { read(0, line, sizeof line); return p; }
static void *spin(void *p) { for (volatile int i = 0;; i++); return p; }

int main(int argc, char **argv) {
	const char *how = argc > 1 ? argv[1] : "";
	struct iovec two[2] = {{line, 1}, {line + 1, sizeof line - 1}}; /* as musl's stdio reads */
	struct pollfd in = {0, POLLIN, 0};
	pthread_t t;
	puts("up");
	fflush(stdout);
	if (!strcmp(how, "read")) read(0, line, sizeof line);
	if (!strcmp(how, "readv")) readv(0, two, 2);
	if (!strcmp(how, "devtty")) read(open("/dev/tty", O_RDWR), line, sizeof line);
	if (!strcmp(how, "sleep")) sleep(1000);
	if (!strcmp(how, "pause")) pause();
	if (!strcmp(how, "spin")) spin(0);
	if (!strcmp(how, "poll")) while (poll(&in, 1, 50) == 0);
	if (!strcmp(how, "threads")) {
		pthread_mutex_lock(&lock);
		for (int i = 0; i < 20; i++) pthread_create(&t, 0, park, 0);
		read(0, line, sizeof line);
	}
	if (!strcmp(how, "reader")) {
		pthread_create(&t, 0, take, 0);
		pthread_join(t, 0);
	}
	if (!strcmp(how, "spinner")) {
		pthread_create(&t, 0, spin, 0);
		read(0, line, sizeof line);
	}
	return 0;
}
`

// scanner is a Go program that reads lines.
func (b *bench) scanner(t *testing.T) {
	need(t, "go")
	b.once(t, "scanner", func() error {
		b.file("scanner.go", `package main

import ("bufio"; "fmt"; "os")

func main() {
	fmt.Print("name? ")
	for s := bufio.NewScanner(os.Stdin); s.Scan(); fmt.Print("name? ") { fmt.Println("hello", s.Text()) }
}
`)
		build := exec.Command("go", "build", "-o", b.path("bin/scanner"), "scanner.go")
		build.Dir = b.dir
		build.Env = append(os.Environ(), "GO111MODULE=off", "GOWORK=off")
		return output(build)
	})
}

// output runs a command and puts what it says into the error.
func output(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w: %s", cmd.Args, err, out)
	}
	return nil
}

// sshd is an SSH server that the user of the test may log in to, as "box".
func (b *bench) sshd(t *testing.T) {
	const daemon = "/usr/sbin/sshd"
	need(t, "ssh", "ssh-keygen", daemon)
	b.once(t, "sshd", func() error {
		for _, key := range []string{"host", "key"} {
			if err := output(exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", b.path(key))); err != nil {
				return err
			}
		}
		me, err := user.Current()
		if err != nil {
			return err
		}
		if me.Uid == "0" {
			// Where no sshd was ever started the system has not made it yet.
			if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
				return err
			}
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		at := l.Addr().(*net.TCPAddr)
		_ = l.Close() // makes room for sshd
		conf := b.file("sshd_config", fmt.Sprintf("ListenAddress %v\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nStrictModes no\n"+
			"UsePAM no\nPermitRootLogin yes\nPasswordAuthentication yes\nKbdInteractiveAuthentication no\nPrintMotd no\n",
			at, b.path("host"), b.path("key.pub")))
		b.file("ssh_config", fmt.Sprintf("Host *\nHostName 127.0.0.1\nPort %d\nUser %s\nIdentityFile %s\nIdentitiesOnly yes\n"+
			"GlobalKnownHostsFile /dev/null\nUserKnownHostsFile /dev/null\nHost box word\nStrictHostKeyChecking no\nLogLevel ERROR\n"+
			"Host word\nPreferredAuthentications password\n", at.Port, me.Username, b.path("key")))
		server := exec.Command(daemon, "-D", "-e", "-f", conf)
		log := &lockedBuffer{}
		server.Stderr = log
		server.WaitDelay = time.Second // its children have log, too
		if err := server.Start(); err != nil {
			return err
		}
		b.t.Cleanup(func() {
			_ = server.Process.Kill() // it runs for ever
			_ = server.Wait()
		})
		if !eventually(func() bool {
			c, err := net.Dial("tcp", at.String())
			if err == nil {
				_ = c.Close() // it listens, that is all
			}
			return err == nil
		}) {
			return fmt.Errorf("it does not listen: %s", log)
		}
		return nil
	})
}

// login is sshd on a machine that lets the user of the test in, with a terminal:
// the account may be locked, and without root the terminal cannot be given away.
func (b *bench) login(t *testing.T) {
	b.sshd(t)
	if err := output(exec.Command("ssh", "-F", b.path("ssh_config"), "-o", "BatchMode=yes", "-tt", "box", "true")); err != nil {
		t.Skip(err)
	}
}

// postgres is a database server. It refuses to run as root.
func (b *bench) postgres(t *testing.T) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is good
	if len(found) == 0 {
		t.Skip("needs initdb")
	}
	program := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(filepath.Dir(found[len(found)-1]), name), args...)
		asOrdinaryUser(t, cmd)
		return cmd
	}
	b.once(t, "postgres", func() error {
		made := exec.Command("mktemp", "-d")
		asOrdinaryUser(t, made)
		out, err := made.Output()
		if err != nil {
			return err
		}
		dir := strings.TrimSpace(string(out))
		b.t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a temporary directory; the system clears it
		data := filepath.Join(dir, "data")
		if err := output(program("initdb", "-D", data, "-A", "trust", "-U", "me", "--no-sync", "-E", "UTF8", "--locale=C")); err != nil {
			return err
		}
		server := program("postgres", "-D", data, "-k", dir, "-c", "listen_addresses=", "-F")
		if err := server.Start(); err != nil {
			return err
		}
		b.t.Cleanup(func() {
			_ = server.Process.Signal(os.Interrupt) // ends it although there are clients
			_ = server.Wait()
		})
		client := program("psql", "-X", "-h", dir, "-U", "me", "postgres")
		b.file("bin/db", "#!/bin/sh\nexec "+strings.Join(client.Args, " ")+"\n")
		if err := os.Chmod(b.path("bin/db"), 0o700); err != nil {
			return err
		}
		if !eventually(func() bool { return program("pg_isready", "-q", "-h", dir).Run() == nil }) {
			return errors.New("it does not answer")
		}
		return nil
	})
}
