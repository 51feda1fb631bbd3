package guard

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

func TestHandledRights(t *testing.T) {
	last, _ := handled(0)
	for abi := 1; abi <= 12; abi++ {
		fs, scoped := handled(abi)
		if fs&last != last {
			t.Errorf("ABI %d handles less than the one before", abi)
		}
		last = fs
		for right, since := range map[uint64]int{ll.AccessFSWriteFile: 1, ll.AccessFSMakeChar: 1, ll.AccessFSRefer: 2, ll.AccessFSTruncate: 3, ll.AccessFSIoctlDev: 5} {
			if (uint64(fs)&right != 0) != (abi >= since) {
				t.Errorf("ABI %d: right %x handled %v", abi, right, abi < since)
			}
		}
		if (scoped != 0) != (abi >= 6) {
			t.Errorf("ABI %d: scopes %x", abi, scoped)
		}
		if fs&(ll.AccessFSReadFile|ll.AccessFSReadDir|ll.AccessFSExecute|ll.AccessFSResolveUnix) != 0 {
			t.Errorf("ABI %d confines reading", abi)
		}
	}
}

func TestOpenDirectoryFollowsNoLink(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(dir+"/a/b", 0o700), os.Symlink(dir+"/a", dir+"/link"), os.WriteFile(dir+"/file", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{"a/b": nil, "link": unix.ELOOP, "link/b": unix.ELOOP, "file": unix.ENOTDIR, "none": unix.ENOENT} {
		fd, err := openDirectory(dir + "/" + path)
		if err == nil {
			_ = unix.Close(fd) // nothing was written
		}
		if err != want {
			t.Errorf("%s: got %v, want %v", path, err, want)
		}
	}
}
