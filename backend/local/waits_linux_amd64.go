package local

import "golang.org/x/sys/unix"

// sysFstatat is newfstatat(2).
const sysFstatat = unix.SYS_NEWFSTATAT

// numbers maps this architecture's system calls to what waits knows about.
var numbers = map[int]op{
	unix.SYS_READ:            opRead,
	unix.SYS_READV:           opRead,
	unix.SYS_PREAD64:         opRead,
	unix.SYS_PREADV:          opRead,
	unix.SYS_PREADV2:         opRead,
	unix.SYS_WRITE:           opWrite,
	unix.SYS_WRITEV:          opWrite,
	unix.SYS_SPLICE:          opSplice,
	unix.SYS_SENDFILE:        opSendfile,
	unix.SYS_SELECT:          opSelect,
	unix.SYS_PSELECT6:        opPselect,
	unix.SYS_POLL:            opPoll,
	unix.SYS_PPOLL:           opPpoll,
	unix.SYS_EPOLL_WAIT:      opEpoll,
	unix.SYS_EPOLL_PWAIT:     opEpoll,
	unix.SYS_EPOLL_PWAIT2:    opEpoll2,
	unix.SYS_IO_URING_ENTER:  opUring,
	unix.SYS_FUTEX:           opFutex,
	unix.SYS_FUTEX_WAIT:      opFutexWait,
	unix.SYS_FUTEX_WAITV:     opFutexWaitv,
	unix.SYS_WAIT4:           opWait4,
	unix.SYS_WAITID:          opWaitid,
	unix.SYS_RT_SIGSUSPEND:   opSigsuspend,
	unix.SYS_PAUSE:           opPause,
	unix.SYS_RT_SIGTIMEDWAIT: opSigtimedwait,
	unix.SYS_RESTART_SYSCALL: opRestart,
	unix.SYS_NANOSLEEP:       opNanosleep,
	unix.SYS_CLOCK_NANOSLEEP: opNanosleep,
	unix.SYS_CONNECT:         opSocket,
	unix.SYS_ACCEPT:          opSocket,
	unix.SYS_ACCEPT4:         opSocket,
	unix.SYS_RECVFROM:        opSocket,
	unix.SYS_RECVMSG:         opSocket,
	unix.SYS_RECVMMSG:        opSocket,
	unix.SYS_SENDTO:          opSocket,
	unix.SYS_SENDMSG:         opSocket,
}
