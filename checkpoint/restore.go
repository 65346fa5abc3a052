package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/realpath"
)

// Changes are a restore's changes to the files of a workspace.
type Changes struct {
	// Written are the files that are made or changed, Removed those that go.
	Written, Removed []string
}

// change is one file that a restore writes or removes.
type change struct{ mode, blob, path string } // as Git has them

// removed reports whether the file goes.
func (c change) removed() bool { return c.mode == "000000" }

// summary sorts changes out.
func summary(all []change) (sum Changes) {
	for _, c := range all {
		if c.removed() {
			sum.Removed = append(sum.Removed, c.path)
		} else {
			sum.Written = append(sum.Written, c.path)
		}
	}
	return sum
}

// Compare returns the changes that [Store.Restore] would make.
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
	all, err := w.compare(ctx, now.Tree, r)
	return summary(all), err
}

// Restore gives the files of p's workspace the state of a checkpoint of it, and
// keeps their state before as p's checkpoint, in place of an existing one. Files
// that a checkpoint does not keep stay unchanged. Nothing else should change the
// files meanwhile. If it fails half way it can be called again. The files of leave, by their
// paths in the workspace, stay as they are.
func (s *Store) Restore(ctx context.Context, p Point, r Record, leave ...string) (Changes, error) {
	w, err := s.openExisting(ctx, p.Workspace)
	if err != nil {
		return Changes{}, err
	}
	defer w.close()
	now, err := w.snapshot(ctx) // the index has to know the present files
	if err != nil {
		return Changes{}, err
	}
	now.Event, now.Checkout = p.Event, p.Checkout
	if err := w.keep(p.Conversation, now, writeFile); err != nil {
		return Changes{}, err
	}
	return w.restore(ctx, now.Tree, r, leave)
}

// compare returns the changes between a tree and a checkpoint's tree, in the order of the
// paths. The error is of kind Corrupt if the checkpoint lacks an object that has to be
// written.
func (w *workspace) compare(ctx context.Context, now string, r Record) (all []change, err error) {
	if now == r.Tree {
		return nil, nil
	}
	out, err := w.git(ctx, call{inGit: true}, "diff-tree", "-r", "-z", "--no-renames", "--raw", "--no-abbrev", now, r.Tree)
	if err != nil {
		return nil, fault.Wrap(err, fault.Corrupt, "read the files of the checkpoint")
	}
	fields := strings.Split(out, "\x00")
	var blobs strings.Builder
	for i := 0; i+1 < len(fields); i += 2 { // :MODE MODE OBJECT OBJECT STATUS, PATH
		about := strings.Fields(fields[i])
		if len(about) != 5 {
			return nil, fault.New(fault.Corrupt, "compare with the checkpoint: git printed "+strconv.Quote(fields[i]))
		}
		c := change{mode: about[1], blob: about[3], path: fields[i+1]}
		if !c.removed() {
			blobs.WriteString(c.blob + "\n")
		}
		all = append(all, c)
	}
	// A restore must not begin that cannot end.
	out, err = w.git(ctx, call{inGit: true, in: strings.NewReader(blobs.String())}, "cat-file", "--batch-check=%(objecttype)")
	if err != nil || strings.Count(out, "blob\n") != strings.Count(out, "\n") {
		return nil, fault.New(fault.Corrupt, "files of the checkpoint are missing").Because(err)
	}
	return all, nil
}

// restore reads and writes the files that differ, and no others: of many files that takes a
// fraction of the time that git read-tree takes.
func (w *workspace) restore(ctx context.Context, now string, r Record, leave []string) (done Changes, err error) {
	all, err := w.compare(ctx, now, r)
	differ := len(all)
	all = slices.DeleteFunc(all, func(c change) bool { return slices.Contains(leave, c.path) })
	done = summary(all)
	if err != nil || len(all) == 0 {
		return done, err
	}
	if err := os.RemoveAll(w.path(treeFile)); err != nil {
		return done, fmt.Errorf("restore the files: %w", err)
	}
	if err := w.removeFiles(done.Removed); err != nil {
		return done, fmt.Errorf("remove files that were not there: %w", err)
	}
	var entries strings.Builder
	for _, c := range all {
		entries.WriteString(c.mode + " " + c.blob + "\t" + c.path + "\x00")
	}
	// Written files get their times in the index only once they are there, so that the
	// next snapshot reads them if this process is killed.
	_, err = w.git(ctx, call{in: strings.NewReader(entries.String())}, "update-index", "-z", "--index-info")
	if err == nil && len(done.Written) > 0 {
		written := strings.Join(done.Written, "\x00") + "\x00"
		_, err = w.git(ctx, call{in: strings.NewReader(written)}, "checkout-index", "--force", "--index", "-z", "--stdin")
	}
	if err != nil {
		return done, fmt.Errorf("restore the files: %w", err)
	}
	if err := w.protect(done.Written, r); err != nil {
		return done, fmt.Errorf("restore the rights of files: %w", err)
	}
	if len(all) < differ { // the files differ from the checkpoint's tree
		return done, nil
	}
	return done, w.noteTree(r.Tree)
}

// removeFiles removes files and the directories that are empty then.
func (w *workspace) removeFiles(paths []string) error {
	for _, path := range paths {
		if err := removeFile(w.root, path); err != nil {
			return &fs.PathError{Op: "remove", Path: path, Err: err}
		}
	}
	return nil
}

// removeFile removes a file below a directory; a missing one is no error. It follows
// no links: files behind one that has just replaced a directory stay.
func removeFile(d *os.File, path string) error {
	name, rest, below := strings.Cut(path, "/")
	if !below {
		err := unix.Unlinkat(int(d.Fd()), name, 0)
		if replaced(err) {
			return nil
		}
		return err
	}
	sub, err := openAt(d, name)
	if replaced(err) {
		return nil
	}
	if err != nil {
		return err
	}
	err = removeFile(sub, rest)
	_ = sub.Close() // it was only read
	// Mostly it is not empty. Checkpoints do not know of empty directories.
	_ = unix.Unlinkat(int(d.Fd()), name, unix.AT_REMOVEDIR)
	return err
}

// replaced reports whether a file or directory is not there, or is not one any more.
func replaced(err error) bool {
	return slices.ContainsFunc([]error{unix.ENOENT, unix.ENOTDIR, unix.EISDIR, unix.ELOOP}, func(e error) bool { return errors.Is(err, e) })
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
// another workspace, and gives its files the state of r, a checkpoint of the
// first.
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
		_, err = dst.restore(ctx, now.Tree, r, nil)
	}
	if err != nil {
		return err
	}
	r.Event, r.Ref = to.Event, "" // the branch is the other workspace's
	records := []Record{r}
	for _, ev := range events {
		old, err := src.record(from.Conversation, ev)
		if fault.Is(err, fault.NotFound) || ev == to.Event {
			continue
		}
		if err != nil {
			return err
		}
		old.Ref = ""
		records = append(records, old)
	}
	return dst.takeOver(to.Conversation, records)
}

// takeOver makes checkpoints of another workspace, whose objects are here, valid.
func (w *workspace) takeOver(id event.ConversationID, records []Record) error {
	for _, r := range records {
		if err := w.refer(r.Tree, placeFile); err != nil {
			return fmt.Errorf("take over checkpoints: %w", err)
		}
	}
	if err := w.sync(); err != nil {
		return err
	}
	for _, r := range records {
		if err := w.keep(id, r, placeFile); err != nil {
			return err
		}
	}
	return w.sync()
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
			return nil // leftovers of a process that was killed
		}
		err = os.Link(from+"/"+path, to+"/"+path)
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	})
}
