package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
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
	settings = cmp.Or(settings, "/proc/sys")
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

// Store is the part of [eventstream.Stream] that is read for damage.
type Store interface {
	List(ctx context.Context, q eventstream.ListQuery) (eventstream.ListPage, error)
	Read(ctx context.Context, id event.ConversationID, from eventstream.Seq) iter.Seq2[eventstream.Record, error]
}

// storeTime bounds how long the store is read for damage.
const storeTime = 10 * time.Second

func (h Host) checkStore(ctx context.Context) Check {
	err := h.StoreError
	if err == nil {
		err = readStore(ctx, h.Store)
	}
	if err != nil {
		c := failed(dataCheck, fault.KindOf(err).ExitCode(), err)
		c.Text = h.Data + ": " + c.Text
		return c
	}
	return Check{Name: dataCheck, State: OK, Text: h.Data + ": ok"}
}

// readStore reads the store, all of it if that does not take too long.
func readStore(ctx context.Context, s Store) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	q := eventstream.ListQuery{ByUpdated: true}
	for {
		page, err := s.List(ctx, q)
		if err != nil {
			return unlessLate(ctx, err)
		}
		for _, i := range page.Infos {
			for _, err := range s.Read(ctx, i.ID, 1) {
				if err != nil {
					return unlessLate(ctx, fmt.Errorf("read conversation %s: %w", i.ID, err))
				}
			}
		}
		if q.PageID = page.NextID; q.PageID == "" {
			return nil
		}
	}
}

// unlessLate is nil where time is up: everything read until then is sound.
func unlessLate(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && !fault.Is(err, fault.Corrupt) {
		return nil
	}
	return err
}

// proxyVariables are read by most programs; the lower-case names go first.
var proxyVariables = []string{"http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}

// checkProxies shows the variables that name proxies, without users and passwords.
func checkProxies(env func(string) string) Check {
	c := Check{Name: "proxies", State: OK, Text: "none set"}
	var list []string
	add := func(name, value string) {
		c.Items = append(c.Items, Item{Name: name, Value: value})
		list = append(list, name+"="+value)
	}
	for _, name := range proxyVariables {
		value := env(name)
		if value == "" {
			continue
		}
		address, ok := proxyAddress(value)
		if !ok {
			c.State, c.Next = Warning, "a proxy is given as http://host:port"
			address = notURL
		}
		add(name, address)
	}
	for _, name := range []string{"no_proxy", "NO_PROXY"} {
		if value := env(name); strings.Contains(value, "@") {
			c.State = Warning
			add(name, "set, but not a list of hosts")
		} else if value != "" {
			add(name, value)
		}
	}
	if len(list) > 0 {
		c.Text = strings.Join(list, ", ")
	}
	return c
}

// notURL stands for a value that may hold a password in any place.
const notURL = "set, but not a URL"

// proxyAddress returns the address of a proxy without its user and password. It is
// false for anything but an address with a host and nothing behind it: a password
// that is not encoded could be anywhere in it.
func proxyAddress(value string) (string, bool) {
	short := !strings.Contains(value, "://")
	if short { // most programs take this for http
		value = "http://" + value
	}
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return "", false
	case short:
		return u.Host, true
	}
	return u.Scheme + "://" + u.Host, true
}
