package inside

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/sandbox/internal/rlimits"
)

// InotifyShare is the part of the user's inotify instances and watches that one
// sandbox may use.
const InotifyShare = 4

// limitResources sets the limits of this process that all it starts inherit.
func limitResources(pl *Plan) error {
	if err := rlimits.SetOwn(); err != nil {
		return err
	}
	if pl.Processes > 0 {
		n := uint64(pl.Processes)
		var old unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NPROC, &old); err != nil {
			return err
		}
		if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: min(n, old.Max), Max: min(n, old.Max)}); err != nil {
			return fmt.Errorf("limit processes: %w", err)
		}
	}
	return nil
}

// limitInotify leaves the rest of the user's inotify instances and watches to other
// programs. A user namespace has limits of its own for them. They are set in its own
// /proc: in the host's, the kernel searches the entries that all former namespaces have
// left there.
func limitInotify(proc int, o *Outcome) {
	var errs error
	for from, to := range map[string]string{"max_user_instances": "max_inotify_instances", "max_user_watches": "max_inotify_watches"} {
		raw, err := os.ReadFile("/proc/sys/fs/inotify/" + from)
		var n int
		if err == nil {
			n, err = strconv.Atoi(strings.TrimSpace(string(raw)))
		}
		if err == nil {
			err = writeAt(proc, "sys/user/"+to, strconv.Itoa(max(n/InotifyShare, 1)))
		}
		errs = errors.Join(errs, err)
	}
	if errs != nil {
		o.Missing = append(o.Missing, Missing{Feature: "inotify-share", Reason: errs.Error()})
		return
	}
	o.Features = append(o.Features, "inotify-share")
}

func writeAt(dir int, path, text string) error {
	fd, err := unix.Openat(dir, path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	_, err = unix.Write(fd, []byte(text))
	return errors.Join(err, unix.Close(fd))
}
