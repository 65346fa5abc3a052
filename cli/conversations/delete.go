package conversations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/session"
)

// Delete deletes conversations that nobody runs, with their sandboxes. It is a command line, for kong.
type Delete struct {
	IDs       []string `arg:"" name:"id" help:"Ids, the starts of them, \"last\" for the last one of this directory, or \"last:any\"." complete:"conversations"`
	Yes       bool     `short:"y" help:"Do not ask."`
	Worktrees bool     `help:"Remove the Git worktrees of forks too, with everything in them."`
	JSON      bool     `name:"json" help:"Print the deleted ids as JSON."`
}

// Deletion opens the store of events and the other parts of conversations, for as long as
// do runs.
type Deletion func(do func(eventstream.Stream, Parts) error) error

// Parts are the parts of conversations beside their events.
type Parts interface {
	// Lock keeps other programs from a conversation. Conflict if one runs it.
	Lock(ctx context.Context, id event.ConversationID) (release func(), err error)
	// RemoveSandbox removes the sandbox of a conversation, if it has one.
	RemoveSandbox(ctx context.Context, id event.ConversationID) error
	// RemoveCheckpoints removes the checkpoints of its files.
	RemoveCheckpoints(ctx context.Context, id event.ConversationID) error
}

// Run deletes conversations.
func (c *Delete) Run(ctx context.Context, std *stdio.Streams, with Deletion) error {
	return with(func(s eventstream.Stream, parts Parts) error {
		ids, err := c.chosen(ctx, std, s)
		if err != nil {
			return err
		}
		for _, id := range ids {
			info, left, err := remove(ctx, s, parts, id)
			if err == nil {
				err = c.leaveWorktree(ctx, std, worktreeOf(info))
			}
			if err == nil {
				err = deleted(std, id, left, c.JSON)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// removeTimeout bounds how long a deletion waits for the conversation's sandbox.
const removeTimeout = 30 * time.Second

// remove deletes one conversation. It returns the stored facts about it, and why its sandbox is
// left behind. A conversation whose deletion fails half way can be deleted again. An engine
// that is not there to remove a container does not matter.
func remove(ctx context.Context, s eventstream.Stream, parts Parts, id event.ConversationID) (info eventstream.Info, left, err error) {
	unlock, err := parts.Lock(ctx, id)
	if err != nil {
		return info, nil, err
	}
	defer unlock()
	info, err = s.Info(ctx, id)
	if err != nil && !fault.Is(err, fault.Corrupt) {
		return info, nil, err
	}
	limited, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	left = parts.RemoveSandbox(limited, id)
	if err = left; err == nil || ctx.Err() == nil && (fault.Is(err, fault.Unavailable) || limited.Err() != nil) {
		if err = parts.RemoveCheckpoints(ctx, id); err == nil {
			err = s.Delete(ctx, id)
		}
	}
	if err != nil {
		return info, nil, fmt.Errorf("delete conversation %s: %w", id, err)
	}
	return info, left, nil
}

// leaveWorktree removes the worktree of a deleted conversation, or says that it stays.
func (c *Delete) leaveWorktree(ctx context.Context, std *stdio.Streams, root string) error {
	if root == "" {
		return nil
	}
	if _, err := os.Lstat(root); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if c.Worktrees {
		return session.Worktrees{}.RemoveWorktree(ctx, root)
	}
	if !c.JSON {
		fmt.Fprintf(std.Err, "its files stay in the Git worktree %s; to remove it: git worktree remove %s\n", console.Line(root), stdio.Quoted(root))
	}
	return nil
}

// worktreeOf is the root of the Git worktree that was made for a conversation; "" for none.
func worktreeOf(i eventstream.Info) string {
	var made struct {
		Worktree string `json:"worktree"`
	}
	if json.Unmarshal(i.Meta.Extra, &made) != nil { // imported from elsewhere
		return ""
	}
	return made.Worktree
}

// chosen returns the conversations that are meant, each once, after the user was asked.
// All names are looked up before any conversation is deleted, so that none of them takes
// another meaning meanwhile.
func (c *Delete) chosen(ctx context.Context, std *stdio.Streams, s eventstream.Stream) ([]event.ConversationID, error) {
	var ids []event.ConversationID
	for _, name := range c.IDs {
		id, err := Resolve(ctx, s, name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if c.Yes {
		return ids, nil
	}
	for _, id := range ids {
		info, err := s.Info(ctx, id)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(std.Err, "%s  %d events  %s  %s\n", id, info.Events, console.Line(info.Meta.WorkingDir), console.Line(info.Meta.Title))
	}
	would, question := "a conversation would be deleted", "delete it?"
	if len(ids) > 1 {
		would, question = fmt.Sprintf("%d conversations would be deleted", len(ids)), "delete them?"
	}
	return ids, std.Confirm(ctx, would, question, "nothing was deleted", c.JSON)
}

// deleted says that a conversation is deleted, and which part of it is left behind.
func deleted(std *stdio.Streams, id event.ConversationID, left error, asJSON bool) error {
	done := struct {
		Deleted event.ConversationID `json:"deleted"`
		Left    string               `json:"left_behind,omitempty"`
	}{Deleted: id}
	hint := fault.HintOf(left)
	if left != nil {
		done.Left = left.Error()
	}
	if asJSON {
		return std.PrintJSON(done)
	}
	if _, err := fmt.Fprintln(std.Out, "deleted", id); err != nil || left == nil {
		return err
	}
	fmt.Fprintln(std.Err, "deft: warning: its sandbox is left behind:", console.Line(done.Left))
	if hint != "" {
		fmt.Fprintln(std.Err, "  →", console.Line(hint))
	}
	return nil
}
