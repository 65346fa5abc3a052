package docker

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/moby/moby/api/types/mount"
	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/realpath"
	"github.com/deft-dev/deft/sandbox"
)

// engineSockets are where engines listen: who reaches one is root on this machine.
var engineSockets = []string{"/var/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock"}

// checkMounts refuses mounts that cannot be made, and directories with the socket of an
// engine.
func (p *Provider) checkMounts(s sandbox.Spec) error {
	shown := slices.Concat([]string{s.Workspace}, s.Readable, s.Writable)
	targets := slices.Clone(shown)
	for _, m := range s.Container.Mounts {
		if err := m.Check(); err != nil {
			return err
		}
		target := path.Clean(m.Target)
		if target == "/dev" || target == "/sys" || within(target, "/proc") || within(target, "/.deft") {
			return fault.New(fault.Invalid, "nothing can be mounted at "+m.Target)
		}
		if slices.Contains(targets, target) {
			return fault.New(fault.Invalid, "two directories cannot be mounted at "+target).Hint("choose another target for " + m.Source)
		}
		targets = append(targets, target)
		if !path.IsAbs(m.Source) {
			continue // a volume, which the engine makes
		}
		fi, err := os.Stat(m.Source)
		if err != nil {
			return fault.Wrap(err, fault.Invalid, "mount at "+m.Target)
		}
		if m.Mode == sandbox.MountOverlay && !fi.IsDir() {
			return fault.New(fault.Invalid, "an overlay is of a directory, and not of the file "+m.Source)
		}
		shown = append(shown, m.Source)
	}
	sockets := slices.Clone(engineSockets)
	if p.engine != nil {
		if socket, ok := strings.CutPrefix(p.engine.DaemonHost(), "unix://"); ok {
			sockets = append(sockets, socket)
		}
	}
	for _, socket := range sockets {
		if _, err := os.Stat(socket); err != nil {
			continue
		}
		for _, dir := range shown {
			if within(realpath.Resolve(socket), realpath.Resolve(dir)) {
				return fault.New(fault.Denied, "the sandbox cannot be given "+dir+": it holds the socket of a container engine, which is root on this machine").
					Hint("mount a directory without " + socket)
			}
		}
	}
	return nil
}

func bind(source, target string, readOnly bool) mount.Mount {
	return mount.Mount{
		Type: mount.TypeBind, Source: source, Target: target, ReadOnly: readOnly,
		// Later mounts below a directory of the host are not shown.
		BindOptions: &mount.BindOptions{Propagation: mount.PropagationPrivate},
	}
}

// mountOf is how the engine is asked for the n-th mount of a Spec.
func (p *Provider) mountOf(s sandbox.Spec, n int, m sandbox.Mount) (mount.Mount, error) {
	target := path.Clean(m.Target)
	switch {
	case m.Mode == sandbox.MountOverlay:
		return p.overlay(s.ID, n, m.Source, target)
	case !path.IsAbs(m.Source):
		return mount.Mount{Type: mount.TypeVolume, Source: m.Source, Target: target, ReadOnly: m.Mode == sandbox.MountReadOnly}, nil
	}
	return bind(m.Source, target, m.Mode == sandbox.MountReadOnly), nil
}

// overlay is a volume that shows a directory and keeps writes apart from it: in the
// sandbox's own directory, until the sandbox is removed. The volume has no name, so that
// it goes with the container.
func (p *Provider) overlay(id string, n int, source, target string) (mount.Mount, error) {
	source = realpath.Resolve(source)
	dir := filepath.Join(p.dir(id), "overlay"+strconv.Itoa(n))
	upper, work := filepath.Join(dir, "upper"), filepath.Join(dir, "work")
	for _, path := range []string{source, upper, work} {
		if strings.ContainsAny(path, ",:\\") { // they separate the options of the file system
			return mount.Mount{}, fault.New(fault.Unsupported, "no overlay can be made with a comma, colon or backslash in "+path)
		}
	}
	for _, path := range []string{dir, work} {
		if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return mount.Mount{}, fmt.Errorf("make the overlay: %w", err)
		}
	}
	if err := likeLower(upper, source); err != nil {
		return mount.Mount{}, fmt.Errorf("make the overlay: %w", err)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err == nil && fs.Type == unix.OVERLAYFS_SUPER_MAGIC {
		return mount.Mount{}, fault.New(fault.Unsupported, "no overlay can be made: Deft's data directory is on an overlay itself").
			Hint("set DEFT_DATA to a directory on a disk, or mount with :ro")
	}
	return mount.Mount{
		Type: mount.TypeVolume, Target: target,
		VolumeOptions: &mount.VolumeOptions{NoCopy: true, DriverConfig: &mount.Driver{Name: "local", Options: map[string]string{
			"type": "overlay", "device": "overlay", "o": "lowerdir=" + source + ",upperdir=" + upper + ",workdir=" + work,
		}}},
	}, nil
}

// likeLower makes the directory whose owner and mode the overlay shows.
func likeLower(upper, lower string) error {
	err := os.Mkdir(upper, 0o700)
	if errors.Is(err, os.ErrExist) {
		return nil // of an earlier container of the sandbox
	}
	if err != nil {
		return err
	}
	fi, err := os.Stat(lower)
	if err != nil {
		return err
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		if err := os.Chown(upper, int(st.Uid), int(st.Gid)); err != nil && os.Geteuid() == 0 {
			return err // others can make files of their own only
		}
	}
	return os.Chmod(upper, fi.Mode().Perm())
}
