package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"time"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/realpath"
	"github.com/deft-dev/deft/internal/workspacedir"
)

// ForkOptions say how a fork differs from its source. JSON names are OpenHands'
// (docs/openhands/sdk-wire.md section 4).
type ForkOptions struct {
	ID           event.ConversationID `json:"id"` // empty for a new one
	Title        string               `json:"title"`
	Tags         map[string]string    `json:"tags"`
	ResetMetrics *bool                `json:"reset_metrics"` // true by default
	From         event.ID             `json:"from_event_id"` // the last event it shares; HEAD if empty
	// Files gives the fork files of its own, as they were at From; nil lets it work
	// in the directory of its source, with the files as they are.
	Files *ForkFiles `json:"-"`
}

// ForkFiles say where the files of a fork are.
type ForkFiles struct {
	// Dir is the directory, which is empty or made; it is absolute. Empty means a Git
	// worktree of the source's repository.
	Dir string
}

// Fork makes a conversation that shares the events up to one of this one.
// Conflict if the id is taken, NotFound for an unknown event, or one without a
// checkpoint if the fork is to have files of its own.
func (b Branches) Fork(ctx context.Context, o ForkOptions) (*Conversation, error) {
	if o.ID == "" {
		o.ID = event.NewConversationID()
	}
	w, err := b.c.work(ctx)
	if err != nil {
		return nil, err
	}
	e := b.c.m.hold(o.ID)
	if e.c != nil {
		b.c.m.release(o.ID, e, e.c)
		return nil, errTaken(o.ID)
	}
	f, err := b.forkTo(ctx, w, o)
	b.c.m.release(o.ID, e, f)
	if err != nil || o.Files == nil {
		return f, err
	}
	return f, f.Branches().recordMove(ctx, b.c.Workspace())
}

func errTaken(id event.ConversationID) error {
	return fault.New(fault.Conflict, "Conversation with id "+string(id)+" already exists")
}

func (b Branches) forkTo(ctx context.Context, w *worker, o ForkOptions) (_ *Conversation, err error) {
	b.c.mu.Lock()
	f := newConversation(b.c.m, o.ID)
	f.rec, f.agent = b.c.rec, b.c.agent
	f.meta = eventstream.Meta{
		Owner: b.c.meta.Owner, Title: o.Title, Tags: maps.Clone(o.Tags), WorkingDir: b.c.meta.WorkingDir, ForkOf: b.c.id,
	}
	b.c.mu.Unlock()
	f.rec.Children, f.rec.Queue, f.rec.ForkedAt, f.rec.SubAgent = nil, nil, o.From, ""
	f.created = time.Now()
	f.meta.Created = f.created
	if o.Files != nil {
		remove, err := b.forkFiles(ctx, w, f, o)
		if err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, remove(context.WithoutCancel(ctx)))
			}
		}()
	}
	meta, err := f.encodeMeta()
	if err != nil {
		return nil, err
	}
	keep := o.ResetMetrics != nil && !*o.ResetMetrics
	err = w.Controller.Fork(ctx, o.ID, controller.ForkOptions{At: o.From, KeepMetrics: keep, Meta: meta})
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, fault.New(fault.NotFound, "Unknown from_event_id: "+string(o.From))
	case fault.Is(err, fault.Conflict):
		return nil, errTaken(o.ID)
	case err != nil:
		return nil, err
	}
	f.use.touch()
	return f, f.openSecrets(f.rec.Secrets)
}

// forkFiles gives f a workspace with the files of the event that it begins at.
func (b Branches) forkFiles(ctx context.Context, w *worker, f *Conversation, o ForkOptions) (remove func(context.Context) error, err error) {
	cps, err := b.checkpoints(ctx)
	if err != nil {
		return nil, err
	}
	r, all, err := b.filesToFork(ctx, cps, w, o.From)
	if err != nil {
		return nil, err
	}
	root, dir, remove, err := b.forkDirectory(ctx, o, r)
	if err != nil {
		return nil, err
	}
	from := checkpoint.Point{Workspace: b.c.Workspace(), Conversation: b.c.id}
	to := checkpoint.Point{Workspace: dir, Conversation: f.id, Event: r.Event}
	if err = cps.Fork(ctx, from, to, all, r); err == nil {
		f.rec.Directory, err = workspacedir.Identify(dir)
	}
	if err != nil {
		return nil, errors.Join(err, remove(context.WithoutCancel(ctx)))
	}
	f.rec.Workspace.WorkingDir, f.rec.Worktree, f.meta.WorkingDir = dir, root, dir
	return func(ctx context.Context) error { return errors.Join(remove(ctx), cps.Remove(ctx, f.id)) }, nil
}

// filesToFork returns the checkpoint of an event, "" for HEAD, and the events up to it
// that have one. At HEAD, and where no action has followed and none is kept, the files are taken as
// they are now.
func (b Branches) filesToFork(ctx context.Context, cps *checkpoint.Store, w *worker, at event.ID) (r checkpoint.Record, have []event.ID, err error) {
	head := w.State().Head
	at = cmp.Or(at, head)
	t, err := b.tree(ctx)
	if err != nil {
		return r, nil, err
	}
	if at, err = b.onTree(ctx, at); err != nil {
		return r, nil, err
	}
	all, err := cps.All(ctx, b.c.Workspace(), b.c.id)
	if err != nil {
		return r, nil, err
	}
	r, known := t.FilesAt(at, all)
	switch {
	case at == head, !known && !t.Acted(at, head):
		if w.Busy() {
			return r, nil, fault.New(fault.Conflict, "the conversation is running").Hint("stop it first, or fork at an earlier event")
		}
		p := b.present(ctx, head)
		p.Again = true
		if r, err = cps.Take(ctx, p); err != nil {
			return r, nil, fmt.Errorf("keep the files: %w", err)
		}
	default:
		if err := b.settled(ctx, at); err != nil {
			return r, nil, err
		}
		if !known {
			return r, nil, noFilesAt(at)
		}
	}
	for shared := at; shared != ""; shared = t.Parent(shared) {
		if _, ok := all[shared]; ok {
			have = append(have, shared)
		}
	}
	r.Event = at // of which the fork has a checkpoint then
	return r, have, nil
}

// forkDirectory makes the directory of a fork: dir, and the root of its worktree if it
// is in one. remove takes it away again.
func (b Branches) forkDirectory(ctx context.Context, o ForkOptions, r checkpoint.Record) (root, dir string, remove func(context.Context) error, err error) {
	if dir = o.Files.Dir; dir == "" {
		base := WorktreeOptions{Base: "head"}
		if r.Commit != "" {
			base.Base, base.Ref = "ref", &r.Commit
		}
		if root, dir, err = b.c.m.o.Files.AddWorktree(ctx, b.c.Workspace(), o.ID, &base); err != nil {
			return "", "", nil, err
		}
		if root == "" {
			return "", "", nil, fault.New(fault.Invalid, "the workspace "+b.c.Workspace()+" is in no Git repository with a commit").
				Hint("name a directory for its files: --workspace DIR")
		}
		return root, dir, func(ctx context.Context) error { return b.c.m.o.Files.RemoveWorktree(ctx, root) }, nil
	}
	dir = realpath.Resolve(dir)
	found, err := os.ReadDir(dir)
	missing := errors.Is(err, os.ErrNotExist)
	switch {
	case err != nil && !missing:
		return "", "", nil, fault.Wrap(err, fault.Invalid, "read the directory of the fork")
	case len(found) > 0:
		return "", "", nil, fault.New(fault.Conflict, dir+" is not empty").Hint("name an empty directory, or a new one")
	}
	if err := b.c.m.o.Files.Prepare(ctx, dir, true); err != nil {
		return "", "", nil, err
	}
	return "", dir, func(context.Context) error {
		if !missing {
			return nil // it is the user's
		}
		return os.RemoveAll(dir)
	}, nil
}

// recordMove tells the model of a fork that its files are in another directory.
func (b Branches) recordMove(ctx context.Context, from string) error {
	text := "From here on you work in a copy of the files in " + b.c.Workspace() + ". Paths below " + from + " that were used so far are of another copy: use " + b.c.Workspace() + " in their place."
	m := event.NewUserMessage(text)
	m.Source = event.SourceEnvironment
	return b.c.withWorker(ctx, func(w *worker) error { return w.Record(ctx, m) })
}
