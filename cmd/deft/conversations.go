package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/listing"
	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/cli/undo"
	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/openhands"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/session/build"
	"github.com/deft-dev/deft/session/conversationlock"
)

// conversationsCmd works on stored conversations.
type conversationsCmd struct {
	List    listCmd    `cmd:"" default:"withargs" help:"List conversations, newest first."`
	Show    showCmd    `cmd:"" help:"Show what happened in a conversation."`
	Export  exportCmd  `cmd:"" help:"Write a conversation to a file or directory."`
	Import  importCmd  `cmd:"" help:"Read a trajectory file or an OpenHands conversation directory."`
	Fork    undo.Fork  `cmd:"" help:"Go on from an event in another conversation, with files of its own."`
	Delete  deleteCmd  `cmd:"" help:"Delete conversations."`
	Salvage salvageCmd `cmd:"" help:"Copy what can still be read of a damaged store to a new one."`
}

// withStore opens the store for a command and closes it after.
func withStore(ctx context.Context, std *streams, g *globalFlags, do func(paths, *sqlite.Store) error) error {
	p, err := findPaths(g.Data, std.Env)
	if err != nil {
		return err
	}
	s, err := openStore(ctx, p)
	if err != nil {
		return err
	}
	defer s.Close()
	return do(p, s)
}

type listCmd struct {
	Status string `help:"Only those of this status: ${enum}." enum:"all,idle,running,interrupted,paused,waiting_for_confirmation,finished,error,stuck,deleting" default:"all" placeholder:"STATUS"`
	Limit  int    `help:"How many; 0 for all." default:"20"`
	JSON   bool   `name:"json" help:"One JSON object a line."`
}

// Run lists conversations.
func (c *listCmd) Run(ctx context.Context, std *streams, g *globalFlags) error {
	return withStore(ctx, std, g, func(p paths, s *sqlite.Store) error {
		locks, err := conversationlock.Open(p.store())
		if err != nil {
			return err
		}
		defer locks.Close()
		w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
		status := strings.TrimPrefix(c.Status, "all")
		q := listing.Query{Status: status, Limit: c.Limit, Damaged: func(id event.ConversationID, err error) {
			line := stdio.OneLine(err.Error())
			if id != "" { // else it is part of what is damaged
				line = string(id) + ": " + line
			}
			fmt.Fprintln(std.Err, "deft: a record is damaged and left out:", line)
		}}
		n, err := listing.List(ctx, s, locks, q, func(i listing.Conversation) error {
			if c.JSON {
				return std.PrintJSON(i)
			}
			_, err := fmt.Fprintf(w, "%s\t%s\t%s\t%d events\t%s\t%s\t%s\t%s\n", i.ID, age(time.Since(i.Updated)), i.Status, i.Events,
				i.Cost(), console.Line(first(i.Model, "-")), console.Line(first(i.Workspace, "-")), console.Line(i.Title))
			return err
		})
		switch {
		case n > 0 || c.JSON || err != nil:
		case status != "":
			fmt.Fprintln(std.Err, "no conversation has the status", status)
		default:
			fmt.Fprintln(std.Err, `no conversations yet: deft run "…" makes one`)
		}
		return errors.Join(w.Flush(), err)
	})
}

// age says how long ago something was.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d d ago", int(d.Hours())/24)
}

type showCmd struct {
	ID     string `arg:"" help:"The conversation's id, the start of it, or \"last\"." complete:"conversations"`
	Full   bool   `help:"Show everything: whole output and files, arguments, reasoning, the system prompt."`
	Follow bool   `short:"F" help:"Go on showing what happens, until Ctrl-C."`
	JSON   bool   `name:"json" help:"Every event as a line of JSON, as stored."`
}

// Run shows a conversation.
func (c *showCmd) Run(ctx context.Context, std *streams, g *globalFlags) error {
	return withStore(ctx, std, g, func(paths paths, s *sqlite.Store) error {
		id, err := resolve(ctx, s, c.ID)
		if err != nil {
			return err
		}
		events := s.Read(ctx, id, 1)
		if c.Follow {
			events = s.Follow(ctx, id, 1)
		}
		p := console.New(console.Options{Out: std.Out, Color: std.Color(std.OutTTY), Full: c.Full})
		if !c.JSON {
			if err := showHeader(ctx, s, paths, id, p); err != nil {
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
			if up, ok := ev.(*event.ConversationStateUpdateEvent); ok && up.Key == controller.KeyRetry {
				p.Retry(runcommand.RetryText(up.Value))
			}
			p.Event(ev)
		}
		return nil
	})
}

// showHeader shows what a conversation is.
func showHeader(ctx context.Context, s *sqlite.Store, where paths, id event.ConversationID, p *console.Printer) error {
	i, err := s.Info(ctx, id)
	if err != nil {
		return err
	}
	locks, err := conversationlock.Open(where.store())
	if err != nil {
		return err
	}
	defer locks.Close()
	c, err := listing.Describe(i, locks)
	if err != nil {
		return err
	}
	const at = "2006-01-02 15:04"
	for _, row := range [][2]string{
		{"conversation", string(c.ID)}, {"title", c.Title}, {"workspace", c.Workspace}, {"model", c.Model},
		{"status", fmt.Sprintf("%s, %d events, %s", c.Status, c.Events, c.Cost())},
		{"created", c.Created.Local().Format(at) + ", changed " + c.Updated.Local().Format(at)},
	} {
		if row[1] != "" {
			p.Note(fmt.Sprintf("%-12s  %s", row[0], console.Line(row[1])))
		}
	}
	p.Note("")
	return nil
}

type exportCmd struct {
	ID     string `arg:"" help:"The conversation's id, the start of it, or \"last\"." complete:"conversations"`
	Format string `help:"trajectory: one JSON file; openhands: a directory as OpenHands keeps it." enum:"trajectory,openhands" default:"trajectory"`
	Output string `short:"o" help:"File, or parent directory for openhands (default: standard output, or the current directory)." placeholder:"PATH" type:"path"`
	JSON   bool   `name:"json" help:"Print what was written as a JSON object."`
}

// Run exports a conversation.
func (c *exportCmd) Run(ctx context.Context, std *streams, g *globalFlags) error {
	return withStore(ctx, std, g, func(_ paths, s *sqlite.Store) error {
		id, err := resolve(ctx, s, c.ID)
		if err != nil {
			return err
		}
		path := c.Output
		switch {
		case c.Format == "openhands":
			path, err = openhands.Export(ctx, s, id, first(c.Output, "."))
		case path == "":
			return openhands.ExportTrajectory(ctx, s, id, std.JSONOut())
		default:
			err = openhands.WriteTrajectory(ctx, s, id, path)
		}
		if err != nil {
			return err
		}
		if c.JSON {
			return std.PrintJSON(map[string]string{"id": string(id), "path": path})
		}
		fmt.Fprintln(std.Err, "wrote", path)
		return nil
	})
}

// importedJSON is what was read as --json prints it.
func importedJSON(r openhands.Report) map[string]any {
	problems := []map[string]string{}
	for _, p := range r.Problems {
		problems = append(problems, map[string]string{"file": p.File, "why": p.Why})
	}
	return map[string]any{"id": r.ID, "events": r.Events, "problems": problems}
}

type importCmd struct {
	Path string `arg:"" help:"A trajectory file, a directory of an OpenHands conversation, or one that holds such directories." type:"existingpath"`
	JSON bool   `name:"json" help:"Print what was read as a JSON object."`
}

// Run imports a conversation.
func (c *importCmd) Run(ctx context.Context, std *streams, g *globalFlags) error {
	dirs, err := openhands.Conversations(c.Path)
	if err != nil {
		return err
	}
	return withStore(ctx, std, g, func(_ paths, s *sqlite.Store) error {
		if len(dirs) == 0 {
			return c.report(std, func() (openhands.Report, error) { return c.trajectory(ctx, s) })
		}
		for _, dir := range dirs {
			err := c.report(std, func() (openhands.Report, error) {
				return openhands.Import(ctx, dir, s, string(identity.LocalTenant))
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// report imports one conversation and prints what was read.
func (c *importCmd) report(std *streams, read func() (openhands.Report, error)) error {
	report, err := read()
	if fault.Is(err, fault.Conflict) && fault.HintOf(err) == "" {
		return fault.New(fault.Conflict, "the conversation was not imported").Because(err).
			Hint("delete the old one first with `deft conversations delete`, or give another --data")
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return std.PrintJSON(importedJSON(report))
	}
	for _, w := range report.Problems {
		fmt.Fprintln(std.Err, "deft:", console.Line(w.File+": "+w.Why))
	}
	_, err = fmt.Fprintf(std.Out, "%s  %d events\n", report.ID, report.Events)
	return err
}

func (c *importCmd) trajectory(ctx context.Context, s *sqlite.Store) (openhands.Report, error) {
	f, err := os.Open(c.Path)
	if err != nil {
		return openhands.Report{}, fault.Wrap(err, fault.Invalid, "open the trajectory")
	}
	defer f.Close()
	title := strings.TrimSuffix(filepath.Base(c.Path), filepath.Ext(c.Path))
	return openhands.ImportTrajectory(ctx, s, "", eventstream.Meta{Owner: string(identity.LocalTenant), Title: title}, f)
}

type deleteCmd struct {
	IDs  []string `arg:"" name:"id" help:"Ids, or the starts of them." complete:"conversations"`
	JSON bool     `name:"json" help:"Print the deleted ids as JSON."`
}

// Run deletes conversations that nobody runs, with their sandboxes.
func (c *deleteCmd) Run(ctx context.Context, std *streams, g *globalFlags) error {
	return withStore(ctx, std, g, func(p paths, s *sqlite.Store) (err error) {
		classes, err := runtimeAPIFromEnvironment(std.Env).classes(std.Env)
		if err != nil {
			return err
		}
		sandboxes, err := build.New(build.Options{Dir: p.store(), SandboxDir: p.sandboxes(), Classes: classes, Program: sandboxProgram})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, sandboxes.Close()) }()
		for _, name := range c.IDs {
			id, err := resolve(ctx, s, name)
			if err != nil {
				return err
			}
			unlock, err := lockConversation(p, id)
			if err != nil {
				return err
			}
			// What fails half way can be deleted again. An engine that is not there to
			// remove a container does not matter.
			limited, cancel := context.WithTimeout(ctx, removeTimeout)
			left := sandboxes.Remove(limited, id)
			if away := fault.Is(left, fault.Unavailable) || limited.Err() != nil; left == nil || away && ctx.Err() == nil {
				if err = p.checkpoints().Remove(ctx, id); err == nil {
					err = s.Delete(ctx, id)
				}
			} else {
				err = left
			}
			cancel()
			unlock()
			if err != nil {
				return fmt.Errorf("delete conversation %s: %w", id, err)
			}
			if err := c.print(std, id, left); err != nil {
				return err
			}
		}
		return nil
	})
}

// removeTimeout bounds how long a deletion waits for the conversation's sandbox.
const removeTimeout = 30 * time.Second

// print says that a conversation is deleted, and what is left of it.
func (c *deleteCmd) print(std *streams, id event.ConversationID, left error) error {
	done := struct {
		Deleted event.ConversationID `json:"deleted"`
		Left    string               `json:"left_behind,omitempty"`
	}{Deleted: id}
	hint := fault.HintOf(left)
	if left != nil {
		done.Left = left.Error()
	}
	if c.JSON {
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
