package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
)

// The tree of the index is kept beside it: where no file has changed, git is not
// needed at all.
const treeFile = "tree"

// snapshot stores the files as they are. It tries again where files change
// meanwhile, and at last with a new index: the old one may be damaged.
func (w *workspace) snapshot(ctx context.Context) (r Record, err error) {
	for try := range 3 {
		if try == 2 {
			if err := w.forgetIndex(); err != nil {
				return r, err
			}
		}
		if r, err = w.trySnapshot(ctx); err == nil || ctx.Err() != nil || fault.Is(err, fault.Limit) || fault.Is(err, fault.Full) {
			return r, err
		}
	}
	return r, err
}

// forgetIndex removes the index, so that the next snapshot reads all files.
func (w *workspace) forgetIndex() error {
	return errors.Join(os.RemoveAll(w.path(treeFile)), os.RemoveAll(w.path("index")))
}

func (w *workspace) trySnapshot(ctx context.Context) (Record, error) {
	x, err := readIndex(w.path("index"))
	if err != nil {
		if err := w.forgetIndex(); err != nil {
			return Record{}, err
		}
		x = index{}
	}
	k, err := w.compareWith(ctx, x)
	if err != nil {
		return Record{}, err
	}
	tree, err := w.storeChanges(ctx, k, len(x.entries) == 0)
	if err != nil {
		return Record{}, fmt.Errorf("store the files of a checkpoint: %w", err)
	}
	return Record{
		Tree: tree, Time: time.Now().UTC(), Files: k.files, NewBytes: k.bytes, LeftOut: k.listed, Private: k.private, AllPrivate: k.allPrivate,
	}, nil
}

// storeChanges brings the index up to date and returns its tree. empty says that nothing
// is in the index yet.
func (w *workspace) storeChanges(ctx context.Context, k *found, empty bool) (tree string, err error) {
	if len(k.changed)+len(k.removed) == 0 {
		if data, err := os.ReadFile(w.path(treeFile)); err == nil {
			return string(data), nil
		}
	}
	// Later writes do not belong to the tree that is noted.
	if err := os.RemoveAll(w.path(treeFile)); err != nil {
		return "", err
	}
	var update, drop strings.Builder
	for _, p := range k.removed {
		if k.stillThere(p) {
			drop.WriteString("0 " + emptyID + "\t" + p + "\x00")
		} else {
			update.WriteString(p + "\x00")
		}
	}
	if drop.Len() > 0 {
		if _, err := w.git(ctx, call{in: strings.NewReader(drop.String())}, "update-index", "-z", "--index-info"); err != nil {
			return "", err
		}
	}
	// The index is written after each part: files that were read stay read if the time
	// is over.
	set := []string(nil)
	if len(k.changed) > packedFrom {
		set = inPacks
	}
	for part := range slices.Chunk(k.changed, atOnce) {
		for _, p := range part {
			update.WriteString(p + "\x00")
		}
		if err := w.updateIndex(ctx, update.String(), set); err != nil {
			return "", err
		}
		update.Reset()
	}
	if update.Len() > 0 || empty && len(k.changed) == 0 {
		if err := w.updateIndex(ctx, update.String(), nil); err != nil {
			return "", err
		}
	}
	out, err := w.git(ctx, call{}, "write-tree")
	if err != nil {
		return "", err
	}
	tree = strings.TrimSpace(out)
	if err := w.sync(); err != nil {
		return "", err
	}
	if err := w.refer(tree, writeFile); err != nil {
		return "", err
	}
	return tree, w.noteTree(tree)
}

// updateIndex has git read files, whose paths end with zero bytes.
func (w *workspace) updateIndex(ctx context.Context, paths string, set []string) error {
	_, err := w.git(ctx, call{in: strings.NewReader(paths), set: set}, "update-index", "--add", "--remove", "--replace", "-z", "--stdin")
	return err
}

// sync waits until Git's files are on the disk: for many small files that takes a tenth
// of the time that Git takes to sync each.
func (w *workspace) sync() error {
	store, err := openDir(w.store)
	if err != nil {
		return err
	}
	defer store.Close()
	if err := unix.Syncfs(int(store.Fd())); err != nil {
		return fmt.Errorf("write a checkpoint to the disk: %w", err)
	}
	return nil
}

const (
	// packedFrom is how many new files make a pack worth while.
	packedFrom = 1000
	// atOnce is how many files git reads before it writes the index.
	atOnce = 5000
)

const emptyID = "0000000000000000000000000000000000000000"

// noteTree notes which tree the index has.
func (w *workspace) noteTree(tree string) error { return writeFile(w.path(treeFile), []byte(tree)) }
