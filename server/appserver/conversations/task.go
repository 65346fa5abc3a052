package conversations

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/job"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/session"
)

// startKind says how start tasks are done. A conversation whose server has ended is locked
// for a moment by the server that notices it.
func (s *Service) startKind() job.Kind {
	return job.Kind{
		Name: store.StartKind, Attempts: 10, Pause: 100 * time.Millisecond, MaxPause: time.Second, Handler: job.HandlerFunc(s.doStart),
	}
}

// doStart does the remaining work of a start task.
func (s *Service) doStart(ctx context.Context, run *job.Run) error {
	t, err := store.TaskOf(run.Job)
	if err == nil {
		err = s.work(ctx, run, &t)
	}
	if err == nil {
		err = s.finish(ctx, run, &t)
	}
	switch {
	case err == nil:
		s.dropRecording(ctx, t)
		return nil
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), job.ErrCancelled), errors.Is(err, job.ErrLost):
		return err // another server continues
	case fault.Is(err, fault.Conflict) && !run.Last():
		return job.Again(err)
	}
	t.FailedAt, t.Status, t.Detail = t.Status, store.Failed, fault.Text(err)
	s.unclaim(ctx, t)
	s.leaveSandbox(ctx, &t)
	s.dropRecording(ctx, t)
	return errors.Join(err, run.SetProgress(t.Progress()))
}

var errMessagesWait = errors.New("messages wait for the conversation")

// finish sends the messages that have come meanwhile, until none waits, and ends the job.
func (s *Service) finish(ctx context.Context, run *job.Run, t *store.Task) error {
	t.Status = store.Ready
	if err := run.SetProgress(t.Progress()); err != nil {
		return err
	}
	for {
		var waiting []store.PendingMessage
		run.State = job.Done
		err := run.Save(ctx, func(ctx context.Context, j job.Job) (err error) {
			var done bool
			if done, waiting, err = s.o.Store.FinishTask(ctx, j); err == nil && !done {
				err = errMessagesWait
			}
			return err
		})
		if err == nil {
			return nil
		}
		run.State = job.Ready
		if errors.Is(err, errMessagesWait) {
			err = s.sendWaiting(ctx, t, waiting)
		}
		if err != nil {
			return err
		}
	}
}

// sendWaiting sends messages that have waited for a conversation.
func (s *Service) sendWaiting(ctx context.Context, t *store.Task, waiting []store.PendingMessage) error {
	for _, m := range waiting {
		var msg session.Message
		if err := json.Unmarshal(m.Content, &msg); err != nil {
			return fault.Wrap(err, fault.Corrupt, "read a pending message")
		}
		id, ok := event.ParseConversationID(m.ID)
		if !ok {
			return fault.New(fault.Corrupt, "the id of a pending message cannot be read")
		}
		msg.ID = event.ID(id) // an earlier process may have sent it and not deleted it
		c, err := s.Continue(ctx, identity.Tenant(t.Owner), t.Conversation)
		if err == nil {
			err = c.Send(ctx, msg)
		}
		if err == nil {
			err = s.o.Store.DeletePendingMessage(ctx, m.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// save stores how far a task is, and wakes its followers.
func save(ctx context.Context, run *job.Run, t *store.Task) error {
	if err := run.SetProgress(t.Progress()); err != nil {
		return err
	}
	return run.Save(ctx, nil)
}

// Follow calls f with a task and with each of its later states, until it has ended, f
// returns an error, or ctx ends.
func (s *Service) Follow(ctx context.Context, owner identity.Tenant, id string, f func(store.Task) error) error {
	last := store.TaskStatus("")
	return s.o.Jobs.Follow(ctx, id, func(ctx context.Context) (job.Job, error) {
		return s.o.Store.TaskJob(ctx, string(owner), id)
	}, func(j job.Job) error {
		t, err := store.TaskOf(j)
		if err != nil || t.Status == last {
			return err
		}
		last = t.Status
		return f(t)
	})
}

// Wait returns a task when it has ended.
func (s *Service) Wait(ctx context.Context, owner identity.Tenant, id string) (t store.Task, err error) {
	err = s.Follow(ctx, owner, id, func(now store.Task) error { t = now; return nil })
	return t, err
}

// Tasks returns start tasks of an owner by their ids, nil for ids without one.
func (s *Service) Tasks(ctx context.Context, owner identity.Tenant, ids ...string) ([]*store.Task, error) {
	out := make([]*store.Task, len(ids))
	for i, id := range ids {
		t, err := s.o.Store.Task(ctx, string(owner), id)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[i] = &t
	}
	return out, nil
}

// SearchTasks returns one page of start tasks.
func (s *Service) SearchTasks(ctx context.Context, q store.TaskQuery) ([]store.Task, string, error) {
	return s.o.Store.Tasks(ctx, q)
}

// CountTasks returns how many start tasks a query selects.
func (s *Service) CountTasks(ctx context.Context, q store.TaskQuery) (int, error) {
	return s.o.Store.CountTasks(ctx, q)
}

// AddPending stores a message for a conversation whose start task is at work, to be
// sent when it is ready, and returns its id and place. It is sent at once if the task
// has ended; then place is 0.
func (s *Service) AddPending(ctx context.Context, owner identity.Tenant, id string, m session.Message) (message string, place int, err error) {
	raw, err := json.Marshal(m)
	if err != nil {
		return "", 0, err
	}
	task, conversation, err := s.taskOf(ctx, owner, id)
	if err == nil && task != "" {
		err = s.mayWait(ctx, owner, task)
	}
	if err != nil {
		return "", 0, err
	}
	message = event.NewConversationID().Hex()
	if task != "" {
		waiting, ended, err := s.o.Store.AddPendingMessage(ctx, store.PendingMessage{ID: message, Owner: string(owner), Task: task, Content: raw, Created: now()})
		if err != nil || !ended {
			return message, waiting, err
		}
	}
	c, err := s.Continue(ctx, owner, conversation)
	if err == nil {
		err = c.Send(ctx, m)
	}
	return message, 0, err
}

// mayWait refuses a message for a conversation that is going to replay, as one that does.
func (s *Service) mayWait(ctx context.Context, owner identity.Tenant, task string) error {
	t, err := s.o.Store.Task(ctx, string(owner), task)
	if err != nil || t.Status.Ended() {
		return err
	}
	r, err := stored(t)
	if err != nil {
		return err
	}
	if r.Replays {
		return session.ErrReplays
	}
	return nil
}

// taskOf returns the start task that makes a conversation; id is the task's, as
// "task-…", or the conversation's.
func (s *Service) taskOf(ctx context.Context, owner identity.Tenant, id string) (task string, made event.ConversationID, err error) {
	if hex, ok := strings.CutPrefix(id, "task-"); ok {
		t, err := s.o.Store.Task(ctx, string(owner), strings.ReplaceAll(hex, "-", ""))
		return t.ID, t.Conversation, err
	}
	conversation, ok := event.ParseConversationID(id)
	if !ok {
		return "", "", fault.New(fault.NotFound, "there is no conversation "+id)
	}
	all, _, err := s.o.Store.Tasks(ctx, store.TaskQuery{Owner: string(owner), Conversation: conversation, Limit: 1})
	if err != nil || len(all) == 0 {
		return "", conversation, err
	}
	return all[0].ID, conversation, nil
}
