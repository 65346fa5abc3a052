package inside

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// emptyFile covers hidden files.
const emptyFile = "/dev/.empty"

// deviceNodes are the host's devices that appear in /dev; the rest of the
// host's are unreachable, since all other mounts are nodev.
var deviceNodes = []string{"null", "zero", "full", "random", "urandom", "tty"}

var deviceLinks = map[string]string{
	"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
	"stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx",
}

// devices makes a /dev with an own set of pseudo terminals.
func (r *root) devices(host int) error {
	if err := r.tmpfs("/dev", "0755"); err != nil {
		return err
	}
	dev := r.freeze[len(r.freeze)-1]
	for _, name := range deviceNodes {
		// Not nodev. Read-only does not keep devices from being written, but
		// root from changing the mode of the host's node.
		fd, err := cloneTree(host, name, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC|unix.MOUNT_ATTR_RDONLY)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := r.show("/dev/"+name, fd); err != nil {
			return err
		}
	}
	for name, target := range deviceLinks {
		if err := unix.Symlinkat(target, dev, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, name := range []string{"pts", "shm"} {
		if err := unix.Mkdirat(dev, name, 0o755); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := r.touch(emptyFile, ""); err != nil {
		return err
	}
	if err := unix.Fchmodat(dev, ".empty", 0o444, 0); err != nil {
		return err
	}
	pts, err := newFS("devpts", map[string]string{"newinstance": "", "ptmxmode": "0666", "mode": "0620"},
		unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return err
	}
	return r.attach(pts, "/dev/pts")
}

// maskedProc are entries of /proc that show or change the host.
var maskedProc = []string{
	"acpi", "asound", "kallsyms", "kcore", "key-users", "keys", "kmsg", "kpagecgroup", "kpagecount",
	"kpageflags", "latency_stats", "modules", "sched_debug", "scsi", "slabinfo", "sysrq-trigger",
	"timer_list", "timer_stats", "vmallocinfo",
}

// proc mounts the process list of this PID namespace. Entries in it that belong to
// the whole machine are made read-only: a process that is root outside could write
// /proc/sys/kernel/core_pattern and so run code on the host, since the kernel asks
// there for the user, not for capabilities.
func (r *root) proc(o *Outcome) error {
	fd, err := newFS("proc", nil, plainAttr|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return err
	}
	if err := r.attach(fd, "/proc"); err != nil {
		return err
	}
	dir, err := unix.Openat(r.fd, "proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(dir), "/proc")
	defer f.Close()
	limitInotify(dir, o)
	entries, err := f.ReadDir(-1)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := r.guardProc(e); err != nil {
			return fmt.Errorf("%s: %w", e.Name(), err)
		}
	}
	return nil
}

func (r *root) guardProc(e fs.DirEntry) error {
	if _, err := strconv.Atoi(e.Name()); err == nil || e.Type()&fs.ModeSymlink != 0 {
		return nil // a process, or a link to one
	}
	masked := slices.Contains(maskedProc, e.Name())
	if masked {
		r.masked = append(r.masked, "/proc/"+e.Name())
		return nil
	}
	if !e.IsDir() {
		var st unix.Stat_t
		if err := unix.Fstatat(r.fd, "proc/"+e.Name(), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
		if st.Mode&0o222 == 0 {
			return nil
		}
	}
	tree, err := cloneTree(r.fd, "proc/"+e.Name(), readOnly|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return err
	}
	return r.attach(tree, "/proc/"+e.Name())
}
