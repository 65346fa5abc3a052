package main

import (
	"context"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/console"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/command"
)

// askTime bounds what is asked of git at either end of a run.
const askTime = 5 * time.Second

// git asks git a question inside the sandbox. It returns "" when the
// workspace is no repository, git is not there, or the answer takes too long.
func (j *job) git(ctx context.Context, args ...string) string {
	argv := append([]string{"git", "--no-optional-locks", "--no-pager", "-c", "core.quotePath=false", "-c", "safe.directory=*"}, args...)
	obs, err := j.session.place.Execute(ctx, tool.Request{
		Call: tool.Call{ID: event.NewID(), Action: &command.Action{Argv: argv, Dir: j.workspace}},
	})
	if out, ok := obs.(*command.Observation); err == nil && ok && out.ExitCode == 0 {
		return out.Stdout
	}
	return ""
}

// head asks for the commit that changes are counted from, beside the run:
// nothing waits for it. The returned function does, and ends the asking.
func (j *job) head(ctx context.Context) (base func() string) {
	ctx, cancel := context.WithCancel(ctx)
	answer := make(chan string, 1)
	go func() { answer <- strings.TrimSpace(j.git(ctx, "rev-parse", "--verify", "--quiet", "HEAD")) }()
	return func() string {
		defer cancel()
		defer time.AfterFunc(askTime, cancel).Stop()
		return <-answer
	}
}

// diffstat says what has changed since the commit base, untracked files
// included. Names of files are foreign text.
func (j *job) diffstat(ctx context.Context, base string) string {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var b strings.Builder
	if base != "" {
		for l := range strings.Lines(j.git(ctx, "diff", "--stat", "--no-ext-diff", "--no-textconv", base)) {
			b.WriteString(console.Line(strings.TrimRight(l, "\n")) + "\n")
		}
	}
	const most = 20
	files := strings.Split(strings.TrimSpace(j.git(ctx, "ls-files", "--others", "--exclude-standard")), "\n")
	for i, f := range files {
		switch {
		case f == "":
		case i < most:
			b.WriteString(" " + console.Line(f) + " (untracked)\n")
		case i == most:
			b.WriteString(" … and more untracked files\n")
		}
	}
	return b.String()
}
