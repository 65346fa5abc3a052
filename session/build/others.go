package build

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/deft-dev/deft/internal/realpath"
	"github.com/deft-dev/deft/internal/workspacedir"
)

// Directories lists where stored conversations work, as eventstream.Stream does.
type Directories interface {
	WorkingDirs(ctx context.Context, n int) ([]string, error)
}

// Bounds of other conversations' hidden paths.
const (
	listed      = 1000            // the newest conversations are looked at
	mostOthers  = 200             // directories are hidden in a sandbox
	listedAgain = 5 * time.Second // is how old the list may be
)

// otherWorkspaces are the workspaces of all conversations, for sandboxes that hide
// others' workspaces.
type otherWorkspaces struct {
	store Directories // nil for none

	mu   sync.Mutex
	at   time.Time
	dirs []string // the newest first
}

// beside returns the workspaces that a sandbox around dir does not show.
// Workspaces around it, and in it, are no others: their conversations work on the
// same files. Workspaces in a directory of shown are not hidden either.
func (o *otherWorkspaces) beside(ctx context.Context, dir string, shown []string) ([]string, error) {
	if o.store == nil {
		return nil, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.at.IsZero() || time.Since(o.at) > listedAgain {
		if err := o.list(ctx); err != nil {
			return nil, err
		}
	}
	own := realpath.Resolve(dir)
	if !slices.Contains(o.dirs, own) {
		o.dirs = append([]string{own}, o.dirs...)
	}
	var out []string
	for _, other := range o.dirs {
		in := func(dir string) bool { return workspacedir.Within(other, dir) }
		if len(out) < mostOthers && !in(own) && !workspacedir.Within(own, other) && !slices.ContainsFunc(out, in) && !slices.ContainsFunc(shown, in) {
			out = append(out, other)
		}
	}
	return out, nil
}

// repositoryAround returns the top level of the repository that a directory lies in;
// none if it cannot be a project.
func repositoryAround(dir string) []string {
	for top := realpath.Resolve(dir); top != filepath.Dir(top); top = filepath.Dir(top) {
		if _, err := os.Lstat(filepath.Join(top, ".git")); err != nil {
			continue
		}
		if _, err := (workspacedir.Rules{}).Check(top); err != nil {
			return nil
		}
		return []string{top}
	}
	return nil
}

// list reads the workspaces of the newest conversations. The caller holds mu.
func (o *otherWorkspaces) list(ctx context.Context) error {
	all, err := o.store.WorkingDirs(ctx, listed)
	if err != nil {
		return fmt.Errorf("list the workspaces of other conversations: %w", err)
	}
	var dirs []string
	for _, dir := range all {
		// An imported conversation may have worked in any directory of another machine.
		dir, err := workspacedir.Rules{}.Check(dir)
		if err != nil || slices.Contains(dirs, dir) {
			continue
		}
		if st, err := os.Stat(dir); err == nil && st.IsDir() {
			dirs = append(dirs, dir)
		}
	}
	o.dirs, o.at = dirs, time.Now()
	return nil
}
