package inside

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// root is the new root while it is built. Sources are opened in the old tree
// before anything covers them; targets are resolved inside the new one, so
// that a link in a hostile workspace cannot lead a mount elsewhere.
type root struct {
	fd     int
	freeze []int    // mounts to make read-only at the end
	masked []string // in /proc, to hide
	size   int64
	memory int // the file system that the private directories share
}

const (
	plainAttr = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	readOnly  = plainAttr | unix.MOUNT_ATTR_RDONLY
)

// newRoot replaces the root of this mount namespace. exe is bound at its own
// path, read-only, if nothing else shows it there.
func newRoot(pl *Plan, exe int, o *Outcome) (step string, err error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return "keep mounts private", err
	}
	ws, err := cloneTree(unix.AT_FDCWD, pl.Workspace, plainAttr)
	if err != nil {
		return "open workspace", err
	}
	home := -1
	if pl.Home != "" {
		if home, err = unix.Open(pl.Home, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			return "open home", err
		}
	}
	dev, err := unix.Open("/dev", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "open /dev", err
	}
	shown := openExposed()
	layers, err := openLayers(pl, ws)
	if err != nil {
		return "open granted directories", err
	}
	r := &root{size: pl.TmpBytes}
	var top []entry
	if pl.Alias == "" {
		r.fd, err = cloneTree(unix.AT_FDCWD, "/", readOnly)
	} else {
		top, err = r.ownTop()
	}
	if err != nil {
		return "copy the file system's tree", err
	}
	caches, missing := openCaches(pl)
	o.Missing = append(o.Missing, missing...)
	if len(pl.Caches) > 0 && len(missing) == 0 {
		o.Features = append(o.Features, FeatureCaches)
	}
	layers = append(layers, caches...)
	sortLayers(layers)
	if err := r.attachSomewhere(); err != nil {
		return "attach the new root", err
	}
	for _, e := range top {
		if err := r.fill(e); err != nil {
			return "copy the file system's tree", err
		}
	}
	if step, err := r.build(pl, layers, home, dev, exe, shown, o); err != nil {
		return step, err
	}
	if err := r.enter(); err != nil {
		return "change root", err
	}
	return "", nil
}

func (r *root) build(pl *Plan, layers []layer, home, dev, exe int, shown map[string]int, o *Outcome) (step string, err error) {
	if err := r.proc(o); err != nil {
		return "mount /proc", err
	}
	if err := r.devices(dev); err != nil {
		return "mount /dev", err
	}
	if err := r.hide(r.masked); err != nil {
		return "mask /proc", err
	}
	if err := r.privates(pl); err != nil {
		return "mount private directories", err
	}
	for path, fd := range shown {
		if err := r.show(path, fd); err != nil {
			return "show " + path, err
		}
	}
	if home >= 0 {
		if err := r.home(pl, home); err != nil {
			return "mount home", err
		}
	}
	for _, l := range layers {
		if err := r.lay(l); err != nil {
			return "mount " + l.path, err
		}
	}
	if err := r.clean(pl); err != nil {
		return "show configurations without credentials", err
	}
	if err := r.coverSockets(pl.Sockets); err != nil {
		return "hide the host's sockets", err
	}
	r.showProgram(pl, exe)
	if err := r.closeParents(pl); err != nil {
		return "close the directories around the workspace", err
	}
	for _, fd := range r.freeze {
		if err := setAttr(fd, unix.MOUNT_ATTR_RDONLY, 0); err != nil {
			return "make mounts read-only", err
		}
	}
	return "", nil
}

// layer is a path that is hidden, or shown with the mounts of tree.
type layer struct {
	path string
	hide bool
	tree int
}

// openLayers returns the hidden and shown paths beside the home's toolchains and
// the caches. Once sorted, deeper paths come later, so the longest path decides.
func openLayers(pl *Plan, ws int) ([]layer, error) {
	layers := []layer{{path: pl.Workspace, tree: ws}}
	if pl.Alias != "" {
		again, err := cloneTree(unix.AT_FDCWD, pl.Workspace, plainAttr)
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer{path: pl.Alias, tree: again})
	}
	for _, path := range pl.Hidden {
		layers = append(layers, layer{path: path, hide: true})
	}
	for _, g := range pl.Granted {
		// The paths have no links in them; one that has appeared since is refused
		// rather than followed.
		fd, err := unix.Openat2(unix.AT_FDCWD, g.Path, &unix.OpenHow{
			Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
		})
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
			continue // gone, or out of the user's reach
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.Path, err)
		}
		attr := uint64(readOnly)
		if g.Writable {
			attr = plainAttr
		}
		tree, err := cloneTree(fd, "", attr)
		unix.Close(fd)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.Path, err)
		}
		layers = append(layers, layer{path: g.Path, tree: tree})
	}
	return layers, nil
}

func sortLayers(layers []layer) {
	slices.SortStableFunc(layers, func(a, b layer) int {
		switch c := strings.Compare(a.path, b.path); {
		case c != 0 || a.hide == b.hide:
			return c
		case a.hide:
			return -1 // paths that are granted by name are shown
		}
		return 1
	})
}

func (r *root) lay(l layer) error {
	if l.hide {
		return r.hide([]string{l.path})
	}
	return r.show(l.path, l.tree)
}

// closeParents makes the directories of the home read-only in which the workspace and granted
// paths are: a file that is written beside these would be lost with the sandbox. The home
// itself and the directories of toolchains stay writable, for programs' own files.
func (r *root) closeParents(pl *Plan) error {
	if pl.Home == "" {
		return nil
	}
	tops := map[string]bool{}
	for _, path := range append([]string{pl.Workspace}, grantedPaths(pl)...) {
		rel, below := strings.CutPrefix(path, pl.Home+"/")
		top, _, deeper := strings.Cut(rel, "/")
		program := strings.HasPrefix(top, ".") || slices.ContainsFunc(pl.Shown, func(shown string) bool { return Within(shown, top) })
		if below && deeper && !program && !slices.Contains(grantedPaths(pl), pl.Home+"/"+top) {
			tops[pl.Home+"/"+top] = true
		}
	}
	for top := range tops {
		dir, err := r.open(top, unix.O_DIRECTORY)
		if errors.Is(err, unix.ENOENT) { // the grant was gone
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", top, err)
		}
		tree, err := cloneTree(dir, "", 0)
		if err == nil {
			err = errors.Join(setAttr(tree, unix.MOUNT_ATTR_RDONLY, 0), moveTo(tree, dir), unix.Close(tree))
		}
		unix.Close(dir)
		if err != nil {
			return fmt.Errorf("%s: %w", top, err)
		}
	}
	return nil
}

func grantedPaths(pl *Plan) (paths []string) {
	for _, g := range pl.Granted {
		paths = append(paths, g.Path)
	}
	return paths
}

// clean covers configurations with credentials by their content without them.
func (r *root) clean(pl *Plan) error {
	n := 0
	for path, content := range pl.Cleaned {
		target, err := r.open(path, unix.O_NOFOLLOW)
		if err != nil {
			if content != "" && pl.Home != "" && Within(path, pl.Home) {
				if err := r.mkdirAll(filepath.Dir(path)); err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
				if err := r.touch(path, content); err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
			}
			continue
		}
		n++
		source := emptyFile + strconv.Itoa(n)
		err = r.touch(source, content)
		if err == nil {
			err = r.coverFile(target, source)
		}
		unix.Close(target)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// attachSomewhere mounts the new root over a directory of the old one, which is
// removed later. Targets can only be resolved in an attached tree.
func (r *root) attachSomewhere() error {
	var err error
	for _, dir := range []string{"/mnt", "/tmp", "/usr", "/etc"} {
		err = unix.MoveMount(r.fd, "", unix.AT_FDCWD, dir, unix.MOVE_MOUNT_F_EMPTY_PATH)
		if !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	return err
}

// privates replaces writable system directories by empty ones.
func (r *root) privates(pl *Plan) error {
	for _, dir := range pl.Covered {
		if dir == pl.Home || Within(dir, pl.Workspace) {
			continue
		}
		if err := r.tmpfs(dir, "0755"); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	if err := r.shareMemory(); err != nil {
		return err
	}
	for _, dir := range PrivateDirs {
		if Within(dir, pl.Workspace) {
			continue // shown as the workspace below
		}
		mode := "1777"
		if dir == "/run" || dir == "/var/run" {
			mode = "0755"
		}
		if dir == "/var/run" && r.isLink(dir) {
			continue
		}
		if err := r.private(dir, mode); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}

// home makes an empty home and shows the harmless part of the real one in it.
func (r *root) home(pl *Plan, home int) error {
	if err := r.mkdirAll(pl.Home); err != nil {
		return err
	}
	if err := r.private(pl.Home, "0700"); err != nil {
		return err
	}
	for _, rel := range pl.Shown {
		target := filepath.Join(pl.Home, rel)
		if link, err := readlinkat(home, rel); err == nil {
			if err := r.symlink(link, target); err != nil {
				return err
			}
			continue
		}
		fd, err := cloneTree(home, rel, readOnly)
		if errors.Is(err, unix.ENOENT) {
			continue // removed since the plan was made
		}
		if err != nil {
			return fmt.Errorf("%s: %w", rel, err)
		}
		if err := r.show(target, fd); err != nil {
			return err
		}
	}
	return nil
}

// openExposed opens paths that reappear inside private directories.
func openExposed() map[string]int {
	m := map[string]int{}
	for _, p := range Exposed {
		if fd, err := cloneTree(unix.AT_FDCWD, p, readOnly); err == nil {
			m[p] = fd
		}
	}
	return m
}

// showProgram makes the program visible, and read-only even in the workspace:
// else a command could replace the binary that runs outside later. Where its
// path cannot be made, it still runs from the open descriptor.
func (r *root) showProgram(pl *Plan, exe int) {
	path := Resolve("/proc/self/fd/" + strconv.Itoa(exe))
	if fd, err := r.open(path, 0); err == nil {
		var a, b unix.Stat_t
		same := unix.Fstat(fd, &a) == nil && unix.Fstat(exe, &b) == nil && a.Dev == b.Dev && a.Ino == b.Ino
		unix.Close(fd)
		if same && !Within(path, pl.Workspace) {
			return
		}
	}
	if fd, err := cloneTree(exe, "", readOnly); err == nil {
		_ = r.show(path, fd)
	}
}

// hide covers the existing ones of the paths with an empty directory or file,
// which breaks fewer programs than an unreadable one.
func (r *root) hide(paths []string) error {
	for _, p := range paths {
		// The paths have no links in them; one that has appeared since is
		// refused rather than followed.
		fd, err := r.open(p, unix.O_NOFOLLOW)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES) {
			continue // not visible anyway
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		err = r.cover(fd)
		unix.Close(fd)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return nil
}

func (r *root) cover(target int) error {
	var st unix.Stat_t
	if err := unix.Fstat(target, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return r.tmpfsAt(target, "0755")
	}
	return r.coverFile(target, emptyFile)
}

// coverFile shows the file source of the new root, read-only, at target.
func (r *root) coverFile(target int, source string) error {
	tree, err := cloneTree(r.fd, relative(source), readOnly)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	return moveTo(tree, target)
}

// coverSockets hides sockets. The file at a path may be another one now, as the
// path belongs to the mount namespace in which the socket was bound.
func (r *root) coverSockets(paths []string) error {
	for _, path := range paths {
		fd, err := r.open(path, 0)
		if err != nil {
			continue // not visible
		}
		var st unix.Stat_t
		err = unix.Fstat(fd, &st)
		if err == nil && st.Mode&unix.S_IFMT == unix.S_IFSOCK {
			err = r.cover(fd)
		}
		err = errors.Join(err, unix.Close(fd))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// enter makes the new root the root and unmounts the old tree.
func (r *root) enter() error {
	if err := unix.Fchdir(r.fd); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return err
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return err
	}
	return os.Chdir("/")
}

func readlinkat(dir int, path string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dir, path, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

func relative(path string) string {
	if rel := strings.TrimPrefix(filepath.Clean(path), "/"); rel != "" {
		return rel
	}
	return "."
}
