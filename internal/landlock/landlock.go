// Package landlock confines a thread with Landlock (landlock(7)): it and what it starts
// lose rights for good.
//
// # Usage
//
//	runtime.LockOSThread()
//	rules, err := landlock.New(unix.LandlockRulesetAttr{Handled_access_fs: landlock.Rights(abi)})
//	defer rules.Close()
//	err = rules.AllowPath("/usr", landlock.Read)
//	err = rules.RestrictThread()
//
// # Concurrency and failure
//
// A [Rules] belongs to one goroutine. Errors are those of the system calls; ENOSYS or
// EOPNOTSUPP where the kernel has no Landlock.
package landlock

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights of file system rules.
const (
	// Read lets a thread read and run files, and list directories.
	Read = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	// All are all rights that [Rights] returns.
	All = first | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE

	first = 1<<13 - 1 // of ABI 1
	// ofFiles are those that a rule for something else than a directory may have.
	ofFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

// The first versions that can limit TCP, and signals and abstract UNIX sockets.
const (
	NetworkABI = 4
	ScopeABI   = 6
)

const ruleNetPort = 2 // LANDLOCK_RULE_NET_PORT

// ABI returns the version of the kernel's Landlock.
func ABI() (int, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	return int(abi), nil
}

// Rights returns the file system rights that a version can limit, up to truncation.
func Rights(abi int) uint64 {
	rights := uint64(first)
	if abi >= 2 {
		rights |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	return rights
}

// Rules say what remains allowed of what is limited. Make them with [New].
type Rules struct {
	fd      int
	handled uint64
}

// New returns rules that allow nothing of what limited names.
func New(limited unix.LandlockRulesetAttr) (*Rules, error) {
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET,
		uintptr(unsafe.Pointer(&limited)), unsafe.Sizeof(limited), 0)
	if errno != 0 {
		return nil, errno
	}
	return &Rules{int(fd), limited.Handled_access_fs}, nil
}

// AllowPath is [Rules.Allow] for a path. One that does not exist, or that this thread
// cannot reach, needs no rule.
func (r *Rules) AllowPath(path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return r.Allow(fd, rights)
}

// Allow allows rights for an open file, or for all that is below an open directory.
// Rights that are not limited, or that files do not have, count for nothing.
func (r *Rules) Allow(fd int, rights uint64) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= ofFiles
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights & r.handled, Parent_fd: int32(fd)}
	return r.add(unix.LANDLOCK_RULE_PATH_BENEATH, unsafe.Pointer(&attr))
}

// AllowConnect allows TCP connections to a port.
func (r *Rules) AllowConnect(port int) error {
	attr := struct{ access, port uint64 }{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, uint64(port)} // struct landlock_net_port_attr
	return r.add(ruleNetPort, unsafe.Pointer(&attr))
}

func (r *Rules) add(kind uintptr, attr unsafe.Pointer) error {
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), kind, uintptr(attr), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// RestrictThread puts the rules in force. The thread must have set no_new_privs, or
// have CAP_SYS_ADMIN.
func (r *Rules) RestrictThread() error {
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// Close releases the rules, which stay in force where they are.
func (r *Rules) Close() { unix.Close(r.fd) }
