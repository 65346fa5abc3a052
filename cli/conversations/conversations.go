// Package conversations lists and shows stored conversations in a terminal, for `deft
// conversations`, and finds the one that a user names.
//
// # Usage
//
//	type conversationsCmd struct {
//		List conversations.List `cmd:"" default:"withargs"`
//	}
//
// # Failure
//
// A damaged record is left out of a list and named on standard error. An unknown name is
// fault.NotFound.
package conversations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/listing"
	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/realpath"
	"github.com/deft-dev/deft/state"
)

// With opens the store of events, with the locks of its conversations, for as long as do
// runs.
type With func(do func(eventstream.Stream, listing.Locks) error) error

// Resolve finds the conversation that a user means, by [eventstream.Find] in the working
// directory.
func Resolve(ctx context.Context, s eventstream.Stream, name string) (event.ConversationID, error) {
	return ResolveIn(ctx, s, name, ".")
}

// ResolveIn does that for another directory.
func ResolveIn(ctx context.Context, s eventstream.Stream, name, dir string) (event.ConversationID, error) {
	id, err := eventstream.Find(ctx, s, name, realpath.Resolve(dir))
	if fault.Is(err, fault.NotFound) && fault.HintOf(err) == "" {
		err = fault.New(fault.NotFound, "there is no conversation yet").Hint(runcommand.NoTask)
	}
	return id, err
}

// List lists conversations. It is a command line, for kong.
type List struct {
	All    bool   `short:"a" help:"List the conversations of all directories, not only of this one and of the directories around and below it."`
	Status string `help:"Only conversations of this status: ${enum}." enum:"all,idle,running,interrupted,paused,waiting_for_confirmation,finished,error,stuck,deleting" default:"all" placeholder:"STATUS"`
	Limit  int    `help:"How many; 0 for all." default:"20"`
	JSON   bool   `name:"json" help:"One JSON object a line."`
}

// Run lists conversations.
func (c *List) Run(ctx context.Context, std *stdio.Streams, with With) error {
	if c.Limit < 0 {
		return fault.New(fault.Invalid, "--limit must not be negative").Hint("0 lists all")
	}
	return with(func(s eventstream.Stream, locks listing.Locks) error {
		w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
		status := strings.TrimPrefix(c.Status, "all")
		q := listing.Query{Status: status, Limit: c.Limit, Dir: ".", Damaged: func(id event.ConversationID, err error) {
			line := stdio.OneLine(err.Error())
			if id != "" { // else it is part of the damage
				line = string(id) + ": " + line
			}
			fmt.Fprintln(std.Err, "deft: a record is damaged and left out:", line)
		}}
		if c.All {
			q.Dir = ""
		}
		q.WithoutParent = status == "" && !c.JSON // they stand under their parents
		row := func(mark string, i listing.Conversation) error {
			_, err := fmt.Fprintf(w, "%s%s\t%s\t%s\t%d events\t%s\t%s\t%s\t%s\n", mark, i.ID, listing.Age(time.Since(i.Updated)), i.Status, i.Events,
				i.Cost(), console.Line(cmp.Or(i.Model, "-")), console.Line(cmp.Or(i.Workspace, "-")), console.Line(i.Title))
			return err
		}
		n, err := listing.List(ctx, s, locks, q, func(i listing.Conversation) error {
			if c.JSON {
				return std.PrintJSON(i)
			}
			if err := row("", i); err != nil || !q.WithoutParent {
				return err
			}
			for _, id := range i.Children {
				info, err := s.Info(ctx, id)
				if err != nil {
					continue // it was deleted, or is damaged
				}
				child, err := listing.Describe(info, locks)
				if err == nil {
					err = row("└ ", child)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		switch {
		case n > 0 || c.JSON || err != nil:
		case status != "" && c.All:
			fmt.Fprintln(std.Err, "no conversation has the status", status)
		case status != "":
			fmt.Fprintf(std.Err, "no conversation of this directory has the status %s; --all looks in all directories\n", status)
		case c.All:
			fmt.Fprintln(std.Err, `no conversations yet: deft run "…" makes one`)
		default:
			fmt.Fprintln(std.Err, `no conversations of this directory yet: deft run "…" makes one; --all lists every directory`)
		}
		return errors.Join(w.Flush(), err)
	})
}

// Show shows a conversation. It is a command line, for kong.
type Show struct {
	ID     string `arg:"" help:"The conversation's id, the start of it, \"last\" for the last one of this directory, or \"last:any\"." complete:"conversations"`
	Full   bool   `help:"Show everything: whole output and files, arguments, reasoning, the system prompt."`
	Follow bool   `short:"F" help:"Go on showing new events, until Ctrl-C."`
	JSON   bool   `name:"json" help:"Every event as a line of JSON, as stored."`
}

// Run shows a conversation.
func (c *Show) Run(ctx context.Context, std *stdio.Streams, with With) error {
	return with(func(s eventstream.Stream, locks listing.Locks) error {
		id, err := Resolve(ctx, s, c.ID)
		if err != nil {
			return err
		}
		events := s.Read(ctx, id, 1)
		undone := func(eventstream.Record) bool { return false }
		if c.Follow {
			events = s.Follow(ctx, id, 1)
		} else if undone, err = undoneIn(ctx, s, id); err != nil {
			return err
		}
		within := false // an undone part
		p := console.New(console.Options{Out: std.Out, Color: std.Color(std.OutTTY), Full: c.Full})
		if !c.JSON {
			if err := showHeader(ctx, s, locks, id, p); err != nil {
				return err
			}
		}
		for rec, err := range events {
			if err != nil {
				return fmt.Errorf("read conversation %s: %w", id, err)
			}
			if c.JSON {
				fmt.Fprintf(std.JSONOut(), "%s\n", rec.JSON)
				continue
			}
			ev, err := rec.Event()
			if err != nil {
				return fmt.Errorf("event %d: %w", rec.Seq, err)
			}
			if now := undone(rec); now != within {
				within = now
				p.Note(map[bool]string{true: "── undone:", false: "── end of the undone part"}[now])
			}
			if up, ok := ev.(*event.ConversationStateUpdateEvent); ok && up.Key == controller.KeyRetry {
				p.Retry(runcommand.RetryText(up.Value))
			}
			p.Event(ev)
		}
		return nil
	})
}

// undoneIn reports which events of a conversation are not on its active branch: they were undone,
// and the model does not see them.
func undoneIn(ctx context.Context, s eventstream.Stream, id event.ConversationID) (func(eventstream.Record) bool, error) {
	var all []event.Event
	f := state.NewFold(func(seq int64) (event.Event, error) { return all[seq-1], nil })
	for rec, err := range s.Read(ctx, id, 1) {
		if err != nil {
			return nil, fmt.Errorf("read conversation %s: %w", id, err)
		}
		ev, err := rec.Event()
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", rec.Seq, err)
		}
		if all = append(all, ev); int(rec.Seq) != len(all) {
			return func(eventstream.Record) bool { return false }, nil // of a damaged one
		}
		if err := f.Apply(int64(rec.Seq), ev); err != nil {
			return nil, fmt.Errorf("event %d: %w", rec.Seq, err)
		}
	}
	runs, err := f.Runs("")
	if err != nil {
		return nil, err
	}
	last := false
	return func(rec eventstream.Record) bool {
		if f.Has(rec.ID) { // else it is on no branch
			last = !slices.ContainsFunc(runs, func(r state.Run) bool { return r.First <= int64(rec.Seq) && int64(rec.Seq) <= r.Last })
		}
		return last
	}, nil
}

// showHeader shows a conversation's description.
func showHeader(ctx context.Context, s eventstream.Stream, locks listing.Locks, id event.ConversationID, p *console.Printer) error {
	i, err := s.Info(ctx, id)
	if err != nil {
		return err
	}
	c, err := listing.Describe(i, locks)
	if err != nil {
		return err
	}
	const at = "2006-01-02 15:04"
	for _, row := range [][2]string{
		{"conversation", string(c.ID)}, {"title", c.Title}, {"workspace", c.Workspace}, {"model", c.Model},
		{"status", strings.TrimSuffix(fmt.Sprintf("%s, %d events, %s", c.Status, c.Events, c.Cost()), ", -")},
		{"created", c.Created.Local().Format(at) + ", changed " + c.Updated.Local().Format(at)},
	} {
		if row[1] != "" {
			p.Note(fmt.Sprintf("%-12s  %s", row[0], console.Line(row[1])))
		}
	}
	p.Note("")
	return nil
}
