package session

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/checkpoint"
)

// programsIn runs programs here, but those that fail says.
func programsIn(fail func(argv []string) (ProgramResult, error, bool)) programs {
	return func(ctx context.Context, p Program) (res ProgramResult, err error) {
		if fail != nil {
			if res, err, failed := fail(p.Argv); failed {
				return res, err
			}
		}
		cmd := exec.CommandContext(ctx, p.Argv[0], p.Argv[1:]...)
		cmd.Dir = p.Dir
		var out, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &stderr
		if err = cmd.Run(); cmd.ProcessState != nil {
			err = nil // the exit code says it
		}
		return ProgramResult{ExitCode: cmd.ProcessState.ExitCode(), Stdout: out.String(), Stderr: stderr.String()}, err
	}
}

// TestUndoCommitsKeeps leaves Git's part alone where it cannot be taken back.
func TestUndoCommitsKeeps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatal(err, string(out))
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	git("commit", "-q", "--allow-empty", "-m", "one")
	one := git("rev-parse", "HEAD")
	git("commit", "-q", "--allow-empty", "-m", "two")
	two := git("rev-parse", "HEAD")
	git("worktree", "add", "-q", "-b", "other", t.TempDir()+"/other", one)
	at := func(ref, commit string) checkpoint.Checkout { return checkpoint.Checkout{Ref: ref, Commit: commit} }
	const main = "refs/heads/main"
	for name, c := range map[string]struct {
		now, then checkpoint.Checkout
		fail      func(argv []string) (ProgramResult, error, bool)
		want      string
	}{
		"the same":            {at(main, two), at(main, two), nil, ""},
		"not known":           {at(main, two), at("", one), nil, ""},
		"no commit then":      {at(main, two), at(main, ""), nil, "there was no commit yet"},
		"no commit now":       {at("", ""), at(main, two), nil, "there is no commit now"},
		"the commit is gone":  {at(main, two), at(main, strings.Repeat("1", 40)), nil, "does not have the commit 1111"},
		"in another worktree": {at(main, two), at("refs/heads/other", one), nil, "other is checked out in "},
		"moved meanwhile":     {at(main, one), at(main, two), nil, "git update-ref failed: "},
		"no git":              {at(main, two), at(main, one), func([]string) (ProgramResult, error, bool) { return ProgramResult{ExitCode: -1}, nil, true }, "git cannot run in the sandbox"},
		"no sandbox":          {at(main, two), at(main, one), func([]string) (ProgramResult, error, bool) { return ProgramResult{}, errors.New("no engine"), true }, "no engine"},
	} {
		m := undoCommits(t.Context(), programsIn(c.fail), dir, c.now, c.then, false)
		if (c.want == "") != (m.Kept == "") || !strings.Contains(m.Kept, c.want) || m.To.Commit != "" {
			t.Errorf("%s: %+v", name, m)
		}
		if got := git("rev-parse", "HEAD", "main"); got != two+"\n"+two {
			t.Fatalf("%s: HEAD and main are %s", name, got)
		}
	}
	// A preview changes nothing, and the rest goes back and forward.
	for _, step := range []struct {
		now, then checkpoint.Checkout
		preview   bool
		head      string
	}{
		{at(main, two), at(main, one), true, two},
		{at(main, two), at(main, one), false, one},
		{at(main, one), at(main, two), false, two},
		{at(main, two), at("HEAD", one), false, one},
		{at("HEAD", one), at(main, two), false, two},
	} {
		m := undoCommits(t.Context(), programsIn(nil), dir, step.now, step.then, step.preview)
		if diff := cmp.Diff(Moved{From: step.now, To: step.then}, m); diff != "" {
			t.Errorf("%v: (-want +got):\n%s", step, diff)
		}
		if got := git("rev-parse", "HEAD"); got != step.head {
			t.Errorf("%v: HEAD is %s", step, got)
		}
		if ref := git("rev-parse", "--symbolic-full-name", "HEAD"); !step.preview && ref != step.then.Ref {
			t.Errorf("%v: HEAD is %s", step, ref)
		}
	}
	if got := git("rev-parse", "main", "other"); got != two+"\n"+one {
		t.Errorf("main and other are %s", got)
	}
}
