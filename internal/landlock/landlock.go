// Package landlock confines a thread with Landlock (landlock(7)): the thread and its
// children lose rights for good.
//
// # Usage
//
//	runtime.LockOSThread()
//	rules, err := landlock.New(landlock.Limits{Files: landlock.Rights(abi)})
//	defer rules.Close()
//	err = rules.AllowPath("/usr", landlock.Read)
//	err = rules.RestrictThread()
//
// It imports hardly anything, because sandbox/internal/signalscope must not.
//
// # Concurrency and failure
//
// A [Rules] belongs to one goroutine. Errors come from the system calls; ENOSYS or
// EOPNOTSUPP where the kernel has no Landlock.
package landlock

import (
	"errors"
	"syscall"
	"unsafe"
)

// Rights of files, landlock(7).
const (
	execute   = 1 << 0
	writeFile = 1 << 1
	readFile  = 1 << 2
	readDir   = 1 << 3
	truncate  = 1 << 14
	// Refer lets a thread move and link files into other directories.
	Refer = 1 << 13

	// Read lets a thread read and run files, and list directories.
	Read = execute | readFile | readDir
	// Write lets a thread change files that exist.
	Write = writeFile | truncate
	// All are all rights that [Rights] returns.
	All = first | Refer | truncate

	first = 1<<13 - 1 // of ABI 1
	// ofFiles are the rights that a rule for something else than a directory may have.
	ofFiles = execute | writeFile | readFile | truncate
)

// Rights of TCP.
const (
	BindTCP    = 1 << 0
	ConnectTCP = 1 << 1
)

// Effects on processes that are not below a thread, which it can be kept from.
const (
	AbstractSockets = 1 << 0
	Signals         = 1 << 1
)

// Limits are the limited rights: all rights that are named here are lost except where
// rules allow them.
type Limits struct { // struct landlock_ruleset_attr
	Files   uint64
	Network uint64
	Scoped  uint64 // for good: no rule allows them
}

// The first versions that can limit TCP, and signals and abstract UNIX sockets.
const (
	NetworkABI = 4
	ScopeABI   = 6
)

const (
	rulePathBeneath = 1
	ruleNetPort     = 2
)

// The numbers of the system calls are the same on all architectures. Package syscall is older
// than they are.
const (
	sysCreateRuleset = 444
	sysAddRule       = 445
	sysRestrictSelf  = 446

	versionFlag = 1
	pathOnly    = 0x200000 // O_PATH
)

// ABI returns the version of the kernel's Landlock.
func ABI() (int, error) {
	abi, _, errno := syscall.Syscall(sysCreateRuleset, 0, 0, versionFlag)
	if errno != 0 {
		return 0, errno
	}
	return int(abi), nil
}

// Rights returns the file system rights that a version can limit, up to truncation.
func Rights(abi int) uint64 {
	rights := uint64(first)
	if abi >= 2 {
		rights |= Refer
	}
	if abi >= 3 {
		rights |= truncate
	}
	return rights
}

// Rules allow exceptions from limits. Make them with [New].
type Rules struct {
	fd      int
	handled uint64
}

// New returns rules that allow nothing that limited names.
func New(limited Limits) (*Rules, error) {
	fd, _, errno := syscall.Syscall(sysCreateRuleset,
		uintptr(unsafe.Pointer(&limited)), unsafe.Sizeof(limited), 0)
	if errno != 0 {
		return nil, errno
	}
	return &Rules{int(fd), limited.Files}, nil
}

// AllowPath is [Rules.Allow] for a path. One that does not exist, or that this thread
// cannot reach, needs no rule.
func (r *Rules) AllowPath(path string, rights uint64) error {
	fd, err := syscall.Open(path, pathOnly|syscall.O_CLOEXEC, 0)
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.EACCES) {
		return nil
	}
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	return r.Allow(fd, rights)
}

// Allow allows rights for an open file, or for all that is below an open directory.
// Rights that are not limited, or that files do not have, count for nothing.
func (r *Rules) Allow(fd int, rights uint64) error {
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		rights &= ofFiles
	}
	attr := struct { // struct landlock_path_beneath_attr, which is packed: the bytes behind it are not read
		access uint64
		parent int32
	}{rights & r.handled, int32(fd)}
	return r.add(rulePathBeneath, unsafe.Pointer(&attr))
}

// AllowConnect allows TCP connections to a port.
func (r *Rules) AllowConnect(port int) error {
	attr := struct{ access, port uint64 }{ConnectTCP, uint64(port)} // struct landlock_net_port_attr
	return r.add(ruleNetPort, unsafe.Pointer(&attr))
}

func (r *Rules) add(kind uintptr, attr unsafe.Pointer) error {
	if _, _, errno := syscall.Syscall6(sysAddRule, uintptr(r.fd), kind, uintptr(attr), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// RestrictThread puts the rules in force. The thread must have set no_new_privs, or
// have CAP_SYS_ADMIN.
func (r *Rules) RestrictThread() error {
	if _, _, errno := syscall.Syscall(sysRestrictSelf, uintptr(r.fd), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// Close releases the rules, which stay in force where they are.
func (r *Rules) Close() { syscall.Close(r.fd) }
