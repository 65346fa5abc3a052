package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
)

// salvageCmd rescues the readable part of a damaged store.
type salvageCmd struct {
	Into string `help:"New data directory (default: the damaged one's path with -salvaged added)." placeholder:"DIR" type:"path"`
	JSON bool   `name:"json" help:"Print the result as a JSON object."`
}

// Help is shown by deft conversations salvage --help.
func (c *salvageCmd) Help() string {
	return `Copies every event that can still be read into a new data directory, and says what is lost.
The damaged files are only read: nothing is changed or deleted in them.`
}

// salvageJSON is the report as --json prints it.
type salvageJSON struct {
	Data          string         `json:"data"`
	Conversations []salvagedJSON `json:"conversations"`
}

type salvagedJSON struct {
	ID       event.ConversationID `json:"id"`
	Events   int                  `json:"events"`
	Lost     int                  `json:"lost"`
	LostTail bool                 `json:"lost_tail,omitempty"`
	Unnamed  bool                 `json:"unnamed,omitempty"`
}

// Run copies and reports.
func (c *salvageCmd) Run(ctx context.Context, std *streams, g *globalFlags) error {
	damaged, err := findPaths(g.Data, std.Env)
	if err != nil {
		return err
	}
	fresh := paths{data: cmp.Or(c.Into, damaged.data+"-salvaged")}
	if fresh.data, err = filepath.Abs(fresh.data); err != nil {
		return fmt.Errorf("find the new data directory: %w", err)
	}
	if _, err := os.Stat(filepath.Join(damaged.store(), "events.db")); err != nil {
		return fault.New(fault.Invalid, "there is no store to salvage").Because(err).Hint("name its data directory with --data")
	}
	rep, err := sqlite.Salvage(ctx, damaged.store(), fresh.store())
	if fault.Is(err, fault.Corrupt) || err == nil && len(rep.Conversations) == 0 { // not with its own hint, which is to salvage
		return fault.New(fault.Corrupt, "nothing of "+damaged.store()+" can be salvaged").Because(err).
			Hint("restore a backup, or begin with another directory: --data DIR")
	}
	if err != nil {
		return fmt.Errorf("salvage %s: %w", damaged.store(), err)
	}
	out := salvageJSON{Data: fresh.data, Conversations: []salvagedJSON{}}
	for _, s := range rep.Conversations {
		out.Conversations = append(out.Conversations, salvagedJSON{s.ID, s.Events, len(s.Lost), s.LostTail, s.Unnamed})
	}
	if c.JSON {
		return std.PrintJSON(out)
	}
	for _, s := range out.Conversations {
		fmt.Fprintf(std.Out, "%s  %d events%s\n", s.ID, s.Events, s.losses())
	}
	_, err = fmt.Fprintf(std.Err, "%d conversations are in %s; the damaged files are as they were.\nLook at them:  deft --data %s conversations list\nKeep them:     export DEFT_DATA=%s\n",
		len(out.Conversations), fresh.data, stdio.Quoted(fresh.data), stdio.Quoted(fresh.data))
	return err
}

func (s salvagedJSON) losses() string {
	text := ""
	if s.Lost > 0 {
		text += fmt.Sprintf(", %d lost", s.Lost)
	}
	if s.LostTail {
		text += ", and those after the last one may be lost"
	}
	if s.Unnamed {
		text += " (its own record was lost: this id is new)"
	}
	return text
}
