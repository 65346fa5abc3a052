package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/realpath"
)

// Changes are what a restore does to the files of a workspace.
type Changes struct {
	// Written are the files that are made or changed, Removed those that go.
	Written, Removed []string
}

// Compare returns what [Store.Restore] would do.
func (s *Store) Compare(ctx context.Context, path string, r Record) (Changes, error) {
	w, err := s.openExisting(ctx, path)
	if err != nil {
		return Changes{}, err
	}
	defer w.close()
	now, err := w.snapshot(ctx)
	if err != nil {
		return Changes{}, err
	}
	return w.compare(ctx, now.Tree, r)
}

// Restore makes the files of p's workspace what they were at a checkpoint of it, and
// what they are before that p's checkpoint, in place of one that is there. What a
// checkpoint keeps nothing of stays as it is. Nothing else should change the files
// meanwhile. If it fails half way it can be called again.
func (s *Store) Restore(ctx context.Context, p Point, r Record) (Changes, error) {
	w, err := s.openExisting(ctx, p.Workspace)
	if err != nil {
		return Changes{}, err
	}
	defer w.close()
	now, err := w.snapshot(ctx) // the index has to know what is there
	if err != nil {
		return Changes{}, err
	}
	now.Event, now.Checkout = p.Event, p.Checkout
	if err := w.keep(p.Conversation, now); err != nil {
		return Changes{}, err
	}
	return w.restore(ctx, now.Tree, r)
}

// compare returns how a checkpoint differs from a tree.
func (w *workspace) compare(ctx context.Context, now string, r Record) (diff Changes, err error) {
	if now == r.Tree {
		return diff, nil
	}
	if _, err := w.git(ctx, call{inGit: true}, "rev-list", "--quiet", "--objects", r.Tree); err != nil {
		return diff, fault.Wrap(err, fault.Corrupt, "read the files of the checkpoint")
	}
	out, err := w.git(ctx, call{inGit: true}, "diff-tree", "-r", "-z", "--no-renames", "--name-status", now, r.Tree)
	if err != nil {
		return diff, fmt.Errorf("compare with the checkpoint: %w", err)
	}
	fields := strings.Split(out, "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] == "D" {
			diff.Removed = append(diff.Removed, fields[i+1])
		} else {
			diff.Written = append(diff.Written, fields[i+1])
		}
	}
	return diff, nil
}

func (w *workspace) restore(ctx context.Context, now string, r Record) (done Changes, err error) {
	done, err = w.compare(ctx, now, r)
	if err != nil || len(done.Written)+len(done.Removed) == 0 {
		return done, err
	}
	if err := os.RemoveAll(w.path(treeFile)); err != nil {
		return done, fmt.Errorf("restore the files: %w", err)
	}
	if _, err := w.git(ctx, call{}, "read-tree", "--reset", "-u", r.Tree); err != nil {
		return done, fmt.Errorf("restore the files: %w", err)
	}
	if err := w.protect(done.Written, r); err != nil {
		return done, fmt.Errorf("restore the rights of files: %w", err)
	}
	return done, w.noteTree(r.Tree)
}

// protect takes the rights of others from files that had none.
func (w *workspace) protect(written []string, r Record) error {
	if !r.AllPrivate && len(r.Private) == 0 {
		return nil
	}
	root, err := os.OpenRoot(w.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	private := make(map[string]bool, len(r.Private))
	for _, p := range r.Private {
		private[p] = true
	}
	for _, p := range written {
		if !r.AllPrivate && !private[p] {
			continue
		}
		info, err := root.Lstat(p)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		if err == nil {
			err = root.Chmod(p, info.Mode().Perm()&0o700)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Fork gives the checkpoints of some events of a conversation to another one, in
// another workspace, and makes its files those of r, a checkpoint of the first.
func (s *Store) Fork(ctx context.Context, from, to Point, events []event.ID, r Record) (err error) {
	if realpath.Resolve(from.Workspace) == realpath.Resolve(to.Workspace) {
		return fault.New(fault.Invalid, "a fork needs a workspace of its own")
	}
	src, dst, err := s.openBoth(ctx, from.Workspace, to.Workspace)
	if err != nil {
		return err
	}
	defer src.close()
	defer dst.close()
	err = linkObjects(src.path("git", "objects"), dst.path("git", "objects"))
	if err == nil {
		err = dst.sync()
	}
	if err != nil {
		return fmt.Errorf("take over checkpoints: %w", err)
	}
	now, err := dst.snapshot(ctx)
	if err == nil {
		_, err = dst.restore(ctx, now.Tree, r)
	}
	if err != nil {
		return err
	}
	if err = dst.refer(r.Tree); err == nil {
		r.Event, r.Ref = to.Event, "" // the branch is the other workspace's
		err = dst.keep(to.Conversation, r)
	}
	for _, ev := range events {
		old, rerr := src.record(from.Conversation, ev)
		if fault.Is(rerr, fault.NotFound) || ev == to.Event {
			continue
		}
		if err = errors.Join(err, rerr); err == nil {
			old.Ref = ""
			err = dst.refer(old.Tree)
		}
		if err == nil {
			err = dst.keep(to.Conversation, old)
		}
	}
	return err
}

// openBoth opens two workspaces. They are locked in one order by all callers.
func (s *Store) openBoth(ctx context.Context, from, to string) (src, dst *workspace, err error) {
	if src, err = s.openExisting(ctx, from); err != nil {
		return nil, nil, err
	}
	if s.storeDir(realpath.Resolve(from)) < s.storeDir(realpath.Resolve(to)) {
		if dst, err = s.open(ctx, to); err != nil {
			src.close()
		}
		return src, dst, err
	}
	src.close()
	if dst, err = s.open(ctx, to); err != nil {
		return nil, nil, err
	}
	if src, err = s.openExisting(ctx, from); err != nil {
		dst.close()
	}
	return src, dst, err
}

// linkObjects gives a repository the objects of another one. Objects never change.
func linkObjects(from, to string) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(to+"/"+path, 0o700)
		case strings.Contains(path, "tmp_"):
			return nil // what a process that was killed left behind
		}
		err = os.Link(from+"/"+path, to+"/"+path)
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	})
}
