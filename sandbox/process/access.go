package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process/internal/inside"
)

// Access starts a sandbox with an empty workspace, without network and with the grants
// of grants (its Readable and Writable), and tries in it to read and to change each
// path. Nothing of its writes is left. The answers are in the order of paths; it
// returns an error if the sandbox could not be started or did not answer.
func (p *Provider) Access(ctx context.Context, grants sandbox.Spec, paths []string) (all []sandbox.Access, err error) {
	workspace, err := os.MkdirTemp("", "deft-access-")
	if err != nil {
		return nil, fmt.Errorf("make directory to probe in: %w", err)
	}
	workspace = resolve(workspace)
	defer func() { err = errors.Join(err, os.RemoveAll(workspace)) }()
	t := targets{Workspace: workspace, Paths: paths}
	id := filepath.Base(workspace)
	s, err := p.startProbe(ctx, id, t, grants.Readable, grants.Writable)
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, p.Remove(context.WithoutCancel(ctx), id), p.removeCaches(workspace))
	}()
	err = readProbe(ctx, s, func(a access) {
		same := a.Inode != 0 && a.Inode == inodeOf(a.Path)
		granted := slices.ContainsFunc(grants.Writable, func(dir string) bool { return within(a.Path, dir) })
		layered := a.Writable && !granted && p.inCache(a.Path) && slices.Contains(s.Report().Features, inside.FeatureCaches)
		all = append(all, sandbox.Access{
			Path: a.Path, Readable: a.Readable && (same || layered), Writable: a.Writable && same && !layered, Layered: layered,
		})
	})
	if err == nil && len(all) != len(paths) {
		err = fmt.Errorf("the probe looked at %d of %d paths", len(all), len(paths))
	}
	return all, err
}

// access is the probe's result for a path.
type access struct {
	sandbox.Access
	Inode uint64
}

// tryPaths is the probe's work for Access.
func tryPaths(paths []string, w io.Writer) error {
	enc := json.NewEncoder(w)
	for _, path := range paths {
		if err := enc.Encode(access{sandbox.Access{Path: path, Readable: canRead(path), Writable: canWrite(path)}, inodeOf(path)}); err != nil {
			return err
		}
	}
	return nil
}

// inodeOf returns a file's number in its file system, 0 if there is none.
func inodeOf(path string) uint64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return st.Ino
}

// canRead opens a path: Landlock refuses that, but lets everything be looked at.
func canRead(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		return err == nil
	}
	_, err = f.Readdirnames(1)
	return err == nil || errors.Is(err, io.EOF)
}

// canWrite makes a file in a directory and removes it, or opens a file for writing.
func canWrite(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if !info.IsDir() {
		f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return false
		}
		return f.Close() == nil
	}
	f, err := os.CreateTemp(path, ".deft-access-")
	if err != nil {
		return false
	}
	return errors.Join(f.Close(), os.Remove(f.Name())) == nil
}
