package session

import (
	"context"
	"strings"

	"github.com/deft-dev/deft/checkpoint"
)

// detached is the Ref of a checkout without a branch.
const detached = "HEAD"

// Moved is the effect of an undo on Git's checkout: the former branch is checked out again
// at its former commit, and the staging area is reset to it. No commit is deleted; Git's
// reflog has commits that are on no branch any more. Nothing changes if the same commit of
// the same branch is checked out.
type Moved struct {
	// From and To are the checkouts before and after; both are empty if they are the same.
	From, To checkpoint.Checkout
	// Kept says why a different checkout stays as it is; "" if it does not.
	Kept string
}

// programs runs a program where the actions of a conversation run.
type programs func(ctx context.Context, p Program) (ProgramResult, error)

// undoCommits takes Git's checkout back. Git runs where the agent's commands do:
// the repository can name programs that it runs.
func undoCommits(ctx context.Context, run programs, dir string, now, then checkpoint.Checkout, preview bool) Moved {
	if now == then || then.Ref == "" {
		return Moved{}
	}
	g := inRepository{run, dir}
	if why := g.unmovable(ctx, now, then); why != "" {
		return Moved{Kept: why}
	}
	if preview {
		return Moved{From: now, To: then}
	}
	ref, was := then.Ref, now.Commit
	if then.Ref != now.Ref {
		was = "" // another branch may be at any commit
	}
	steps := [][]string{{"update-ref", "--no-deref", "--create-reflog", "-m", "deft undo", ref, then.Commit}, {"read-tree", then.Commit}}
	if was != "" {
		steps[0] = append(steps[0], was)
	}
	if then.Ref != now.Ref && then.Ref != detached {
		steps = append(steps, []string{"symbolic-ref", "-m", "deft undo", "HEAD", then.Ref})
	}
	for _, args := range steps {
		if _, failed := g.git(ctx, args...); failed != "" {
			return Moved{Kept: failed}
		}
	}
	// It fails where files differ from the commit, which is no error.
	_, _ = g.git(ctx, "update-index", "-q", "--refresh")
	return Moved{From: now, To: then}
}

// inRepository runs git in a directory.
type inRepository struct {
	run programs
	dir string
}

// git returns git's output, or the reason of its failure.
func (g inRepository) git(ctx context.Context, args ...string) (out, failed string) {
	argv := append([]string{"git", "--no-pager", "-c", "safe.directory=*", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"}, args...)
	res, err := g.run(ctx, Program{Argv: argv, Dir: g.dir})
	switch text, _, _ := strings.Cut(strings.TrimSpace(res.Stderr), "\n"); {
	case err != nil:
		return "", "git cannot run: " + err.Error()
	case res.ExitCode < 0:
		return "", "git cannot run in the sandbox"
	case res.ExitCode > 0:
		return "", "git " + args[0] + " failed: " + text
	}
	return strings.TrimSpace(res.Stdout), ""
}

// unmovable says why the checkout must stay, "" if it need not.
func (g inRepository) unmovable(ctx context.Context, now, then checkpoint.Checkout) string {
	switch {
	case then.Commit == "":
		return "there was no commit yet"
	case now.Commit == "":
		return "there is no commit now"
	}
	if _, failed := g.git(ctx, "--version"); failed != "" {
		return failed
	}
	if _, failed := g.git(ctx, "cat-file", "-e", then.Commit+"^{commit}"); failed != "" {
		return "the repository does not have the commit " + then.Commit + " any more"
	}
	for _, head := range []string{"MERGE_HEAD", "REBASE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"} {
		if _, none := g.git(ctx, "rev-parse", "-q", "--verify", head); none == "" {
			return "a merge, rebase or the like is under way (" + head + "); end it with git"
		}
	}
	if then.Ref == detached || then.Ref == now.Ref {
		return ""
	}
	switch dir, failed := g.git(ctx, "for-each-ref", "--format=%(worktreepath)", then.Ref); {
	case failed != "":
		return failed
	case dir != "":
		return strings.TrimPrefix(then.Ref, "refs/heads/") + " is checked out in " + dir
	}
	return ""
}
