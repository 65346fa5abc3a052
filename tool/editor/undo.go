package editor

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/deft-dev/deft/event"
)

// Bounds on undo_edit.
const (
	maxUndoPerFile = 10
	maxUndoTotal   = 1000
	maxUndoBytes   = 256 << 20
)

// undoLog stores earlier versions of files, one file each in a directory of
// its own: "<hash of the path>-<number>" holds a line of JSON, then the bytes.
type undoLog struct {
	dir string

	mu      sync.Mutex
	entries []undoEntry // oldest first
	bytes   int64
	next    uint64
}

type undoEntry struct {
	key    string // hash of the path
	number uint64
	size   int64
}

func (u undoEntry) name() string { return fmt.Sprintf("%s-%016d", u.key, u.number) }

// undoHead is the first line of a kept version.
type undoHead struct {
	Path    string `json:"path"`
	Existed bool   `json:"existed"`
	After   string `json:"after"` // SHA-256 of the edit's result
}

// openUndo reads the versions that an earlier process saved. The directory is
// created with the first one.
func openUndo(dir string) (*undoLog, error) {
	found, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read undo directory: %w", err)
	}
	u := &undoLog{dir: dir}
	for _, f := range found {
		key, digits, ok := strings.Cut(f.Name(), "-")
		number, err := strconv.ParseUint(digits, 10, 64)
		info, infoErr := f.Info()
		if !ok || err != nil || infoErr != nil || !info.Mode().IsRegular() {
			continue // not ours
		}
		u.entries = append(u.entries, undoEntry{key, number, info.Size()})
		u.bytes += info.Size()
		u.next = max(u.next, number+1)
	}
	slices.SortFunc(u.entries, func(a, b undoEntry) int { return cmp.Compare(a.number, b.number) })
	return u, nil
}

func undoKey(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:16])
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// push saves a version before it is replaced by after. drop removes it again if
// the edit failed.
func (u *undoLog) push(path string, before []byte, existed bool, after []byte) (drop func(), err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	head, err := json.Marshal(undoHead{path, existed, digest(after)})
	if err != nil {
		return nil, err
	}
	entry := undoEntry{key: undoKey(path), number: u.next, size: int64(len(head) + 1 + len(before))}
	if len(u.entries) == 0 {
		if err := os.MkdirAll(u.dir, 0o700); err != nil {
			return nil, fmt.Errorf("make undo directory: %w", err)
		}
	}
	tmp := filepath.Join(u.dir, "new")
	if err := os.WriteFile(tmp, slices.Concat(head, []byte("\n"), before), 0o600); err != nil {
		return nil, fmt.Errorf("keep the old version: %w", err)
	}
	if err := os.Rename(tmp, filepath.Join(u.dir, entry.name())); err != nil {
		return nil, fmt.Errorf("keep the old version: %w", err)
	}
	u.next++
	u.entries = append(u.entries, entry)
	u.bytes += entry.size
	u.prune(entry.key)
	return func() { u.remove(entry) }, nil
}

// prune drops the oldest versions: of one file beyond its ten, of all beyond
// the bounds. The newest stays.
func (u *undoLog) prune(key string) {
	mine := 0
	for i, v := range slices.Backward(u.entries) {
		if v.key == key {
			if mine++; mine > maxUndoPerFile {
				u.drop(i)
			}
		}
	}
	for len(u.entries) > 1 && (len(u.entries) > maxUndoTotal || u.bytes > maxUndoBytes) {
		u.drop(0)
	}
}

func (u *undoLog) drop(i int) {
	_ = os.Remove(filepath.Join(u.dir, u.entries[i].name())) // found again, and dropped again, by the next process
	u.bytes -= u.entries[i].size
	u.entries = slices.Delete(u.entries, i, i+1)
}

func (u *undoLog) remove(entry undoEntry) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if i := slices.Index(u.entries, entry); i >= 0 {
		u.drop(i)
	}
}

// last returns the newest kept version of path; ok is false when there is none.
func (u *undoLog) last(path string) (entry undoEntry, head undoHead, before []byte, ok bool, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	key := undoKey(path)
	for _, candidate := range slices.Backward(u.entries) {
		if candidate.key != key {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(u.dir, candidate.name()))
		if err != nil {
			return entry, head, nil, false, fmt.Errorf("read the old version: %w", err)
		}
		line, before, found := bytes.Cut(raw, []byte("\n"))
		if err := json.Unmarshal(line, &head); err != nil || !found || head.Path != path {
			return entry, head, nil, false, fmt.Errorf("the kept version %s is damaged", candidate.name())
		}
		return candidate, head, before, true, nil
	}
	return entry, head, nil, false, nil
}

// undoEdit puts the version before the last edit back.
func (e *Editor) undoEdit(path string, obs *event.FileEditorObservation) error {
	f, err := e.readFile(path, 2*e.cfg.MaxFileSize)
	if errors.Is(err, fs.ErrNotExist) {
		return refuse("%s does not exist, so there is no edit of it to undo", path)
	}
	if err != nil {
		return e.explain(path, err)
	}
	entry, head, before, err := e.lastEdit(path, f)
	if err != nil {
		return err
	}
	if !head.Existed {
		if err := os.Remove(f.real); err != nil {
			return e.explain(path, err)
		}
		e.undo.remove(entry)
		obs.Content = event.Texts(path + " was removed: the last edit had created it.")
		return nil
	}
	if err := replaceFile(f, before); err != nil {
		return e.explain(path, err)
	}
	e.undo.remove(entry)
	e.seen.note(f.real, before)
	e.reportUndo(path, f, before, obs)
	return nil
}

// lastEdit finds the kept version that the file's content came after.
func (e *Editor) lastEdit(path string, f *file) (undoEntry, undoHead, []byte, error) {
	sum := digest(f.raw)
	for {
		entry, head, before, ok, err := e.undo.last(f.real)
		switch {
		case err != nil:
			return entry, head, nil, err
		case !ok:
			return entry, head, nil, refuse("there is no edit of %s to undo; only changes by this tool can be undone, the last %d of each file", path, maxUndoPerFile)
		case sum == head.After:
			return entry, head, before, nil
		case !head.Existed || !bytes.Equal(before, f.raw):
			return entry, head, nil, refuse("%s was changed by another program after the edit, and undoing it would lose that change; edit the file instead", path)
		}
		e.undo.remove(entry) // the process died before this edit was made, or another one has undone it
	}
}

// reportUndo shows the file as it is again.
func (e *Editor) reportUndo(path string, f *file, before []byte, obs *event.FileEditorObservation) {
	now, _ := decodeDocument(before) // the tool edits only text
	was, _ := decodeDocument(f.raw)
	e.contents(obs, &was.text, &now.text)
	all := split(newLines(now.text).text)
	obs.Content = event.Texts(fmt.Sprintf("The last edit of %s was undone. It is now:\n%s", path, e.number(all, 1, len(all))))
}
