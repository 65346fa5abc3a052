package session

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/session/internal/history"
)

// UndoOptions say how far a conversation goes back.
type UndoOptions struct {
	// To is the event that it goes back to; empty for the one before the last message of
	// the user.
	To event.ID
	// KeepFiles leaves the files as they are.
	KeepFiles bool
	// Commits takes Git's checkout back with the files, see [Moved].
	Commits bool
	// KeepOwn leaves the files of [Undone.Own] as they are.
	KeepOwn bool
	// Preview changes nothing.
	Preview bool
}

// Undone is the result of an undo, or of its preview.
type Undone struct {
	// From and To are the events that HEAD was at, and is at; To is empty where no
	// event is before. Undoing to From takes the undo back.
	From, To event.ID
	Files    checkpoint.Changes
	Commits  Moved
	// Own are those of Files, or those that were left, that were changed after the last event of
	// the conversation: by the user, or by another program. Only a preview or KeepOwn has them.
	Own []string
}

// Undo takes a conversation and the files of its workspace back to an event. Files stay as
// they are if no action has followed it. No event is deleted: the next one begins a branch.
// Invalid if there is nothing to undo, NotFound for an unknown event or files without
// checkpoint ([ErrNoCheckpoint]), Unsupported if there are no checkpoints, Conflict while it
// runs.
func (b Branches) Undo(ctx context.Context, o UndoOptions) (u Undone, err error) {
	err = b.c.withWorker(ctx, func(w *worker) error {
		if w.Busy() {
			return fault.New(fault.Conflict, "the conversation is running").Hint("stop it first")
		}
		t, err := b.tree(ctx)
		if err != nil {
			return err
		}
		s := w.State()
		to, files := o.To, o.To
		if to == "" {
			if s.LastUserMessage == "" {
				return fault.New(fault.Invalid, "there is nothing to undo: the conversation has no message of the user")
			}
			to, files = t.Parent(s.LastUserMessage), s.LastUserMessage
		}
		if u.To, err = b.onTree(ctx, to); err != nil {
			return err
		}
		if err := b.settled(ctx, u.To); err != nil {
			return err
		}
		if u.From = s.Head; u.To == u.From && o.To != "" && o.KeepFiles {
			return fault.New(fault.Invalid, "the conversation is at this event already")
		}
		if !o.KeepFiles && t.Acted(u.To, u.From) {
			r, err := b.filesAt(ctx, t, files)
			if err != nil {
				return err
			}
			present := b.present(ctx, u.From)
			if o.Preview || o.KeepOwn {
				changes, err := b.restoreFiles(ctx, present, r, true, nil)
				if err != nil {
					return err
				}
				u.Files, u.Own = changes, b.changedAfter(changes, s.LastTime)
			}
			if !o.Preview {
				var leave []string
				if o.KeepOwn {
					leave = u.Own
				}
				if u.Files, err = b.restoreFiles(ctx, present, r, false, leave); err != nil {
					return err
				}
			}
			if o.Commits {
				u.Commits = undoCommits(ctx, w.res.RunProgram, b.c.Workspace(), present.Checkout, r.Checkout, o.Preview)
			}
		}
		if o.Preview || u.To == u.From {
			return nil
		}
		if err := w.Navigate(ctx, u.To); err != nil {
			return err
		}
		w.saveIfIdle()
		return nil
	})
	return u, err
}

// filesAt returns the checkpoint of the files at an event.
func (b Branches) filesAt(ctx context.Context, t history.Tree, at event.ID) (checkpoint.Record, error) {
	cps, err := b.checkpoints(ctx)
	if err != nil {
		return checkpoint.Record{}, err
	}
	all, err := cps.All(ctx, b.c.Workspace(), b.c.id)
	if err != nil {
		return checkpoint.Record{}, err
	}
	r, ok := t.FilesAt(at, all)
	if !ok {
		return checkpoint.Record{}, noFilesAt(at)
	}
	return r, nil
}

// changedAfter returns the files among changes that are there and were changed after a time.
func (b Branches) changedAfter(changes checkpoint.Changes, last event.Timestamp) (own []string) {
	t, ok := last.Time()
	if !ok { // of an imported conversation
		return nil
	}
	for _, path := range slices.Concat(changes.Written, changes.Removed) {
		var st unix.Stat_t
		if unix.Lstat(filepath.Join(b.c.Workspace(), path), &st) == nil && time.Unix(st.Ctim.Unix()).After(t) {
			own = append(own, path)
		}
	}
	slices.Sort(own)
	return own
}

// restoreFiles brings the files of a checkpoint back, but for those to leave, and takes one of
// the present.
func (b Branches) restoreFiles(ctx context.Context, present checkpoint.Point, r checkpoint.Record, preview bool, leave []string) (checkpoint.Changes, error) {
	cps, err := b.checkpoints(ctx)
	if err != nil {
		return checkpoint.Changes{}, err
	}
	if preview {
		return cps.Compare(ctx, b.c.Workspace(), r)
	}
	return cps.Restore(ctx, present, r, leave...)
}

// ErrNoCheckpoint is in the chain of errors about files that are not known at an event.
var ErrNoCheckpoint = fault.New(fault.NotFound, "no checkpoint")

func noFilesAt(id event.ID) error {
	return fault.New(fault.NotFound, "the files at the event "+string(id)+" are not known").Because(ErrNoCheckpoint)
}

// Point is an event of a conversation at which its files are known.
type Point struct {
	Event      event.ID
	Text       string // of a message; the kind of any other event
	Checkpoint checkpoint.Record
}

// Points returns the events that have a checkpoint, of all branches, in order.
func (b Branches) Points(ctx context.Context) (points []Point, err error) {
	cps, err := b.checkpoints(ctx)
	if err != nil {
		return nil, err
	}
	all, err := cps.All(ctx, b.c.Workspace(), b.c.id)
	if err != nil {
		return nil, err
	}
	for rec, err := range b.c.m.o.Store.Read(ctx, b.c.id, 1) {
		if err != nil {
			return nil, fmt.Errorf("read the events of conversation %s: %w", b.c.id, err)
		}
		r, ok := all[rec.ID]
		if !ok {
			continue
		}
		p := Point{Event: rec.ID, Text: rec.Kind, Checkpoint: r}
		if ev, err := rec.Event(); err != nil {
			return nil, fmt.Errorf("read event %s: %w", rec.ID, err)
		} else if m, ok := ev.(*event.MessageEvent); ok {
			p.Text = event.JoinText(m.LLMMessage.Content)
		}
		points = append(points, p)
	}
	return points, nil
}
