package inside

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// entry is a directory, a file or a link at the top of the file system.
type entry struct {
	path string
	link string // its target, if it is one
	tree int
}

// ownTop makes the new root a directory of its own, in which mount points can be made that
// the host does not have, and returns its entries.
func (r *root) ownTop() (all []entry, err error) {
	names, err := os.ReadDir("/")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		e := entry{path: "/" + name.Name()}
		if name.Type()&fs.ModeSymlink != 0 {
			e.link, err = os.Readlink(e.path)
		} else {
			e.tree, err = cloneTree(unix.AT_FDCWD, e.path, readOnly)
		}
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
			continue // gone, or out of the user's reach
		}
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	if r.fd, err = newFS("tmpfs", map[string]string{"mode": "0755"}, plainAttr); err != nil {
		return nil, err
	}
	r.freeze = append(r.freeze, r.fd)
	return all, nil
}

// fill puts an entry into the top.
func (r *root) fill(e entry) error {
	if e.link != "" {
		return r.symlink(e.link, e.path)
	}
	return r.show(e.path, e.tree)
}
