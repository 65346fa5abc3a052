package gitview

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
)

// Comparison is a changed file with the extent of its change, for people. Unlike a list
// of [Change], a rename is one entry with the status [Moved].
type Comparison struct {
	Change
	// From is the path before a rename.
	From string `json:"from,omitempty"`
	// Added and Deleted count lines. Both are nil where lines are not counted: in
	// repositories inside this one, and where git refuses.
	Added   *int `json:"added"`
	Deleted *int `json:"deleted"`
	// Binary says that a side is no text, or larger than 8 MiB.
	Binary bool `json:"binary"`
	// ModeBefore and ModeAfter are git's modes as 100755; empty if they are equal, or if
	// a side is missing.
	ModeBefore string `json:"mode_before,omitempty"`
	ModeAfter  string `json:"mode_after,omitempty"`
}

// Moved is the status of a renamed file in a [Comparison].
const Moved Status = "MOVED"

// maxIndex bounds the copy of an index, in bytes.
const maxIndex = 256 << 20

// Compare lists the same files as [Scope.Changes], with the extent of each change.
func (s Scope) Compare(ctx context.Context, path, ref string) ([]Comparison, error) {
	return s.below(ctx, path, func(ctx context.Context, v *View) ([]Comparison, error) { return v.Compare(ctx, ref) })
}

// Compare lists the files that differ from a revision in the directory of the view.
// Untracked files are part of a temporary index, so that renames to them are found.
func (v *View) Compare(ctx context.Context, ref string) ([]Comparison, error) {
	base, err := v.base(ctx, ref)
	if err != nil {
		return nil, err
	}
	found, err := v.compare(ctx, base)
	if err != nil && gitRefuses(err) {
		// Reading all changed files may cost more than listing them.
		changes, err := v.changes(ctx, base)
		return plain(changes), err
	}
	return found, err
}

func (v *View) compare(ctx context.Context, base string) (found []Comparison, err error) {
	scratch, err := os.MkdirTemp(v.dir, "scratch-")
	if err != nil {
		return nil, fmt.Errorf("compare files: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	found = []Comparison{}
	index := filepath.Join(scratch, "index")
	var untracked []string
	g, each := errgroup.WithContext(ctx)
	g.Go(func() error { return v.copyIndex(index) })
	g.Go(func() (err error) {
		untracked, err = v.untracked(each)
		return err
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var entries strings.Builder
	for _, path := range untracked {
		if inner, ok := strings.CutSuffix(path, "/"); ok { // a repository inside this one
			found = append(found, Comparison{Change: Change{Added, replaced(inner)}})
			continue
		}
		fmt.Fprintf(&entries, "100644 %s\t%s\x00", v.emptyBlob(), v.fromTop(path))
	}
	c := call{env: []string{"GIT_INDEX_FILE=" + index}}
	if entries.Len() > 0 {
		add := c
		add.in = entries.String()
		if _, err := v.git(ctx, add, "update-index", "-z", "--index-info"); err != nil {
			return nil, err
		}
	}
	args := diffArgs("--find-renames", "-l500", "--raw", "--numstat", "--abbrev=40", "-z", "--relative", base, "--")
	out, err := v.git(ctx, c, append([]string{"-c", "core.bigFileThreshold=8m"}, args...)...)
	if err != nil {
		return nil, err
	}
	listed, err := parseComparison(out)
	return append(found, listed...), err
}

// copyIndex copies the index of the repository, if it has one. The copy keeps the time of
// the original, by which git knows the files that changed while it was written.
func (v *View) copyIndex(to string) (err error) {
	from, err := v.scope.open(filepath.Join(v.real, "index"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("copy the index: %w", err)
	}
	defer from.Close()
	st, err := from.Stat()
	if err != nil {
		return fmt.Errorf("copy the index: %w", err)
	}
	if !st.Mode().IsRegular() || st.Size() > maxIndex {
		return fmt.Errorf("copy the index: %w", ErrMemory)
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("copy the index: %w", err)
	}
	_, err = io.Copy(out, io.LimitReader(from, maxIndex))
	if err = errors.Join(err, out.Close(), os.Chtimes(to, st.ModTime(), st.ModTime())); err != nil {
		return fmt.Errorf("copy the index: %w", err)
	}
	return nil
}

// emptyBlob is the name of an empty file. Its entry in an index is never equal to a file,
// so git reads the file.
func (v *View) emptyBlob() string {
	if v.sha256 {
		return "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
	}
	return "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
}

// fromTop returns a path below the view's directory as one from the working tree's top.
func (v *View) fromTop(path string) string {
	if at, err := filepath.Rel(v.Top, v.Dir); err == nil && at != "." {
		return filepath.ToSlash(at) + "/" + path
	}
	return path
}

// parseComparison reads the output of --raw --numstat -z: first the entries
// ":MODE MODE NAME NAME STATUS", then the counts.
func parseComparison(out string) ([]Comparison, error) {
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	next := func() (field string) {
		if len(fields) > 0 {
			field, fields = fields[0], fields[1:]
		}
		return field
	}
	var found []Comparison
	at := map[string]int{} // by git's own bytes
	for len(fields) > 0 && fields[0] != "" {
		field := next()
		raw, isRaw := strings.CutPrefix(field, ":")
		if !isRaw {
			counts := strings.SplitN(field, "\t", 3)
			if len(counts) != 3 {
				return nil, fmt.Errorf("read the output of git diff: %q", field)
			}
			path := counts[2]
			if path == "" { // a rename: its two paths follow
				next()
				path = next()
			}
			if i, ok := at[path]; ok {
				found[i].count(counts[0], counts[1])
			}
			continue
		}
		words := strings.Fields(raw)
		if len(words) != 5 {
			return nil, fmt.Errorf("read the output of git diff: %q", field)
		}
		path := next()
		c := Comparison{Change: Change{Updated, replaced(path)}}
		switch words[4][0] {
		case 'A':
			c.Status = Added
		case 'D':
			c.Status = Deleted
		case 'R':
			c.Status, c.From = Moved, replaced(path)
			path = next()
			c.Path = replaced(path)
		}
		if before, after := words[0], words[1]; before != after && c.Status != Added && c.Status != Deleted && after != "000000" {
			c.ModeBefore, c.ModeAfter = before, after
		}
		if i, again := at[path]; again { // a conflict is listed twice
			found[i] = c
			continue
		}
		at[path] = len(found)
		found = append(found, c)
	}
	return found, nil
}

// count takes the numbers of --numstat, which are "-" for files that are no text.
func (c *Comparison) count(added, deleted string) {
	a, errAdded := strconv.Atoi(added)
	d, errDeleted := strconv.Atoi(deleted)
	if c.Binary = errAdded != nil || errDeleted != nil; !c.Binary {
		c.Added, c.Deleted = &a, &d
	}
}

func plain(changes []Change) []Comparison {
	all := make([]Comparison, len(changes))
	for i, c := range changes {
		all[i].Change = c
	}
	return all
}
