package workspace

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/gitview"
)

// Archive implements [Files].
func (l *Local) Archive(ctx context.Context, path string, a Archive, w io.Writer) (Archived, error) {
	name, err := l.name(path)
	if err != nil {
		return Archived{}, err
	}
	st, err := l.root.Stat(name)
	switch {
	case err != nil:
		return Archived{}, escaped(err)
	case !st.IsDir():
		return Archived{}, ErrNotDirectory
	case strings.HasPrefix(a.BaseRef, "-"):
		return Archived{}, fault.New(fault.Invalid, "the base of a patch must not start with '-'")
	}
	name = l.onlyRepository(name)
	done := Archived{Root: filepath.Join(l.root.Name(), name)}
	w = &bounded{ctx, w, MaxArchive}
	switch a.Format {
	case GitDelta:
		err = l.view(done.Root, func(v *gitview.View) (err error) {
			done.Base, err = v.Delta(ctx, a.BaseRef, a.Excludes, l.fewHoles(name), w)
			return err
		})
	case TarGz:
		err = escaped(l.writeTarball(ctx, name, a.Excludes, w))
	default:
		err = fault.New(fault.Invalid, "unknown format of archives: "+a.Format)
	}
	if err != nil || !l.isRepository(name) {
		return done, err
	}
	err = l.view(done.Root, func(v *gitview.View) (err error) {
		done.Repository = true
		done.Metadata, err = v.Metadata(ctx)
		return err
	})
	if errors.Is(err, gitview.ErrNoRepository) {
		return done, nil
	}
	return done, err
}

// fewHoles returns a check that files in a directory have no more holes than [MaxHoles].
func (l *Local) fewHoles(dir string) func(name string) error {
	sum := int64(0)
	return func(name string) error {
		if sum += Holes(l.root, filepath.Join(dir, name)); sum > MaxHoles {
			return ErrHoles
		}
		return nil
	}
}

// bounded passes on up to left bytes, until ctx ends.
type bounded struct {
	ctx  context.Context // of the one call that makes the archive
	w    io.Writer
	left int64
}

func (b *bounded) Write(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if int64(len(p)) > b.left {
		return 0, ErrTooLarge
	}
	n, err := b.w.Write(p)
	b.left -= int64(n)
	return n, err
}

// Scratch returns an unnamed file on the volume of a directory, where an archive of it is
// likely to have space, or where temporary files are.
func (l *Local) Scratch(dir string) (*os.File, error) {
	name, err := l.name(dir)
	if err != nil {
		return nil, err
	}
	if f, err := l.root.OpenFile(name, os.O_RDWR|unix.O_TMPFILE, 0o600); err == nil {
		return f, nil
	}
	return Scratch()
}

// Scratch returns an unnamed temporary file.
func Scratch() (*os.File, error) {
	f, err := os.CreateTemp("", "deft-archive-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Bounds of the search for a repository below a directory.
const (
	searchDepth = 3
	searchDirs  = 20_000
)

// vendored directories contain repositories of others.
var vendored = map[string]bool{"node_modules": true, "venv": true, "site-packages": true, "vendor": true}

// onlyRepository returns the single repository below a directory that is none
// itself; the directory if there is none or more than one.
func (l *Local) onlyRepository(dir string) string {
	if l.isRepository(dir) {
		return dir
	}
	type candidate struct {
		name  string
		depth int
	}
	found := ""
	queue := []candidate{{dir, 0}}
	for seen := 0; len(queue) > 0 && seen < searchDirs; seen++ {
		at := queue[0]
		queue = queue[1:]
		for _, name := range l.directories(at.name) {
			child := filepath.Join(at.name, name)
			switch {
			case !l.isRepository(child):
				if at.depth+1 < searchDepth {
					queue = append(queue, candidate{child, at.depth + 1})
				}
			case found != "":
				return dir // there are several
			default:
				found = child
			}
		}
	}
	if found == "" {
		return dir
	}
	return found
}

func (l *Local) isRepository(dir string) bool {
	_, err := l.root.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// directories names the directories in a directory that may be repositories of the
// user; none if it is not readable.
func (l *Local) directories(dir string) (names []string) {
	d, err := l.root.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !vendored[e.Name()] {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}
