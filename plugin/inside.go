package plugin

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/skill"
)

// Found is a plugin of a project that is not on this machine, with the sum of its files.
type Found struct {
	Plugin
	Sum [sha256.Size]byte
}

// ProjectInside returns the plugins of a project inside a sandbox, as [Project] does. fsys are its files, which are
// below dir there; both may be hostile. Parts that run files of the plugin are left out with a warning: the agent could
// change these files after a yes. Links are not followed. The error is of kind Unavailable; a plugin that cannot be read
// otherwise is a warning.
func ProjectInside(fsys fs.FS, dir string) (all []Found, warnings []skill.Warning, err error) {
	left := bounds{files: maxFiles, bytes: maxSummed}
	for _, sub := range projectDirs {
		entries, err := fs.ReadDir(fsys, sub)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if fault.Is(err, fault.Unavailable) {
			return nil, nil, fmt.Errorf("read the project's plugins: %w", err)
		}
		if err != nil {
			warnings = append(warnings, skill.Warning{Path: path.Join(dir, sub), Err: err})
			continue
		}
		for _, e := range entries[:min(len(entries), mostOfProject)] {
			at := path.Join(sub, e.Name())
			if !e.IsDir() || !fs.ValidPath(e.Name()) || slices.ContainsFunc(all, func(o Found) bool { return o.Name == e.Name() }) {
				continue
			}
			one, err := fetched(fsys, at, path.Join(dir, at), &left)
			switch {
			case fault.Is(err, fault.Unavailable):
				return nil, nil, err
			case err != nil:
				warnings = append(warnings, skill.Warning{Path: path.Join(dir, at), Err: err})
			case !slices.ContainsFunc(all, func(o Found) bool { return o.Name == one.Name }):
				all = append(all, one)
			}
		}
	}
	return all, warnings, nil
}

// fetched reads a plugin from a copy of its files on this machine. Its paths are those below shown.
func fetched(fsys fs.FS, from, shown string, left *bounds) (Found, error) {
	temp, err := os.MkdirTemp("", "deft-plugin-*")
	if err != nil {
		return Found{}, fmt.Errorf("read a plugin of the project: %w", err)
	}
	defer os.RemoveAll(temp)
	to := filepath.Join(temp, path.Base(from))
	if err := fetch(fsys, from, to, left); err != nil {
		return Found{}, err
	}
	p, err := Load(to)
	if err != nil {
		return Found{}, err
	}
	sum, err := p.Sum()
	if err != nil {
		return Found{}, err
	}
	for _, all := range [][]skill.Skill{p.Skills, p.Commands} {
		for i := range all {
			all[i].Content = strings.ReplaceAll(all[i].Content, p.Path, shown)
			if r := all[i].Resources; r != nil {
				r.Root = strings.Replace(r.Root, p.Path, shown, 1)
			}
		}
	}
	p.move(shown, errUnsafe)
	return Found{p, sum}, nil
}

var errUnsafe = errors.New("it runs files of the plugin, which the agent can change in this sandbox")

// bounds are what may still be read of a project's plugins.
type bounds struct {
	files int
	bytes int64
}

// fetch copies the regular files of a directory.
func fetch(fsys fs.FS, from, to string, left *bounds) error {
	if err := os.Mkdir(to, 0o700); err != nil {
		return fmt.Errorf("read a plugin of the project: %w", err)
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return fmt.Errorf("read a plugin of the project: %w", err)
	}
	defer root.Close()
	return fs.WalkDir(fsys, from, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("read the plugin: %w", err)
		}
		if left.files--; left.files < 0 {
			return fault.New(fault.Limit, fmt.Sprintf("the project's plugins have more than %d files", maxFiles))
		}
		at, inside := strings.CutPrefix(name, from+"/")
		switch {
		case name == from:
			return nil
		case !inside || !fs.ValidPath(at) || !filepath.IsLocal(at):
			return fault.New(fault.Invalid, fmt.Sprintf("a file has the name %q", name))
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case e.IsDir():
			return root.MkdirAll(at, 0o700)
		case e.Type().IsRegular():
			return left.copy(fsys, name, root, at)
		}
		return nil
	})
}

// copy copies one file.
func (b *bounds) copy(fsys fs.FS, name string, root *os.Root, at string) (err error) {
	in, err := fsys.Open(name)
	if err != nil {
		return fmt.Errorf("read the plugin: %w", err)
	}
	defer in.Close()
	out, err := root.Create(at)
	if err != nil {
		return fmt.Errorf("read the plugin: %w", err)
	}
	n, err := io.Copy(out, io.LimitReader(in, b.bytes+1))
	if b.bytes -= n; err == nil && b.bytes < 0 {
		err = fault.New(fault.Limit, fmt.Sprintf("the project's plugins have more than %d bytes", maxSummed))
	}
	return errors.Join(err, out.Close())
}
