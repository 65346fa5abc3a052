package conversations

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream/openhands"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/worktree"
	"github.com/deft-dev/deft/job"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/session"
)

// Replay starts a conversation that sends the user messages of a recorded one and does its
// actions anew, with real tools and without a model, in an empty workspace of a new
// sandbox. It returns while that is at work, which a server that ends leaves to the next one.
// Without a title it has that of
// what was recorded, or one of its first message. Invalid for what cannot be replayed.
func (s *Service) Replay(ctx context.Context, owner identity.Tenant, title string, r *io.SectionReader) (*Info, error) {
	recorded, err := recordedIn(r)
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
	b, err := s.o.Sandboxes.Create(ctx, owner)
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

// keepReplay stores a recording, and has a conversation replay it in the background.
func (s *Service) keepReplay(ctx context.Context, owner identity.Tenant, id event.ConversationID, recorded []event.Event, l store.RunLimit) error {
	if err := s.o.Files.Put(ctx, recording(id), encoded(recorded)); err != nil {
		return err
	}
	_, err := s.o.Jobs.Add(ctx, job.Request{Kind: store.ReplayKind, Owner: owner, Subject: id, Key: string(id)}, func(ctx context.Context, j job.Job) error {
		return s.o.Store.AddRun(ctx, j, l)
	})
	if errors.Is(err, job.ErrExists) { // a start task that is done again
		return nil
	}
	if err != nil {
		err = errors.Join(err, s.o.Files.Delete(context.WithoutCancel(ctx), recording(id)))
	}
	return err
}

// dropRecording deletes the file of a start that has ended, if it has one.
func (s *Service) dropRecording(ctx context.Context, t store.Task) {
	if r, err := stored(t); err != nil || !r.Replays {
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

// replayKind says how replays are done. A conversation that another server has locked is
// waited for.
func (s *Service) replayKind() job.Kind {
	return job.Kind{
		Name: store.ReplayKind, Attempts: -1, Pause: 250 * time.Millisecond, MaxPause: 30 * time.Second, Handler: job.HandlerFunc(s.doReplay),
	}
}

// doReplay replays what is left of a recording, and removes the file of the recording.
func (s *Service) doReplay(ctx context.Context, run *job.Run) error {
	err := s.replayRest(ctx, run.Owner, run.Subject)
	switch {
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), job.ErrCancelled):
		return err // another server continues
	case errors.Is(err, session.ErrLocked):
		return job.Again(err)
	}
	run.State = job.Done
	if err != nil {
		s.o.Log.Warn("the replay has ended early", "conversation", run.Subject, "err", err)
		run.State, run.Error = job.Failed, err.Error()
	}
	ctx = context.WithoutCancel(ctx)
	if err := run.Save(ctx, nil); err != nil && !errors.Is(err, job.ErrLost) {
		run.State, run.Error = job.Ready, ""
		return job.Again(err)
	}
	// Last: a server that continues needs the file. Without a job the conversation is deleted.
	return s.o.Files.Delete(ctx, recording(run.Subject))
}

// replayRest replays what is left of a recording. An error that its user has to know is
// recorded in the conversation.
func (s *Service) replayRest(ctx context.Context, owner identity.Tenant, id event.ConversationID) error {
	c, err := s.Scope(owner).Get(ctx, id)
	if err != nil {
		return err
	}
	recorded, err := s.recording(ctx, recording(id))
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
	return recordedIn(io.NewSectionReader(bytes.NewReader(raw), 0, int64(len(raw))))
}

// recordedIn decodes the events of a trajectory or of a zip file of a conversation.
func recordedIn(r *io.SectionReader) ([]event.Event, error) {
	in, err := openhands.Unzipped(r, maxReplayed)
	if err != nil {
		return nil, err
	}
	return openhands.ReadTrajectory(in)
}

// Replays reports whether a conversation replays a recording, which its job continues, here
// if the job's server has ended.
func (s *Service) Replays(ctx context.Context, id event.ConversationID) bool {
	found, err := s.o.Jobs.Recover(ctx, store.ReplayKind, id)
	if err != nil && ctx.Err() == nil {
		s.o.Log.Warn("cannot continue a replay of a server that has ended", "conversation", id, "err", err)
		return true // a model must not be asked
	}
	return found
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

// Demo is a recorded session, which is replayed with real tools and without a model.
type Demo struct {
	Title string
	// Unpack writes the repository of the session into a directory, and returns the
	// session as it would be there.
	Unpack func(dir string) ([]event.Event, error)
}

// StartDemo starts a conversation that replays the recorded session in a new sandbox, and
// returns while it is at work. Unsupported if there is no recording, Conflict where
// workspaces are not on this machine.
func (s *Service) StartDemo(ctx context.Context, owner identity.Tenant) (*Info, error) {
	if s.o.Demo == nil {
		return nil, fault.New(fault.Unsupported, "this server has no demo")
	}
	if s.o.Sandboxes.Elsewhere() {
		return nil, fault.New(fault.Conflict, "the demo cannot be shown: its repository is on this server, and the workspaces of sandboxes are elsewhere")
	}
	return s.startReplay(ctx, owner, s.o.Demo.Title, func(c *session.Conversation) ([]event.Event, error) {
		return s.o.Demo.Unpack(c.Workspace())
	})
}
