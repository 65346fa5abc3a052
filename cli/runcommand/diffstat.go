package runcommand

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/workspace"
)

// gitTimeout bounds git's questions at either end of a run.
const gitTimeout = 5 * time.Second

// git asks git a question inside the sandbox. It returns "" when the
// workspace is no repository, git is not there, or the answer takes too long.
func (r *runner) git(ctx context.Context, args ...string) string {
	argv := append([]string{"git", "--no-optional-locks", "--no-pager", "-c", "core.quotePath=false", "-c", "safe.directory=*"}, args...)
	res, err := r.c.Environment().RunProgram(ctx, session.Program{Argv: argv, Dir: r.c.Workspace()})
	if err == nil && res.ExitCode == 0 {
		return res.Stdout
	}
	return ""
}

// startHead reads the commit that changes are counted from while the conversation
// starts. The returned function waits for it; it must be called before the agent
// begins, which can move it.
func (r *runner) startHead(ctx context.Context) (base func() string) {
	var reading sync.WaitGroup
	commit := ""
	reading.Go(func() { commit = r.head(ctx) })
	return func() string {
		reading.Wait()
		return commit
	}
}

// repositories returns the files in which the workspace's repository is: all of this
// machine, or the files of a workspace inside the sandbox.
func (r *runner) repositories(ctx context.Context) (workspace.Files, error) {
	inside, err := r.c.WorkspaceInside()
	switch {
	case err != nil:
		return nil, err
	case inside:
		return r.c.Environment().Files(ctx)
	}
	return workspace.Machine()
}

// head returns the commit of HEAD, "" where there is none. It does not wait for the
// sandbox unless the workspace is inside.
func (r *runner) head(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	files, err := r.repositories(ctx)
	if err != nil {
		return ""
	}
	defer files.Close()
	commit, err := files.Head(ctx, r.c.Workspace())
	if err != nil { // no repository, or one that git refuses too
		return ""
	}
	return commit
}

// diffstat shows the changes since the commit base, untracked files included, and how
// much of it had been changed before the run began. Names of files are foreign text.
func (r *runner) diffstat(ctx context.Context, base string, began time.Time) string {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	var b strings.Builder
	var names []string
	if base != "" {
		for l := range strings.Lines(r.git(ctx, "diff", "--stat", "--no-ext-diff", "--no-textconv", base)) {
			b.WriteString(console.Line(strings.TrimRight(l, "\n")) + "\n")
		}
		if b.Len() > 0 {
			names = strings.Split(r.git(ctx, "diff", "--name-only", "-z", "--relative", "--no-ext-diff", "--no-textconv", base), "\x00")
		}
	}
	const most = 20
	files := strings.Split(strings.TrimSpace(r.git(ctx, "ls-files", "--others", "--exclude-standard")), "\n")
	for i, f := range files {
		switch {
		case f == "":
		case i < most:
			b.WriteString(" " + console.Line(f) + " (untracked)\n")
		case i == most:
			b.WriteString(" … and more untracked files\n")
		}
	}
	if n := r.changedBefore(ctx, append(names, files...), began); n > 0 {
		fmt.Fprintf(&b, " (of these, %d had been changed before this run)\n", n)
	}
	return b.String()
}

// changedBefore counts the files of the workspace that were written last before a time.
func (r *runner) changedBefore(ctx context.Context, names []string, t time.Time) (n int) {
	files, err := r.c.Environment().Files(ctx)
	if err != nil {
		return 0
	}
	defer files.Close()
	for _, name := range names {
		if name == "" {
			continue
		}
		if info, err := files.Stat(ctx, name); err == nil && !info.IsDir() && info.ModTime().Before(t) {
			n++
		}
	}
	return n
}
