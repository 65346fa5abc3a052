package workspace

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
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
)

// ManifestName is the member of a tar.gz archive that describes it, without a time, unless
// the directory has a file of that name.
const ManifestName = "archive_manifest.json"

// manifest has no time, so that equal trees have equal manifests.
type manifest struct {
	Excludes   []string `json:"excludes"`
	FileCount  int      `json:"file_count"`
	Format     string   `json:"format"`
	Source     string   `json:"source"`
	TotalBytes int64    `json:"total_bytes"`
}

// tarball packs one directory. Files may change and vanish meanwhile: unreadable
// ones are left out, and the content always has the size in its header.
type tarball struct {
	ctx      context.Context // of the one call that makes it
	root     *os.Root
	name     string
	excludes []string
	out      *tar.Writer
	made     manifest
	size     int64 // of the files, as holes
	holes    int64
	own      bool // the directory has a file named as the manifest
}

// writeTarball packs a directory's files and directories, without links.
func (l *Local) writeTarball(ctx context.Context, dir string, excludes []string, w io.Writer) error {
	root, err := l.root.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("pack a directory: %w", err)
	}
	defer root.Close()
	zip := gzip.NewWriter(w)
	t := &tarball{ctx: ctx, root: root, name: filepath.Base(filepath.Join(l.root.Name(), dir)), excludes: excludes, out: tar.NewWriter(zip)}
	t.made = manifest{Format: "tar.gz", Source: t.name, Excludes: append([]string{}, excludes...)}
	if err := t.directory(".", nil, t.measure); err != nil { // before the first byte: a caller can still say it
		return fmt.Errorf("pack a directory: %w", err)
	}
	t.size, t.holes = 0, 0
	if err := t.directory(".", t.header, t.file); err != nil {
		return fmt.Errorf("pack a directory: %w", err)
	}
	if err := errors.Join(t.finish(), t.out.Close(), zip.Close()); err != nil {
		return fmt.Errorf("pack a directory: %w", err)
	}
	return nil
}

// directory visits a directory, its files, then the directories in it. enter may be nil.
func (t *tarball) directory(rel string, enter func(fs.FileInfo, string) error, file func(string) error) error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	d, err := t.root.OpenFile(rel, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil //nolint:nilerr // it vanished, or is not readable
	}
	entries, err := d.ReadDir(-1)
	st, statErr := d.Stat()
	if err := errors.Join(err, statErr, d.Close()); err != nil {
		return nil //nolint:nilerr // as above
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	if enter != nil {
		if err := enter(st, path.Join(t.name, rel)+"/"); err != nil {
			return err
		}
	}
	var dirs []string
	for _, e := range entries {
		name := path.Join(rel, e.Name())
		if excluded(name, t.excludes, e.IsDir()) || holdsCredentials(name) {
			continue
		}
		switch {
		case e.IsDir():
			dirs = append(dirs, name)
		case e.Type().IsRegular():
			if err := file(name); err != nil {
				return err
			}
		}
	}
	for _, name := range dirs {
		if err := t.directory(name, enter, file); err != nil {
			return err
		}
	}
	return nil
}

func (t *tarball) header(st fs.FileInfo, name string) error {
	h, err := tar.FileInfoHeader(st, "")
	if err != nil {
		return err
	}
	h.Name = name
	return t.out.WriteHeader(h)
}

// count adds a file to the size and the holes, which are bounded.
func (t *tarball) count(size, holes int64) error {
	t.size, t.holes = t.size+size, t.holes+holes
	switch {
	case t.size > MaxArchive:
		return fmt.Errorf("%w: files of more than %d GiB", ErrTooLarge, int64(MaxArchive)>>30)
	case t.holes > MaxHoles:
		return ErrHoles
	}
	return nil
}

// measure counts a file that will be packed.
func (t *tarball) measure(rel string) error {
	st, err := t.root.Lstat(rel)
	if err != nil || !st.Mode().IsRegular() {
		return nil //nolint:nilerr // it vanished
	}
	return t.count(st.Size(), Holes(t.root, rel))
}

func (t *tarball) file(rel string) error {
	f, err := t.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil // it vanished, or is not readable
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return nil
	}
	if err := t.count(st.Size(), holes(f, st)); err != nil {
		return err
	}
	if err := t.header(st, path.Join(t.name, rel)); err != nil {
		return err
	}
	n, err := io.CopyN(t.out, readable{f}, st.Size())
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if _, err := io.CopyN(t.out, zeros{}, st.Size()-n); err != nil { // the file became shorter
		return err
	}
	t.own = t.own || rel == ManifestName
	t.made.FileCount++
	t.made.TotalBytes += st.Size()
	return t.ctx.Err()
}

// readable turns errors of reading into the end of the file.
type readable struct{ f *os.File }

func (r readable) Read(p []byte) (int, error) {
	n, err := r.f.Read(p)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// finish adds the manifest, unless the directory has a file of that name.
func (t *tarball) finish() error {
	if t.own {
		return nil
	}
	text, err := json.MarshalIndent(t.made, "", "  ")
	if err != nil {
		return err
	}
	h := &tar.Header{Name: path.Join(t.name, ManifestName), Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}
	if err := t.out.WriteHeader(h); err != nil {
		return err
	}
	_, err = t.out.Write(text)
	return err
}
