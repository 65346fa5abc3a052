package conversations

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/worktree"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/session"
)

// Replay starts a conversation that sends the user messages of a recorded one and does its
// actions anew, with real tools and without a model, in an empty workspace of a new
// sandbox. It returns while that is at work, which a server that ends leaves to the next one.
// Without a title it has that of
// what was recorded, or one of its first message. Invalid for what cannot be replayed.
func (s *Service) Replay(ctx context.Context, owner identity.Tenant, title string, r *io.SectionReader) (*Info, error) {
	recorded, err := s.o.Trajectories.Read(r)
	if err == nil {
		err = controller.CheckReplay(recorded)
	}
	if err == nil {
		title, err = s.titled(title, r)
	}
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(recorded) && title == ""; i++ {
		title = titleBy(recorded[i])
	}
	return s.startReplay(ctx, owner, title, func(c *session.Conversation) ([]event.Event, error) { return movedTo(c, recorded) })
}

// movedTo returns what was recorded as it would be in the workspace of a conversation.
func movedTo(c *session.Conversation, recorded []event.Event) ([]event.Event, error) {
	return controller.Moved(recorded, controller.RecordedWorkspace(recorded), c.Workspace())
}

// beginRecorded has a conversation replay what was recorded.
func (s *Service) beginRecorded(ctx context.Context, owner identity.Tenant, c *session.Conversation, recorded []event.Event) error {
	moved, err := movedTo(c, recorded)
	if err != nil {
		return err
	}
	return s.keepReplay(ctx, owner, c.ID(), moved, store.RunLimit{}) // its task counts
}

// startReplay starts a conversation in a new sandbox that replays what prepare returns for
// its workspace.
func (s *Service) startReplay(ctx context.Context, owner identity.Tenant, title string, prepare func(c *session.Conversation) ([]event.Event, error)) (*Info, error) {
	if err := s.o.Store.MayRun(ctx, string(owner), s.limit(owner)); err != nil { // before there is anything to undo
		return nil, err
	}
	spec, err := s.o.Settings.Launch(ctx, owner, "", "", "")
	if err != nil {
		return nil, err
	}
	b, err := s.o.Sandboxes.Create(ctx, owner, "")
	if err != nil {
		return nil, err
	}
	scope := s.o.Sandboxes.Scope(b)
	spec.ID, spec.Title, spec.Autotitle = event.NewConversationID(), title, false
	if err := s.replay(ctx, scope, owner, *spec, prepare); err != nil {
		if left := s.removeUnstarted(context.WithoutCancel(ctx), owner, b, spec.ID); left != nil {
			s.o.Log.Warn("a part of a replay that was not started is left", "conversation", spec.ID, "sandbox", b.ID, "err", left)
		}
		return nil, err
	}
	return s.One(ctx, owner, spec.ID)
}

// removeUnstarted removes the sandbox of a replay, and the conversation as far as it was made.
func (s *Service) removeUnstarted(ctx context.Context, owner identity.Tenant, b store.Sandbox, id event.ConversationID) error {
	err := s.Delete(ctx, owner, id)
	if fault.Is(err, fault.NotFound) {
		err = errors.Join(s.o.Store.DeleteConversation(ctx, string(owner), id), s.o.Sandboxes.Delete(ctx, owner, b.ID))
	}
	return err
}

func (s *Service) replay(ctx context.Context, scope *session.Scope, owner identity.Tenant, spec session.Spec, prepare func(c *session.Conversation) ([]event.Event, error)) error {
	c, _, err := scope.Create(ctx, spec)
	if err != nil {
		return err
	}
	recorded, err := prepare(c)
	if err != nil {
		return err
	}
	inside, err := c.WorkspaceInside()
	if err != nil {
		return err
	}
	if !inside {
		if err := worktree.Init(ctx, c.Workspace()); err != nil { // it works without, but shows no changes
			s.o.Log.Warn("make the workspace a git repository", "dir", c.Workspace(), "err", err)
		}
	}
	return s.keepReplay(ctx, owner, spec.ID, recorded, s.limit(owner))
}

// keepReplay stores what a conversation replays, and begins.
func (s *Service) keepReplay(ctx context.Context, owner identity.Tenant, id event.ConversationID, recorded []event.Event, l store.RunLimit) error {
	r := store.Replay{Conversation: id, Owner: string(owner), Created: now()}
	if err := s.o.Files.Put(ctx, recording(id), encoded(recorded)); err != nil {
		return err
	}
	if err := s.o.Store.AddReplay(ctx, r, l); err != nil {
		return errors.Join(err, s.o.Files.Delete(context.WithoutCancel(ctx), recording(id)))
	}
	s.beginReplay(r)
	return nil
}

// dropRecording deletes the file of a start that has ended, if it has one.
func (s *Service) dropRecording(ctx context.Context, t store.Task) {
	var r StartRequest
	if err := json.Unmarshal(t.Request, &r); err != nil || !r.Replays {
		return // there is none
	}
	if err := s.o.Files.Delete(context.WithoutCancel(ctx), startRecording(t.ID)); err != nil {
		s.o.Log.Warn("what a conversation was to replay is left", "task", t.ID, "err", err)
	}
}

// recording is the key of the file with what a conversation replays.
func recording(id event.ConversationID) string { return "replays/" + id.Hex() + ".json" }

// startRecording is the key of the file with what a start task is going to have replayed. It is
// the task's, since others may name the same conversation.
func startRecording(task string) string { return "replays/start-" + task + ".json" }

// encoded are events as a trajectory.
func encoded(events []event.Event) io.Reader {
	next, sep := 0, "["
	return reader(func() ([]byte, error) {
		if next == len(events) {
			next++
			return []byte("]"), nil
		}
		if next > len(events) {
			return nil, io.EOF
		}
		raw, err := event.Marshal(events[next])
		raw = append([]byte(sep), raw...)
		next, sep = next+1, ","
		return raw, err
	})
}

// beginReplay goes on with a replay in the background, unless this server does so already.
func (s *Service) beginReplay(r store.Replay) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.replays[r.Conversation] || s.ctx.Err() != nil {
		return
	}
	s.replays[r.Conversation] = true
	s.working.Go(func() {
		err := s.goOnReplaying(s.ctx, r)
		// One that another server works on, or that is to go on after a restart, stays.
		if s.ctx.Err() == nil && !errors.Is(err, session.ErrLocked) {
			if err != nil {
				s.o.Log.Warn("the replay has ended early", "conversation", r.Conversation, "err", err)
			}
			if err := errors.Join(s.o.Store.DeleteReplay(s.ctx, r.Conversation), s.o.Files.Delete(s.ctx, recording(r.Conversation))); err != nil {
				s.o.Log.Warn("the end of a replay is not stored", "conversation", r.Conversation, "err", err)
			}
		}
		s.mu.Lock()
		delete(s.replays, r.Conversation)
		s.mu.Unlock()
	})
}

// goOnReplaying replays what is left of a recording. An error that its user has to know is
// recorded in the conversation.
func (s *Service) goOnReplaying(ctx context.Context, r store.Replay) error {
	c, err := s.Scope(identity.Tenant(r.Owner)).Get(ctx, r.Conversation)
	if err != nil {
		return err
	}
	recorded, err := s.recording(ctx, recording(r.Conversation))
	if err == nil {
		err = c.Replay(ctx, recorded)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, session.ErrLocked) {
		err = errors.Join(err, c.EndReplay(ctx, err))
	}
	return err
}

// recording reads what was recorded from a file.
func (s *Service) recording(ctx context.Context, key string) (_ []event.Event, err error) {
	f, err := s.o.Files.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	raw, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	return s.o.Trajectories.Read(io.NewSectionReader(bytes.NewReader(raw), 0, int64(len(raw))))
}

// resumeReplay goes on with the replay of a conversation whose server has ended, and reports
// whether there is one.
func (s *Service) resumeReplay(id event.ConversationID) bool {
	r, err := s.o.Store.Replay(s.ctx, id)
	if fault.Is(err, fault.NotFound) {
		return false
	}
	if err != nil {
		if s.ctx.Err() == nil {
			s.o.Log.Warn("cannot continue a replay of a server that has ended", "conversation", id, "err", err)
		}
		return true // it must not be asked of a model
	}
	s.beginReplay(r)
	return true
}

// pieces reads what a function returns, until an error.
type pieces struct {
	next func() ([]byte, error)
	left []byte
}

func reader(next func() ([]byte, error)) io.Reader { return &pieces{next: next} }

// Read implements [io.Reader].
func (p *pieces) Read(b []byte) (int, error) {
	for len(p.left) == 0 {
		var err error
		if p.left, err = p.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, p.left)
	p.left = p.left[n:]
	return n, nil
}
