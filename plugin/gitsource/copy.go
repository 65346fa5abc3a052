package gitsource

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/deft-dev/deft/fault"
)

// Bounds on one copy.
const (
	maxFiles = 20000
	maxBytes = 256 << 20
)

// CopyTree copies a directory without .git. It copies links that stay inside and
// refuses others; it leaves out everything but files and directories.
func CopyTree(from, to string) error {
	outward, err := Outward(from)
	if err == nil {
		err = Refuse(outward)
	}
	if err != nil {
		return err
	}
	return CopyInward(from, to)
}

// Outward lists the links below a directory that lead out of it.
func Outward(dir string) (names []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, failed("%w", err)
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case e.Type()&fs.ModeSymlink == 0:
			return nil
		}
		target, err := root.Readlink(name)
		if err == nil && outward(name, target) {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for links: %w", err)
	}
	return names, nil
}

// Refuse is the error of a directory with [Outward] links; nil without any.
func Refuse(outward []string) error {
	if len(outward) == 0 {
		return nil
	}
	return fault.New(fault.Invalid, fmt.Sprintf("the link %s leads out of it", outward[0]))
}

// outward reports whether a link leads out of the tree in which it has a name.
func outward(name, target string) bool {
	return path.IsAbs(target) || !filepath.IsLocal(filepath.FromSlash(path.Join(path.Dir(name), target)))
}

// CopyInward is [CopyTree] without the [Outward] links.
func CopyInward(from, to string) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return failed("%w", err)
	}
	defer root.Close()
	c := copier{root: root, to: to, left: maxBytes}
	if err := fs.WalkDir(root.FS(), ".", c.one); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	return nil
}

type copier struct {
	root  *os.Root
	to    string
	files int
	left  int64
}

func (c *copier) one(name string, e fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if c.files++; c.files > maxFiles {
		return fault.New(fault.Invalid, fmt.Sprintf("more than %d files", maxFiles))
	}
	at := filepath.Join(c.to, filepath.FromSlash(name))
	switch {
	case e.IsDir() && e.Name() == ".git":
		return fs.SkipDir
	case e.IsDir():
		return os.MkdirAll(at, 0o755)
	case e.Type()&fs.ModeSymlink != 0:
		return c.link(name, at)
	case e.Type().IsRegular():
		return c.file(name, at)
	}
	return nil
}

func (c *copier) link(name, at string) error {
	target, err := c.root.Readlink(name)
	if err != nil {
		return err
	}
	if outward(name, target) {
		return nil
	}
	return os.Symlink(target, at)
}

func (c *copier) file(name, at string) error {
	in, err := c.root.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()&0o755|0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, c.left+1))
	if closed := out.Close(); err == nil {
		err = closed
	}
	if c.left -= n; c.left < 0 {
		return fault.New(fault.Invalid, fmt.Sprintf("more than %d bytes", maxBytes))
	}
	return err
}
