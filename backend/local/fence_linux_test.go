package local

import (
	"os"
	"testing"
)

func TestGroupDir(t *testing.T) {
	const (
		v2     = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
		hybrid = "29 23 0:25 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n31 23 0:27 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n"
		bind   = "40 23 0:26 /docker/7 /sys/fs/cgroup ro - cgroup2 cgroup ro\n"
		odd    = "41 23 0:26 / /a\\040b rw - cgroup2 cgroup2 rw\n"
	)
	for _, c := range []struct{ name, mounts, own, want string }{
		{"the root", v2, "0::/\n", "/sys/fs/cgroup"},
		{"below", v2, "0::/user.slice/x\n", "/sys/fs/cgroup/user.slice/x"},
		{"beside version 1", hybrid, "4:memory:/m\n0::/s\n", "/sys/fs/cgroup/unified/s"},
		{"a part is mounted", bind, "0::/docker/7/in\n", "/sys/fs/cgroup/in"},
		{"another part is mounted", bind, "0::/docker/77\n", ""},
		{"outside of what the namespace shows", v2, "0::/../x\n", ""},
		{"a mount point with a blank", odd, "0::/\n", ""},
		{"version 1 only", hybrid[:60], "4:memory:/m\n", ""},
		{"nothing", "", "", ""},
	} {
		if got, err := groupDir(c.mounts, c.own); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

// BenchmarkFence measures what a control group adds to a session, beside the
// start in it.
func BenchmarkFence(b *testing.B) {
	group, err := findGroup()
	if err != nil {
		b.Skip(err)
	}
	for b.Loop() {
		f, err := newFence(group)
		if err != nil {
			b.Skip(err)
		}
		f.begun()
		f.remove()
		if _, err := os.Stat(f.dir); err == nil {
			b.Fatalf("%s is left", f.dir)
		}
	}
}
