package main

import (
	"context"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/tool/command"
)

// git asks git a question inside the sandbox. It returns "" when the
// workspace is no repository or git is not there.
func (j *job) git(ctx context.Context, args ...string) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	argv := append([]string{"git", "--no-optional-locks", "--no-pager", "-c", "core.quotePath=false", "-c", "safe.directory=*"}, args...)
	obs, err := j.session.place.Execute(ctx, runtime.Request{
		ID: event.NewID(), Action: &command.Action{Argv: argv, Dir: j.workspace},
	})
	if out, ok := obs.(*command.Observation); err == nil && ok && out.ExitCode == 0 {
		return out.Stdout
	}
	return ""
}

// head returns the commit that changes are counted from. It does not wait
// for anything: the answer is needed only at the end.
func (j *job) head(ctx context.Context) <-chan string {
	base := make(chan string, 1)
	go func() { base <- strings.TrimSpace(j.git(ctx, "rev-parse", "--verify", "--quiet", "HEAD")) }()
	return base
}

// diffstat says what has changed since the commit base, untracked files
// included.
func (j *job) diffstat(ctx context.Context, base <-chan string) string {
	var b strings.Builder
	if commit := <-base; commit != "" {
		b.WriteString(j.git(ctx, "diff", "--stat", "--no-ext-diff", "--no-textconv", commit))
	}
	const most = 20
	files := strings.Split(strings.TrimSpace(j.git(ctx, "ls-files", "--others", "--exclude-standard")), "\n")
	for i, f := range files {
		switch {
		case f == "":
		case i < most:
			b.WriteString(" " + f + " (new)\n")
		case i == most:
			b.WriteString(" … and more new files\n")
		}
	}
	return b.String()
}
