package conversations

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
)

// Delete says which conversations are to be deleted. It is a command line, for kong.
type Delete struct {
	IDs       []string `arg:"" name:"id" help:"Ids, the starts of them, \"last\" for the last one of this directory, or \"last:any\"." complete:"conversations"`
	Yes       bool     `short:"y" help:"Do not ask."`
	Worktrees bool     `help:"Remove the Git worktrees of forks too, with everything in them."`
	JSON      bool     `name:"json" help:"Print the deleted ids as JSON."`
}

// Worktree is the root of the Git worktree that was made for a conversation; "" for none.
func Worktree(i eventstream.Info) string {
	var made struct {
		Worktree string `json:"worktree"`
	}
	if json.Unmarshal(i.Meta.Extra, &made) != nil { // imported from elsewhere
		return ""
	}
	return made.Worktree
}

// Chosen returns the conversations that are meant, each once, after the user was asked.
// All names are looked up before any conversation is deleted, so that none of them takes
// another meaning meanwhile.
func (c *Delete) Chosen(ctx context.Context, std *stdio.Streams, s eventstream.Stream) ([]event.ConversationID, error) {
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
