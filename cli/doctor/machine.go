package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
)

// leastFree is the space below which a disk counts as full, in bytes: a run may
// write that much in minutes.
const leastFree = 16 << 20

// space is the free space of a file system. A negative number is unknown.
type space struct{ bytes, files int64 }

// spaceAt returns the free space of the file system of a directory, or of the
// nearest one above it that exists.
func spaceAt(dir string) space {
	for {
		var s unix.Statfs_t
		if err := unix.Statfs(dir, &s); err == nil {
			left := space{bytes: int64(s.Bavail) * s.Bsize, files: -1}
			if s.Files > 0 { // some file systems have no fixed number
				left.files = int64(s.Ffree)
			}
			return left
		}
		above := filepath.Dir(dir)
		if above == dir {
			return space{-1, -1}
		}
		dir = above
	}
}

func checkDisk(dir string, left space) Check {
	c := Check{Name: "disk", State: OK, Text: fmt.Sprintf("%d MiB free", left.bytes>>20)}
	switch {
	case left.bytes < 0:
		c.State, c.Text = Warning, "free space unknown"
	case left.bytes < leastFree:
		c.State, c.Exit = Failed, fault.ExitStorage
		c.Text += ": the disk is full; events cannot be stored"
	case left.files == 0:
		c.State, c.Exit = Failed, fault.ExitStorage
		c.Text += ", but the disk is full: it has no inodes left; events cannot be stored"
	}
	if c.State == Failed {
		c.Next = "delete something on the file system of " + dir + ", or name another directory with --data"
	}
	return c
}

// namespaces reads the settings that allow or refuse user namespaces. Those that
// a kernel does not have are left out.
func namespaces(settings string) (found, refusing []Item) {
	for _, s := range []struct {
		name string
		ok   func(int) bool
	}{
		{"user/max_user_namespaces", func(n int) bool { return n > 0 }},
		{"kernel/unprivileged_userns_clone", func(n int) bool { return n != 0 }},
		{"kernel/apparmor_restrict_unprivileged_userns", func(n int) bool { return n == 0 }},
	} {
		b, err := os.ReadFile(filepath.Join(settings, s.name))
		if err != nil {
			continue
		}
		i := Item{Name: strings.ReplaceAll(s.name, "/", "."), Value: strings.TrimSpace(string(b))}
		found = append(found, i)
		if n, err := strconv.Atoi(i.Value); err != nil || !s.ok(n) {
			refusing = append(refusing, i)
		}
	}
	return found, refusing
}

// checkNamespaces looks at the kernel's settings, and at the reason that kept the
// sandbox from using namespaces.
func (h Host) checkNamespaces(isolation *sandbox.Report) Check {
	settings := h.Settings
	if settings == "" {
		settings = "/proc/sys"
	}
	found, refusing := namespaces(settings)
	c := Check{Name: "user namespaces", State: OK, Text: "allowed by the kernel's settings", Items: found}
	var list []string
	for _, i := range refusing {
		list = append(list, i.Name+" = "+i.Value)
	}
	why := strings.Join(list, ", ")
	switch {
	case len(refusing) > 0 && h.Root:
		c.State, c.Text = Warning, "refused to ordinary users: "+why
	case len(refusing) > 0:
		c.State, c.Text = Warning, "refused: "+why+"; the weaker level of the sandbox is used"
		c.Next = "an administrator can allow them with sysctl"
	case isolation != nil:
		for _, m := range isolation.Missing {
			if m.Feature == "namespaces" {
				c.State, c.Text = Warning, "allowed by the kernel's settings, but not usable: "+m.Reason+"; the weaker level of the sandbox is used"
				c.Next = "a container or a security module may refuse them"
			}
		}
	}
	return c
}
