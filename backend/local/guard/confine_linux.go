package guard

import (
	"os"
	"strconv"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/ptykeep/ptykeep/backend"
)

// The rights of Landlock that a session is denied where no rule gives them back:
// all that writes. Reading, executing and connecting stay as they are.
const (
	rightsFile  = ll.AccessFSWriteFile
	rightsTree  = ll.AccessFSRemoveDir | ll.AccessFSRemoveFile
	rightsMake  = ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym
	rightsNodes = ll.AccessFSMakeChar | ll.AccessFSMakeBlock
)

// sharedMemory is where shm_open(3) and sem_open(3) put what processes share.
const sharedMemory = "/dev/shm"

// handled returns what a kernel with that ABI of Landlock can deny
// (landlock(7), "Landlock features"). Before 2 nothing can be moved to another
// directory, before 3 truncate(2) is not confined, before 5 no ioctl of a device.
func handled(abi int) (fs landlock.AccessFSSet, scoped landlock.ScopedSet) {
	fs = rightsFile | rightsTree | rightsMake | rightsNodes
	if abi >= 2 {
		fs |= ll.AccessFSRefer
	}
	if abi >= 3 {
		fs |= ll.AccessFSTruncate
	}
	if abi >= 5 {
		fs |= ll.AccessFSIoctlDev
	}
	if abi >= 6 {
		scoped = ll.ScopeSignal | ll.ScopeAbstractUnixSocket
	}
	return fs, scoped
}

// Landlock returns the ABI of the kernel's Landlock, or why there is none: not
// built in (ENOSYS), switched off (EOPNOTSUPP), or kept from us (EPERM).
func Landlock() (abi int, err error) {
	abi, err = ll.LandlockGetABIVersion()
	if err != nil || abi < 6 {
		return abi, err
	}
	// Kernels with the second erratum of Landlock refuse a process signals to
	// its own threads; the library then uses no scopes either.
	if errata, err := ll.LandlockGetErrata(); err != nil || errata&2 == 0 {
		return 5, nil
	}
	return abi, nil
}

// confine takes the rights from this process, and so from the program. It must
// be on the thread that forks. The guard needs none of them: its socket is open,
// what it ends is in the same domain, and of the start-up directory it may
// remove what is in it.
func (g *guard) confine(path string, argv []string) (string, []string, *Failed) {
	c := g.spec.Confinement
	if c == nil {
		return path, argv, nil
	}
	abi, err := Landlock()
	if err != nil {
		return "", nil, failed(backend.StepSandbox, err, "")
	}
	if c.ABI > 0 {
		abi = min(abi, c.ABI)
	}
	fs, scoped := handled(abi)
	var rules []landlock.Rule
	allow := func(rights landlock.AccessFSSet, paths ...string) {
		rules = append(rules, landlock.PathAccess(rights&fs, paths...).IgnoreIfMissing())
	}
	allow(rightsFile|ll.AccessFSTruncate, sinks...)
	allow(rightsFile|ll.AccessFSTruncate|ll.AccessFSIoctlDev, terminals...)
	// Devices cannot be made: root could make one of its disk.
	work := fs &^ rightsNodes
	for _, dir := range c.Writable {
		fd, err := openDirectory(string(dir))
		if err != nil {
			return "", nil, failed(backend.StepSandbox, err, string(dir))
		}
		defer func() { _ = unix.Close(fd) }() // only a name
		allow(work, "/proc/self/fd/"+strconv.Itoa(fd))
	}
	if len(c.Writable) > 0 {
		allow(work, sharedMemory)
	}
	if len(g.spec.Startup) > 0 {
		allow(rightsTree, string(g.spec.Startup))
	}
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		return "", nil, failed(backend.StepSandbox, err, "/proc/self/fd")
	}
	err = landlock.Config{HandledAccessFS: fs, Scoped: scoped}.Restrict(rules...)
	if err != nil {
		return "", nil, failed(backend.StepSandbox, err, "")
	}
	return path, argv, nil
}

// openDirectory opens a directory by its name without symbolic links. An earlier
// session may have been able to rename it and to put a link there: that must not
// let this one write elsewhere.
func openDirectory(path string) (fd int, err error) {
	return unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
}
