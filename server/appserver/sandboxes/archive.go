package sandboxes

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/appserver/store"
)

// Bounds of an archive of a workspace. A larger one has checkpoints only.
const (
	maxArchive = 4 << 30 // bytes of files
	maxMembers = 500_000
	maxHeaders = 4 << 30 // bytes of an archive beside its files
)

// archiveKey names the archive of a sandbox's workspace in the file store.
func archiveKey(sandbox string) string { return "workspaces/" + sandbox + ".tar.gz" }

// keep archives the workspace of a sandbox, repositories with all their commits included, so
// that BringBack makes it again. Nothing may work in it.
func (s *Service) keep(ctx context.Context, b store.Sandbox) error {
	root, err := os.OpenRoot(b.Directory)
	if err != nil {
		return fault.Wrap(err, fault.NotFound, "open the workspace")
	}
	defer root.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, w := io.Pipe()
	packed := make(chan struct{})
	go func() {
		defer close(packed)
		_ = w.CloseWithError(pack(ctx, root, w)) // the error is read from the pipe
	}()
	err = s.o.Files.Put(ctx, archiveKey(b.ID), r)
	_ = r.CloseWithError(err) // ends pack, if it has not ended
	<-packed
	return err
}

// BringBack unpacks the archive of a sandbox's workspace, if there is one, into its empty
// directory. An archive that cannot be unpacked leaves nothing.
func (s *Service) BringBack(ctx context.Context, b store.Sandbox) (found bool, err error) {
	r, err := s.o.Files.Get(ctx, archiveKey(b.ID))
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer r.Close()
	root, err := os.OpenRoot(b.Directory)
	if err != nil {
		return false, fault.Wrap(err, fault.Denied, "open the workspace")
	}
	defer root.Close()
	if err := unpack(ctx, root, r, maxArchive+maxHeaders); err != nil {
		return false, errors.Join(fault.Wrap(err, fault.KindOf(err), "unpack the archive of the workspace"), empty(root))
	}
	return true, nil
}

// Forget deletes the kept files of the workspace of a sandbox that was deleted.
func (s *Service) Forget(ctx context.Context, sandbox string) error {
	return s.o.Files.Delete(ctx, archiveKey(sandbox))
}

// empty removes the content of a directory.
func empty(root *os.Root) error {
	all, err := fs.ReadDir(root.FS(), ".")
	for _, one := range all {
		err = errors.Join(err, root.RemoveAll(one.Name()))
	}
	return err
}

// filledAgain are directories that tools fill again; they are left out, as of checkpoints.
func filledAgain(root *os.Root, dir string) bool {
	if path.Base(dir) == "node_modules" {
		return true
	}
	for _, mark := range []string{"CACHEDIR.TAG", "pyvenv.cfg"} {
		if info, err := root.Lstat(path.Join(dir, mark)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// packer writes an archive.
type packer struct {
	root    *os.Root
	out     *tar.Writer
	bytes   int64
	members int
}

// pack writes the content of a directory: files, links and directories. Sockets, pipes
// and devices are left out.
func pack(ctx context.Context, root *os.Root, w io.Writer) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	p := packer{root: root, out: tar.NewWriter(z)}
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || name == "." {
			return err
		}
		if d.IsDir() && filledAgain(root, name) {
			return fs.SkipDir
		}
		return p.add(name)
	})
	if err != nil {
		return err
	}
	return errors.Join(p.out.Close(), z.Close())
}

func (p *packer) add(name string) error {
	info, err := p.root.Lstat(name)
	if err != nil {
		return err
	}
	target := ""
	switch info.Mode().Type() {
	case 0, fs.ModeDir:
	case fs.ModeSymlink:
		if target, err = p.root.Readlink(name); err != nil {
			return err
		}
	default:
		return nil
	}
	if p.members++; p.members > maxMembers {
		return fault.New(fault.Limit, fmt.Sprintf("the workspace has more than %d files", maxMembers))
	}
	h, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	h.Name, h.Uname, h.Gname = name, "", ""
	if !info.Mode().IsRegular() {
		return p.out.WriteHeader(h)
	}
	if p.bytes += info.Size(); p.bytes > maxArchive {
		return fault.New(fault.Limit, fmt.Sprintf("the workspace has more than %d GiB", maxArchive>>30))
	}
	f, err := p.root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !now.Mode().IsRegular() {
		return errors.Join(fault.New(fault.Conflict, "the file "+name+" was exchanged"), err)
	}
	if err := p.out.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.CopyN(p.out, f, info.Size())
	return err
}

// makeDirectory makes a directory, or takes the one that was made with the sandbox.
func makeDirectory(root *os.Root, name string) error {
	err := root.Mkdir(name, 0o700)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if info, serr := root.Lstat(name); serr != nil || !info.IsDir() {
		return err
	}
	return nil
}

// unpack makes the files of an archive, of which it reads at most so many unzipped bytes.
// Entries that lead out of the directory are refused.
func unpack(ctx context.Context, root *os.Root, r io.Reader, most int64) error {
	z, err := gzip.NewReader(r)
	if err != nil {
		return fault.Wrap(err, fault.Corrupt, "read the archive")
	}
	type made struct {
		name string
		h    *tar.Header
	}
	var dirs []made // their times are set when they are full
	bytes, members := int64(0), 0
	for in := tar.NewReader(&bounded{z, most}); ; { // headers can be endless as well
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if fault.Is(err, fault.Limit) {
			return err
		}
		if err != nil {
			return fault.Wrap(err, fault.Corrupt, "read the archive")
		}
		members++
		if bytes += h.Size; bytes > maxArchive || members > maxMembers {
			return tooLarge()
		}
		name := strings.TrimSuffix(h.Name, "/")
		if !filepath.IsLocal(name) {
			return fault.New(fault.Corrupt, "the archive has the file "+name)
		}
		mode := fs.FileMode(h.Mode).Perm()
		switch h.Typeflag {
		case tar.TypeDir:
			// Each has an entry of its own, so their number is bounded.
			if err := makeDirectory(root, name); err != nil {
				return err
			}
			dirs = append(dirs, made{name, h})
			continue
		case tar.TypeSymlink:
			err = root.Symlink(h.Linkname, name)
		case tar.TypeReg:
			err = write(root, name, mode, in)
			if err == nil {
				err = root.Chtimes(name, h.ModTime, h.ModTime)
			}
		default:
			err = fault.New(fault.Corrupt, "the archive has something else than files: "+name)
		}
		if err != nil {
			return err
		}
	}
	for _, d := range slices.Backward(dirs) {
		if err := errors.Join(root.Chmod(d.name, fs.FileMode(d.h.Mode).Perm()|0o700), root.Chtimes(d.name, d.h.ModTime, d.h.ModTime)); err != nil {
			return err
		}
	}
	return z.Close()
}

func tooLarge() error { return fault.New(fault.Limit, "the archive is too large") }

// bounded fails after some bytes.
type bounded struct {
	r    io.Reader
	left int64
}

// Read implements [io.Reader].
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, tooLarge()
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

func write(root *os.Root, name string, mode fs.FileMode, r io.Reader) error {
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if err == nil {
		err = f.Chmod(mode) // whatever the umask is
	}
	return errors.Join(err, f.Close())
}
