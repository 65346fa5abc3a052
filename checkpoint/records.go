package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/filelock"
	"github.com/deft-dev/deft/internal/lazyregexp"
)

// refs is where the repository has a reference for each tree that is kept, so that
// Git keeps its objects.
const refs = "refs/checkpoints"

// records has a directory for each conversation, with a file for each checkpoint.
const records = "records"

var safeName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)

// recordPath is the file of a checkpoint.
func (w *workspace) recordPath(id event.ConversationID, ev event.ID) (string, error) {
	if !safeName().MatchString(string(ev)) {
		return "", errNoCheckpoint // ids of ours are; imported ones need not be
	}
	return w.path(records, id.Hex(), string(ev)+".json"), nil
}

func (w *workspace) record(id event.ConversationID, ev event.ID) (Record, error) {
	var r Record
	path, err := w.recordPath(id, ev)
	if err != nil {
		return r, err
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return r, errNoCheckpoint
	}
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		return r, fault.Wrap(err, fault.Corrupt, "read the checkpoint of event "+string(ev))
	}
	return r, nil
}

// keep makes a checkpoint valid.
func (w *workspace) keep(id event.ConversationID, r Record, write writer) error {
	path, err := w.recordPath(id, r.Event)
	if err != nil {
		return err
	}
	data, err := json.Marshal(r)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = write(path, data)
	}
	if err != nil {
		return fmt.Errorf("write the record of a checkpoint: %w", err)
	}
	return nil
}

func (w *workspace) all(id event.ConversationID) (map[event.ID]Record, error) {
	files, err := os.ReadDir(w.path(records, id.Hex()))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	found := map[event.ID]Record{}
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), ".json")
		if !ok {
			continue // it was being written
		}
		r, err := w.record(id, event.ID(name))
		if err != nil {
			return nil, err
		}
		found[event.ID(name)] = r
	}
	return found, nil
}

// refer makes Git keep a tree.
func (w *workspace) refer(tree string, write writer) error {
	path := w.path("git", refs, tree)
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	return write(path, []byte(tree+"\n"))
}

// Remove removes the checkpoints of a conversation, and all objects that no other
// one needs.
func (s *Store) Remove(ctx context.Context, id event.ConversationID) error {
	dirs, err := filepath.Glob(filepath.Join(s.o.Dir, "*", records, id.Hex()))
	if err != nil {
		return fmt.Errorf("find the checkpoints of a conversation: %w", err)
	}
	for _, dir := range dirs {
		if err := s.remove(ctx, filepath.Dir(filepath.Dir(dir)), id); err != nil {
			return fmt.Errorf("remove the checkpoints of a conversation: %w", err)
		}
	}
	return nil
}

func (s *Store) remove(ctx context.Context, store string, id event.ConversationID) error {
	w := &workspace{dir: store, store: store}
	var err error
	if w.unlock, err = filelock.Lock(ctx, w.path("lock")); err != nil {
		return err
	}
	defer w.close()
	if err := os.RemoveAll(w.path(records, id.Hex())); err != nil {
		return err
	}
	left, err := os.ReadDir(w.path(records))
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return w.prune(ctx)
	}
	for _, name := range []string{treeFile, "index", records, "git", gaveUp, slowSteps} { // the lock stays: another process may wait for it
		if err := os.RemoveAll(w.path(name)); err != nil {
			return err
		}
	}
	return nil
}

// prune removes the objects that no record needs.
func (w *workspace) prune(ctx context.Context) error {
	needed := map[string]bool{}
	paths, err := filepath.Glob(w.path(records, "*", "*.json"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		var r Record
		data, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(data, &r)
		}
		if err != nil {
			return err
		}
		needed[r.Tree] = true
	}
	if data, err := os.ReadFile(w.path(treeFile)); err == nil && !needed[string(data)] {
		// The index refers to objects that are about to go.
		if err := w.forgetIndex(); err != nil {
			return err
		}
	}
	all, err := os.ReadDir(w.path("git", refs))
	if err != nil {
		return err
	}
	for _, e := range all {
		if !needed[e.Name()] {
			if err := os.Remove(w.path("git", refs, e.Name())); err != nil {
				return err
			}
		}
	}
	// Packed objects are removed at once.
	_, err = w.git(ctx, call{inGit: true, set: []string{"core.fsync", "all"}}, "repack", "-a", "-d", "-q", "-l")
	if err == nil {
		_, err = w.git(ctx, call{inGit: true}, "prune", "--expire=now")
	}
	return err
}
