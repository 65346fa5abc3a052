package workspace

import (
	"context"
	"errors"

	"github.com/deft-dev/deft/gitview"
)

// Changes implements [Git].
func (l *Local) Changes(ctx context.Context, dir, ref string) ([]gitview.Change, error) {
	return l.scope.Changes(ctx, dir, ref)
}

// Compare implements [Git].
func (l *Local) Compare(ctx context.Context, dir, ref string) ([]gitview.Comparison, error) {
	return l.scope.Compare(ctx, dir, ref)
}

// FileDiff implements [Git].
func (l *Local) FileDiff(ctx context.Context, file, ref string) (gitview.Diff, error) {
	return l.scope.FileDiff(ctx, file, ref)
}

// CommitDiff implements [Git].
func (l *Local) CommitDiff(ctx context.Context, file, commit string) (gitview.Diff, error) {
	return l.scope.CommitDiff(ctx, file, commit)
}

// Commits implements [Git].
func (l *Local) Commits(ctx context.Context, dir string, limit int) (page gitview.Commits, err error) {
	err = l.view(dir, func(v *gitview.View) (err error) {
		page, err = v.Commits(ctx, limit)
		return err
	})
	return page, err
}

// CommitChanges implements [Git].
func (l *Local) CommitChanges(ctx context.Context, dir, commit string) (changes []gitview.Change, err error) {
	err = l.view(dir, func(v *gitview.View) (err error) {
		changes, err = v.CommitChanges(ctx, commit)
		return err
	})
	return changes, err
}

// Head implements [Git].
func (l *Local) Head(ctx context.Context, dir string) (commit string, err error) {
	err = l.view(dir, func(v *gitview.View) (err error) {
		commit, err = v.Head(ctx)
		return err
	})
	return commit, err
}

// view opens a repository for one use.
func (l *Local) view(dir string, use func(*gitview.View) error) error {
	v, err := l.scope.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(use(v), v.Close())
}
