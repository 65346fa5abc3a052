package conversations

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/session"
)

// A repository's scripts for its set-up (docs/openhands/sdk-features.md;
// https://docs.all-hands.dev/usage/prompting/repository).
const (
	setupScript = ".openhands/setup.sh"
	hookScript  = ".openhands/pre-commit.sh"
)

// setupSeconds is how long the setup script may take.
const setupSeconds = 10 * 60

// maxLog bounds the kept end of the output of a set-up, in bytes.
const maxLog = 64 << 10

// runScript runs a script with bash, or where there is none with sh.
const runScript = `if command -v bash >/dev/null 2>&1; then exec bash "$0"; fi; exec sh "$0"`

// installHook makes the pre-commit script of the repository a hook of Git, unless there
// is one already.
const installHook = `set -e
hooks=$(git rev-parse --git-path hooks)
mkdir -p "$hooks"
[ -e "$hooks/pre-commit" ] && exit 0
printf '#!/bin/sh\nexec sh "$(git rev-parse --show-toplevel)/%s"\n' "$0" >"$hooks/pre-commit"
chmod +x "$hooks/pre-commit"`

// setUp runs the repository's scripts for a conversation, inside the sandbox. A script
// that fails does not keep the conversation from starting: its output and exit code are
// in the task's log.
func (s *Service) setUp(ctx context.Context, c *session.Conversation, t *store.Task, step func(store.TaskStatus) error) error {
	for _, part := range []struct {
		status        store.TaskStatus
		file, program string
	}{
		{store.RunningSetupScript, setupScript, runScript},
		{store.SettingUpGitHooks, hookScript, installHook},
	} {
		exists, err := s.hasFile(ctx, c, part.file)
		if err != nil {
			return err
		}
		if !exists {
			continue
		}
		if err := step(part.status); err != nil {
			return err
		}
		got, err := c.RunProgram(ctx, session.Program{Argv: []string{"sh", "-c", part.program, part.file}, Dir: c.Workspace(), Seconds: setupSeconds})
		if err != nil {
			return fault.Wrap(err, fault.KindOf(err), "run "+part.file)
		}
		t.Log = tail(t.Log + got.Stdout + got.Stderr)
		if got.ExitCode != 0 {
			t.Log = tail(t.Log + fmt.Sprintf("\n%s ended with exit code %d\n", part.file, got.ExitCode))
		}
	}
	return step(store.SettingUpSkills)
}

func (s *Service) hasFile(ctx context.Context, c *session.Conversation, name string) (bool, error) {
	files, err := c.Files(ctx)
	if err != nil {
		return false, err
	}
	defer files.Close()
	info, err := files.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.Mode().IsRegular(), err
}

func tail(log string) string {
	if len(log) <= maxLog {
		return log
	}
	return strings.ToValidUTF8(log[len(log)-maxLog:], "")
}
