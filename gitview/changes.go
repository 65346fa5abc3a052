package gitview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/deft-dev/deft/internal/realpath"
)

// Status is how a file changed. In a list of [Change] a rename is a deletion and an
// addition, as in the reference.
type Status string

// The statuses.
const (
	Added   Status = "ADDED"
	Deleted Status = "DELETED"
	Updated Status = "UPDATED"
)

// Change is one changed file. Path is relative to the given directory.
type Change struct {
	Status Status `json:"status"`
	Path   string `json:"path"`
}

// Changes lists the files that differ from a revision, untracked ones included, in a
// directory and the repositories directly below it. An empty ref means the default
// base. The error is [ErrNoRepository] if there is no repository.
func (s Scope) Changes(ctx context.Context, path, ref string) ([]Change, error) {
	all, err := s.below(ctx, path, func(ctx context.Context, v *View) ([]Comparison, error) {
		changes, err := v.Changes(ctx, ref)
		return plain(changes), err
	})
	if err != nil {
		return nil, err
	}
	changes := make([]Change, len(all))
	for i, c := range all {
		changes[i] = c.Change
	}
	return changes, nil
}

// lister lists the changed files of one repository.
type lister func(context.Context, *View) ([]Comparison, error)

// below lists the changes in a directory and the repositories directly below it.
func (s Scope) below(ctx context.Context, path string, list lister) ([]Comparison, error) {
	if strings.ContainsRune(path, 0) {
		return nil, ErrNoRepository
	}
	dir := realpath.Resolve(path)
	nested := s.nestedIn(dir)
	all, err := s.listIn(ctx, dir, list)
	if err != nil && !(errors.Is(err, ErrNoRepository) && len(nested) > 0) {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(c Comparison) bool {
		first, _, _ := strings.Cut(c.Path, "/")
		return slices.Contains(nested, first)
	})
	found := make([][]Comparison, len(nested))
	works := make([]bool, len(nested))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(4)
	for i, name := range nested {
		g.Go(func() error {
			changes, err := s.listIn(ctx, filepath.Join(dir, name), list)
			var refused *CommandError
			if errors.As(err, &refused) || errors.Is(err, ErrNoRepository) {
				return nil // one broken repository does not hide the others
			}
			found[i], works[i] = changes, err == nil
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for i, changes := range found {
		for _, c := range changes {
			c.Path = nested[i] + "/" + c.Path
			if c.From != "" {
				c.From = nested[i] + "/" + c.From
			}
			all = append(all, c)
		}
	}
	if err != nil && !slices.Contains(works, true) {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b Comparison) int { return cmp.Compare(a.Path, b.Path) })
	return all, nil
}

// maxNested bounds the directories that are searched.
const maxNested = 10_000

// nestedIn names the directories below dir that are repositories.
func (s Scope) nestedIn(dir string) []string {
	if !s.shows(dir) {
		return nil
	}
	d, err := s.open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	entries, err := d.ReadDir(maxNested)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	var out []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && e.IsDir() {
			if _, _, ok := s.gitDir(filepath.Join(dir, e.Name())); ok {
				out = append(out, e.Name())
			}
		}
	}
	slices.Sort(out)
	return out
}

func (s Scope) listIn(ctx context.Context, dir string, list lister) (out []Comparison, err error) {
	v, err := s.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	return list(ctx, v)
}

// Changes lists the files that differ from a revision in the directory of the view.
func (v *View) Changes(ctx context.Context, ref string) ([]Change, error) {
	base, err := v.base(ctx, ref)
	if err != nil {
		return nil, err
	}
	return v.changes(ctx, base)
}

func (v *View) changes(ctx context.Context, base string) ([]Change, error) {
	var tracked string
	var untracked []string
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		tracked, err = v.git(ctx, call{}, diffArgs("--name-status", "-z", "--relative", base, "--")...)
		return err
	})
	g.Go(func() (err error) {
		untracked, err = v.untracked(ctx)
		return err
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	changes, err := parseStatus(tracked)
	if err != nil {
		return nil, err
	}
	for _, path := range untracked {
		changes = append(changes, Change{Status: Added, Path: replaced(strings.TrimSuffix(path, "/"))})
	}
	return changes, nil
}

// untracked lists files that are neither tracked nor ignored. Repositories inside this
// one end with a slash.
func (v *View) untracked(ctx context.Context) ([]string, error) {
	out, err := v.git(ctx, call{}, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil || out == "" {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(out, "\x00"), "\x00"), nil
}

// parseStatus reads the output of --name-status -z.
func parseStatus(out string) ([]Change, error) {
	changes := []Change{}
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	if out == "" {
		return changes, nil
	}
	if len(fields)%2 != 0 {
		return nil, fmt.Errorf("read the output of git diff: %d fields", len(fields))
	}
	for i := 0; i < len(fields); i += 2 {
		c := Change{Status: Updated, Path: strings.ToValidUTF8(fields[i+1], "\uFFFD")}
		switch fields[i] {
		case "A":
			c.Status = Added
		case "D":
			c.Status = Deleted
		}
		// A conflict is listed twice.
		if n := len(changes); n == 0 || changes[n-1] != c {
			changes = append(changes, c)
		}
	}
	return changes, nil
}
