package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func fileAttempts() []attempt {
	return []attempt{
		{"write-outside", "write a file beside the workspace and in the system", writeOutside},
		{"write-etc", "make a file in /etc", func(targets) error { return makeFile("/etc/deft-probe") }},
		{"delete-outside", "delete the file beside the workspace by .. and by a link", deleteOutside},
		{"symlink-escape", "write through a link in the workspace", symlinkEscape},
		{"hardlink-escape", "link a file from outside into the workspace", func(t targets) error {
			return os.Link(t.Outside, filepath.Join(t.Workspace, "hard"))
		}},
		{"proc-root", "read the file outside by /proc/*/root and /proc/*/cwd", procRoot},
		{"read-secrets", "read known locations of secrets", readSecrets},
		{"other-projects", "read another project in the home directory", func(t targets) error {
			if t.Project == "" {
				return errors.New("there can be none: the home directory is not writable")
			}
			return readable(t.Project)
		}},
		{"write-granted", "write in a directory that is granted for reading", func(t targets) error {
			if err := readable(filepath.Join(t.Readable, "file")); err != nil {
				fmt.Fprintln(os.Stderr, "the granted directory is not readable:", err)
				return nil
			}
			return refuseAll(openFor(filepath.Join(t.Readable, "file"), os.O_WRONLY), makeFile(filepath.Join(t.Readable, "new")))
		}},
		{"read-deft-data", "read the sandbox's own directory", func(t targets) error {
			return readable(t.State)
		}},
		{"read-first-environ", "read the environment of process 1", func(targets) error {
			return readable("/proc/1/environ")
		}},
		{"read-first-memory", "open the memory of process 1", func(targets) error {
			return openFor("/proc/1/mem", os.O_RDWR)
		}},
		{"read-host-process", "read the environment of a process outside", func(t targets) error {
			return readable("/proc/" + strconv.Itoa(t.PID) + "/environ")
		}},
		{"write-sys", "open kernel settings in /sys and /proc for writing", writeKernel},
		{"devices", "open and make device nodes", openDevices},
		{"mount", "mount a file system", func(t targets) error {
			if err := unix.Mount("none", t.Workspace, "tmpfs", 0, ""); err != nil {
				return err
			}
			return unix.Unmount(t.Workspace, unix.MNT_DETACH)
		}},
	}
}

// refuseAll fails, as it should, only if every attempt does; the error is of
// the first. It returns nil, an escape, as soon as one works.
func refuseAll(errs ...error) error {
	for _, err := range errs {
		if err == nil {
			return nil
		}
	}
	return errs[0]
}

func writeOutside(t targets) error {
	return refuseAll(openFor(t.Outside, os.O_WRONLY), makeFile("/usr/deft-probe"), makeFile("/var/lib/deft-probe"),
		makeFile("/deft-probe"))
}

func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(path))
}

func openFor(path string, flag int) error {
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

func deleteOutside(t targets) error {
	link := filepath.Join(t.Workspace, "up")
	if err := os.Symlink("..", link); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	name := filepath.Base(t.deletable())
	return refuseAll(os.Remove(link+"/"+name), unix.Unlink(t.Workspace+"/../"+name))
}

func symlinkEscape(t targets) error {
	link := filepath.Join(t.Workspace, "link")
	if err := os.Symlink(t.Outside, link); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	return openFor(link, os.O_WRONLY|os.O_TRUNC)
}

func procRoot(t targets) error {
	var errs []error
	for _, p := range []string{"/proc/self/root", "/proc/1/root", "/proc/1/cwd/../..", "/proc/self/cwd/..", "/proc/self/task/1/root"} {
		errs = append(errs, openFor(p+t.Outside, os.O_RDONLY))
	}
	errs = append(errs, openFor("/proc/self/cwd/../"+filepath.Base(t.Outside), os.O_RDONLY))
	return refuseAll(errs...)
}

// readable returns nil if anything can be read from path: content of a file,
// entries of a directory.
func readable(path string) error {
	fi, err := os.Stat(path)
	if err != nil {
		return err
	}
	if fi.IsDir() {
		entries, err := os.ReadDir(path)
		if err == nil && len(entries) == 0 {
			return errors.New("it is empty")
		}
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if n, err := f.Read(make([]byte, 1)); n == 0 {
		if err == nil {
			return nil
		}
		return errors.New("it is empty")
	}
	return nil
}

func readSecrets(t targets) error {
	var got []string
	for _, s := range t.Secrets {
		if readable(s) == nil {
			got = append(got, s)
		}
	}
	if len(got) > 0 {
		fmt.Fprintln(os.Stderr, "readable secrets:", strings.Join(got, " "))
		return nil
	}
	return fmt.Errorf("none of the %d on this host can be read", len(t.Secrets))
}

func writeKernel(targets) error {
	var errs []error
	for _, p := range []string{
		"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/vm/drop_caches",
		"/proc/sysrq-trigger", "/sys/power/state", "/sys/kernel/uevent_helper", "/sys/fs/cgroup/cgroup.procs",
		"/sys/fs/cgroup/memory/cgroup.procs", "/sys/fs/cgroup/pids/cgroup.procs",
	} {
		err := openFor(p, os.O_WRONLY)
		if err == nil && strings.HasSuffix(p, "sysrq-trigger") && readable(p) != nil {
			continue
		}
		errs = append(errs, err)
	}
	return refuseAll(errs...)
}

func openDevices(t targets) error {
	var errs []error
	for _, name := range []string{"mem", "kmsg", "port", "sda", "vda", "nvme0n1", "fuse", "kvm", "loop-control", "net/tun"} {
		errs = append(errs, openFor("/dev/"+name, os.O_RDWR))
	}
	node := filepath.Join(t.Workspace, "node")
	if err := unix.Mknod(node, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 1))); err != nil {
		errs = append(errs, err)
	} else {
		errs = append(errs, openFor(node, os.O_RDWR))
	}
	return refuseAll(errs...)
}
