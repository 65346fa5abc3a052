package runcommand

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/gitview"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/state"
)

// drive replays the recorded steps, if any, and runs.
func (r *runner) drive(ctx context.Context) error {
	s, err := r.c.State(ctx)
	if err != nil {
		return err
	}
	switch {
	case r.Replay != nil:
		more, err := r.replay(ctx)
		if err != nil || !more {
			return err
		}
		if s, err = r.c.State(ctx); err != nil {
			return err
		}
	case r.Task.Text == "" && s.Status == state.Finished:
		r.view.note("the conversation is finished; give a task to go on with it")
		return nil
	}
	if s.Status == state.Confirming && r.Task.Text != "" { // the user wants something else
		if err := r.c.Confirmation().Respond(ctx, false, "The user has given another task."); err != nil {
			return err
		}
	}
	return r.unlessBroken(ctx, r.runConfirmed)
}

// replay runs the trajectory again. more says that the task is to follow.
func (r *runner) replay(ctx context.Context) (more bool, err error) {
	began, err := r.c.State(ctx)
	if err != nil {
		return false, err
	}
	if r.Replay, err = controller.Moved(r.Replay, cmp.Or(r.ReplayFrom, controller.RecordedWorkspace(r.Replay)), r.c.Workspace()); err != nil {
		return false, err
	}
	from := eventstream.Seq(began.Seq) + 1
	err = r.unlessBroken(ctx, func(ctx context.Context) error {
		r.mu.Lock()
		stopping := r.stopping
		r.running = !stopping
		r.mu.Unlock()
		if stopping {
			return r.c.Pause(ctx)
		}
		return r.c.Replay(ctx, r.Replay)
	})
	if err == nil {
		err = r.compareReplay(ctx, from)
	}
	if err != nil || r.Task.Text == "" {
		return false, err
	}
	s, err := r.c.State(ctx)
	if err != nil {
		return false, err
	}
	if s.Status != state.Finished && s.Status != state.Idle {
		r.view.Warn("the replay did not reach its end, so the task was not given")
		return false, nil
	}
	return true, nil
}

// startLimit is how long the start of a sandbox is waited for after the user has stopped the run.
const startLimit = 2 * time.Second

// unlessBroken calls run while the sandbox starts: the first call of the model
// does not wait for it. If the sandbox cannot start, the run is paused, and the
// error says why.
func (r *runner) unlessBroken(ctx context.Context, run func(context.Context) error) error {
	started := make(chan error, 1)
	starting, giveUp := context.WithCancel(ctx)
	defer giveUp()
	go func() {
		err := r.c.Environment().Ready(starting)
		switch {
		case err == nil:
			r.view.isolation(r.c.Environment().Isolation())
		case starting.Err() == nil:
			r.stop(ctx, r.c.Pause)
		}
		started <- err
	}()
	err := run(ctx)
	if r.told() { // who stops the run does not wait for an image
		late := time.AfterFunc(startLimit, giveUp)
		defer late.Stop()
	}
	if broken := <-started; broken != nil && starting.Err() == nil {
		return broken
	}
	return err
}

// runConfirmed runs until the end, and asks the user wherever actions wait or the agent
// has a question.
func (r *runner) runConfirmed(ctx context.Context) error {
	for {
		s, err := r.c.State(ctx)
		if err != nil {
			return err
		}
		if s.Status == state.Confirming {
			answered, err := r.confirm(ctx, r.c, s)
			if err != nil || !answered {
				return err
			}
		}
		if err := r.begin(ctx); err != nil {
			return err
		}
		if err := r.waitAnswering(ctx); err != nil {
			return err
		}
		if err := r.c.Failure(); err != nil {
			return err
		}
		if s, err = r.c.State(ctx); err != nil || s.Status != state.Confirming && !r.askBack(ctx, s) {
			return err
		}
	}
}

// waitAnswering returns when no run is at work. It asks the user wherever actions of
// sub-agents wait; without an answer the run is paused.
func (r *runner) waitAnswering(ctx context.Context) error {
	for {
		asking, err := r.c.Delegation().Wait(ctx)
		if err != nil || asking == nil {
			return err
		}
		if err := r.answer(ctx, asking); err != nil {
			return errors.Join(err, r.c.Pause(context.WithoutCancel(ctx)), r.c.Wait(ctx))
		}
	}
}

// answer asks the user about the actions of a sub-agent.
func (r *runner) answer(ctx context.Context, asking *session.Conversation) error {
	s, err := asking.State(ctx)
	if err != nil || s.Status != state.Confirming {
		return err
	}
	answered, err := r.confirm(ctx, asking, s)
	if err != nil {
		return err
	}
	if !answered { // the run is being stopped, and ends soon
		return r.c.Wait(ctx)
	}
	if s, err = asking.State(ctx); err != nil || s.Status != state.Confirming {
		return err // refused: it goes on by itself
	}
	if err := asking.Run(ctx); !errors.Is(err, session.ErrRunning) {
		return err
	}
	return nil
}

// begin stores the task, once, and starts a run, unless the user has asked to
// stop before.
func (r *runner) begin(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	task := r.Task
	r.Task = Task{}
	if task.Text != "" {
		m := session.Message{Role: event.RoleUser, Content: task.Content(), Run: !r.stopping}
		if err := r.c.Send(ctx, m); err != nil {
			return fmt.Errorf("store the task: %w", err)
		}
	}
	switch {
	case r.stopping:
		return r.c.Pause(ctx)
	case task.Text == "":
		if err := r.c.Run(ctx); err != nil && !errors.Is(err, session.ErrRunning) {
			return err
		}
	}
	r.running = true
	return nil
}

// warnOfOthers tells the user which other conversations work in the directory now, and
// how to keep out of their way. They may change the same files.
func (r *runner) warnOfOthers(ctx context.Context) error {
	dir := r.c.Workspace()
	others, err := r.Sessions.WorkingIn(ctx, dir)
	if err != nil {
		return err
	}
	told := false
	for _, o := range others {
		if o.ID == r.ID {
			continue
		}
		told = true
		title := ""
		if o.Meta.Title != "" {
			title = fmt.Sprintf(" (%q)", o.Meta.Title)
		}
		r.view.Warn(fmt.Sprintf("conversation %s%s works in %s too, and may change the same files", o.ID, safeText(title), safeText(o.Meta.WorkingDir)))
		r.view.Warn("  to watch it: " + r.view.command + " conversations show --follow " + string(o.ID) + "; to stop it: Ctrl-C where it runs")
	}
	if !told {
		return nil
	}
	if v, err := gitview.Open(dir); err == nil {
		v.Close()
		beside := free(v.Top)
		work := filepath.Join(beside, strings.TrimPrefix(v.Dir, v.Top))
		r.view.Warn("  to keep apart: git -C " + shellWord(v.Top) + " worktree add " + shellWord(beside) + " && " + r.view.command + " run --workspace " + shellWord(work))
	}
	return nil
}

// free returns the first of top-2, top-3 … that does not exist.
func free(top string) string {
	for n := 2; ; n++ {
		path := fmt.Sprintf("%s-%d", top, n)
		if _, err := os.Lstat(path); err != nil {
			return path
		}
	}
}

var plainWord = lazyregexp.New(`^[\w./+@%=:-]+$`)

// shellWord is a text as one word of a shell's command.
func shellWord(s string) string {
	if s = safeText(s); plainWord().MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
