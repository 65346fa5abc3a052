package workspacedir

import (
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/realpath"
)

// Identity recognises a directory.
type Identity struct {
	// Path is the directory's path without links.
	Path   string `json:"path"`
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	// Boot is the machine's boot id: devices may get other numbers at the next
	// boot.
	Boot string `json:"boot,omitempty"`
}

// Identify returns the identity of a directory that exists. Errors are of kind
// Invalid.
func Identify(dir string) (Identity, error) {
	path := realpath.Resolve(dir)
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return Identity{}, fault.Wrap(err, fault.Invalid, "find the workspace "+dir)
	}
	return Identity{Path: path, Device: st.Dev, Inode: st.Ino, Boot: bootID()}, nil
}

// Verify returns an error of kind Invalid if dir is no longer the directory with
// the identity i: if its path leads elsewhere, or if there is another directory
// now. The zero Identity fits any directory.
func (i Identity) Verify(dir string) error {
	if i == (Identity{}) {
		return nil
	}
	now, err := Identify(dir)
	if err != nil {
		return err
	}
	return i.compare(dir, now)
}

// Open opens the directory with the identity i. It has the errors of Verify; an
// open directory cannot be replaced any more.
func (i Identity) Open(dir string) (*os.Root, error) {
	path := realpath.Resolve(dir)
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "open the workspace "+dir)
	}
	if i == (Identity{}) {
		return root, nil
	}
	now := Identity{Path: path, Boot: bootID()}
	info, err := root.Stat(".")
	if err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			now.Device, now.Inode = st.Dev, st.Ino
		}
		err = i.compare(dir, now)
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

func (i Identity) compare(dir string, now Identity) error {
	if now.Path == i.Path && now.Inode == i.Inode && (now.Device == i.Device || !i.sameNumbers(now)) {
		return nil
	}
	return fault.New(fault.Invalid, "the workspace "+dir+" is not the directory in which the conversation was made").
		Hint("put the original directory back, or start a new conversation in this one")
}

// sameNumbers reports whether two identities have comparable device numbers.
// Numbers of file systems without a device (overlay, btrfs, NFS) change with each
// mount.
func (i Identity) sameNumbers(now Identity) bool {
	return i.Boot != "" && i.Boot == now.Boot && unix.Major(i.Device) != 0 && unix.Major(now.Device) != 0
}

// bootID is the machine's boot id, "" where it is unknown.
var bootID = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
})
