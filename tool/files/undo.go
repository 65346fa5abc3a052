package files

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

// Undone is an edit that was taken back.
type Undone struct {
	Was, Now Document
	Removed  bool // the edit had created the file
}

// Undo puts the version of a file before its last edit back.
func (x *Files) Undo(path string) (u Undone, err error) {
	f, err := x.Read(path, 2*x.cfg.MaxFileSize)
	if errors.Is(err, fs.ErrNotExist) {
		return u, Refuse("%s does not exist, so there is no edit of it to undo", path)
	}
	if err != nil {
		return u, x.Explain(path, err)
	}
	if err := x.allowed(f.Real); err != nil {
		return u, err
	}
	entry, head, before, err := x.lastEdit(path, f)
	if err != nil {
		return u, err
	}
	u.Was, _ = Decode(f.Raw) // only text is edited
	u.Now, _ = Decode(before)
	if u.Removed = !head.Existed; u.Removed {
		if err := os.Remove(f.Real); err != nil {
			return u, x.Explain(path, err)
		}
		x.undo.remove(entry)
		return u, nil
	}
	if err := replaceFile(f, before); err != nil {
		return u, x.Explain(path, err)
	}
	x.undo.remove(entry)
	x.seen.note(f.Real, before)
	return u, nil
}

// lastEdit finds the kept version that the file's content came after.
func (x *Files) lastEdit(path string, f *File) (undoEntry, undoHead, []byte, error) {
	sum := digest(f.Raw)
	for {
		entry, head, before, ok, err := x.undo.last(f.Real)
		switch {
		case err != nil:
			return entry, head, nil, err
		case !ok:
			return entry, head, nil, Refuse("there is no edit of %s to undo; only changes by this tool can be undone, the last %d of each file", path, maxUndoPerFile)
		case sum == head.After:
			return entry, head, before, nil
		case !head.Existed || !bytes.Equal(before, f.Raw):
			return entry, head, nil, Refuse("%s was changed by another program after the edit, and undoing it would lose that change; edit the file instead", path)
		}
		x.undo.remove(entry) // the process died before this edit was made, or another one has undone it
	}
}
