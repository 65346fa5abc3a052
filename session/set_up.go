package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/settings/permission"
)

// A project's scripts for its set-up (docs/openhands/app-server.md;
// https://docs.all-hands.dev/usage/prompting/repository).
const (
	SetUpScript     = ".openhands/setup.sh"
	PreCommitScript = ".openhands/pre-commit.sh"
)

// setUpSeconds is how long a script may take.
const setUpSeconds = 10 * 60

// setUpPrograms are the programs for the scripts, whose names they get. SetUpScript is run with
// bash, or where there is none with sh. PreCommitScript becomes a hook of Git, unless there is
// one already.
var setUpPrograms = map[string]string{
	SetUpScript: `if command -v bash >/dev/null 2>&1; then exec bash "$0"; fi; exec sh "$0"`,
	PreCommitScript: `set -e
git rev-parse --git-dir >/dev/null 2>&1 || exit 0
hooks=$(git rev-parse --git-path hooks)
mkdir -p "$hooks"
[ -e "$hooks/pre-commit" ] && exit 0
printf '#!/bin/sh\nexec sh "$(git rev-parse --show-toplevel)/%s"\n' "$0" >"$hooks/pre-commit"
chmod +x "$hooks/pre-commit"`,
}

// shownLines bounds the lines of a script that are shown.
const shownLines = 40

// Scripts are the project's scripts for its set-up, for the question whether they may run.
type Scripts struct {
	// File names them; "" where there is none.
	File string
	// Content is the content that an answer is for.
	Content []byte
	// Lines are shown with the question.
	Lines []string
}

// ReadScripts reads the scripts by a function that returns nil for a file that cannot be used.
func ReadScripts(read func(name string) ([]byte, error)) (s Scripts, err error) {
	var found []string
	for _, file := range []string{SetUpScript, PreCommitScript} {
		text, err := read(file)
		if err != nil {
			return s, err
		}
		if text == nil {
			continue
		}
		found, s.Content = append(found, file), append(append(s.Content, file+"\n"...), text...)
		s.Lines = append(s.Lines, file+":")
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		for _, line := range lines[:min(len(lines), shownLines)] {
			s.Lines = append(s.Lines, "  "+line)
		}
		if more := len(lines) - shownLines; more > 0 {
			s.Lines = append(s.Lines, fmt.Sprintf("  … and %d more lines", more))
		}
	}
	s.File = strings.Join(found, " and ")
	return s, nil
}

// askAboutSetUp adds the question whether the scripts may run to the worker of a conversation that was made
// with [Spec.AskSetUp]. Scripts that have run are not asked about again.
func (w *worker) askAboutSetUp(ctx context.Context, rec record) error {
	var done []string
	if !rec.AskSetUp || w.c.m.o.Permissions == nil || w.host != nil || w.State().Field(keySetUp, &done) {
		return nil
	}
	files, err := w.c.Environment().Files(ctx)
	if err != nil {
		return err
	}
	defer files.Close()
	project := projectFS{ctx, files}
	s, err := ReadScripts(func(name string) ([]byte, error) {
		raw, err := hook.ReadFile(project, name)
		if fault.Is(err, fault.Invalid) || fault.Is(err, fault.Denied) { // HasScript says why where it would run
			return nil, nil
		}
		return raw, err
	})
	if err != nil || s.File == "" {
		return err
	}
	part, err := w.c.ProjectHooks().part(ctx, s.File, s.Lines, s.Content)
	if err != nil {
		return err
	}
	w.parts, w.setUpAllowed = append(slices.Clone(w.parts), part), part.Answer == permission.Allowed
	return nil
}

// HasFile reports whether the workspace has a regular file of a name.
func (e Environment) HasFile(ctx context.Context, name string) (bool, error) {
	exists, regular, err := e.has(ctx, name)
	return exists && regular, err
}

// has reports whether the workspace has something of a name, and whether that is a regular file.
func (e Environment) has(ctx context.Context, name string) (exists, regular bool, err error) {
	files, err := e.Files(ctx)
	if err != nil {
		return false, false, err
	}
	defer files.Close()
	info, err := files.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, false, nil
	}
	return err == nil, err == nil && info.Mode().IsRegular(), err
}

// HasScript reports whether the project has one of the scripts; problem says why it has one that cannot be
// run, such as a link out of the workspace.
func (e Environment) HasScript(ctx context.Context, script string) (exists bool, problem string, err error) {
	exists, regular, err := e.has(ctx, script)
	switch {
	case fault.Is(err, fault.Invalid), fault.Is(err, fault.Denied):
		return false, script + " is not run: " + err.Error(), nil
	case exists && !regular:
		return false, script + " is not run: it is not a regular file", nil
	}
	return exists, "", err
}

// RunScript runs one of the scripts where the conversation's actions run. allowed says that the
// user wants it; without a yes it runs in a sandbox only, since a stranger has written it. A script
// that does not run, or fails, does not keep the conversation from its work: problem says why.
func (e Environment) RunScript(ctx context.Context, script string, allowed bool) (output, problem string, err error) {
	if !allowed && e.c.m.o.Unsandboxed {
		return "", script + " is not run, because there is no sandbox and nobody has allowed it", nil
	}
	got, err := e.RunProgram(ctx, Program{Argv: []string{"sh", "-c", setUpPrograms[script], script}, Dir: e.c.Workspace(), Seconds: setUpSeconds})
	output = got.Stdout + got.Stderr
	switch {
	case err != nil:
		return output, "", fault.Wrap(err, fault.KindOf(err), "run "+script)
	case got.TimedOut:
		problem = fmt.Sprintf("%s was ended after %d minutes", script, setUpSeconds/60)
	case got.ExitCode < 0:
		problem = script + " was ended by a signal"
	case got.ExitCode != 0:
		problem = strings.TrimSuffix(fmt.Sprintf("%s ended with exit code %d: %s", script, got.ExitCode, lastLines(output)), ": ")
	}
	return output, problem, nil
}

// NoteSetUp records that the scripts have run. The problems are warnings of the conversation.
func (e Environment) NoteSetUp(ctx context.Context, problems []string) error {
	return e.c.withWorker(ctx, func(w *worker) error { return w.noteSetUp(ctx, problems) })
}

// SetUp runs the scripts of a conversation that was made with [Spec.SetUp], or whose owner has allowed
// them, once. A script that fails does not keep the conversation from its work: it is one of its warnings.
func (c *Conversation) SetUp(ctx context.Context) error {
	return c.withWorker(ctx, func(w *worker) error { return w.setUp(ctx) })
}

func (w *worker) setUp(ctx context.Context) error {
	w.c.mu.Lock()
	wanted := w.c.rec.SetUp || w.setUpAllowed
	w.c.mu.Unlock()
	var done []string
	if !wanted || w.host != nil || w.State().Field(keySetUp, &done) {
		return nil
	}
	var problems []string
	for _, script := range []string{SetUpScript, PreCommitScript} {
		exists, problem, err := w.c.Environment().HasScript(ctx, script)
		if exists {
			_, problem, err = w.c.Environment().RunScript(ctx, script, true)
		}
		if err != nil {
			return err
		}
		if problem != "" {
			problems = append(problems, problem)
		}
	}
	return w.noteSetUp(ctx, problems)
}

func (w *worker) noteSetUp(ctx context.Context, problems []string) error {
	if err := w.Update(ctx, keySetUp, append([]string{}, problems...)); err != nil {
		return err
	}
	w.recordWarnings(ctx)
	return nil
}

// lastLines is the end of an output, for a warning.
func lastLines(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return clipped(strings.Join(lines[max(0, len(lines)-5):], "; "))
}
