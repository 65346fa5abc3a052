package conversations

import (
	"context"
	"strings"

	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/session"
)

// maxLog bounds the kept end of the output of a set-up, in bytes.
const maxLog = 64 << 10

// setUp runs the repository's scripts for a conversation, inside the sandbox; without one there is no
// place for a stranger's commands that nobody has allowed. A script that fails, or is not run,
// does not keep the conversation from starting: the task's log and the conversation's warnings say so.
func (s *Service) setUp(ctx context.Context, c *session.Conversation, t *store.Task, step func(store.TaskStatus) error) error {
	var problems []string
	for _, part := range []struct {
		status store.TaskStatus
		file   string
	}{
		{store.RunningSetupScript, session.SetUpScript},
		{store.SettingUpGitHooks, session.PreCommitScript},
	} {
		exists, problem, err := c.Environment().HasScript(ctx, part.file)
		if err != nil {
			return err
		}
		output := ""
		if exists {
			if err := step(part.status); err != nil {
				return err
			}
			if output, problem, err = c.Environment().RunScript(ctx, part.file, false); err != nil {
				return err
			}
		}
		t.Log = tail(t.Log + output)
		if problem != "" {
			t.Log = tail(t.Log + "\n" + problem + "\n")
			problems = append(problems, problem)
		}
	}
	if len(problems) > 0 {
		if err := c.Environment().NoteSetUp(ctx, problems); err != nil {
			return err
		}
	}
	return step(store.SettingUpSkills)
}

func tail(log string) string {
	if len(log) <= maxLog {
		return log
	}
	return strings.ToValidUTF8(log[len(log)-maxLog:], "")
}
