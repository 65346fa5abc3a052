package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/conversations"
	"github.com/deft-dev/deft/cli/listing"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/cli/undo"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/openhands"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/build"
	"github.com/deft-dev/deft/session/conversationlock"
)

// conversationsCmd works on stored conversations.
type conversationsCmd struct {
	List    conversations.List `cmd:"" default:"withargs" help:"List conversations, newest first."`
	Show    conversations.Show `cmd:"" help:"Show what happened in a conversation."`
	Export  exportCmd          `cmd:"" help:"Write a conversation to a file or directory."`
	Import  importCmd          `cmd:"" help:"Read a trajectory file or an OpenHands conversation directory."`
	Fork    undo.Fork          `cmd:"" help:"Go on from an event in another conversation, with files of its own."`
	Delete  deleteCmd          `cmd:"" help:"Delete conversations."`
	Salvage salvageCmd         `cmd:"" help:"Copy what can still be read of a damaged store to a new one."`
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

// storedConversations opens the store for commands that only look.
func storedConversations(ctx context.Context, std *streams, g *globalFlags) conversations.With {
	return func(do func(eventstream.Stream, listing.Locks) error) error {
		return withStore(ctx, std, g, func(p paths, s *sqlite.Store) error {
			locks, err := conversationlock.Open(p.store())
			if err != nil {
				return err
			}
			defer locks.Close()
			return do(s, locks)
		})
	}
}

type exportCmd struct {
	ID     string `arg:"" help:"The conversation's id, the start of it, \"last\" for the last one of this directory, or \"last:any\"." complete:"conversations"`
	Format string `help:"trajectory: one JSON file; openhands: a directory as OpenHands keeps it." enum:"trajectory,openhands" default:"trajectory"`
	Output string `short:"o" help:"File, or parent directory for openhands (default: standard output, or the current directory)." placeholder:"PATH" type:"path"`
	JSON   bool   `name:"json" help:"Print what was written as a JSON object."`
}

// Run exports a conversation.
func (c *exportCmd) Run(ctx context.Context, std *streams, g *globalFlags) error {
	return withStore(ctx, std, g, func(_ paths, s *sqlite.Store) error {
		id, err := conversations.Resolve(ctx, s, c.ID)
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

// importedJSON is an imported conversation in the output of --json.
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

// report imports one conversation and prints a summary.
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

type deleteCmd struct{ conversations.Delete }

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
		ids, err := c.Chosen(ctx, &std.Streams, s)
		if err != nil {
			return err
		}
		for _, id := range ids {
			unlock, err := lockConversation(ctx, p, s, id)
			if err != nil {
				return err
			}
			// A conversation whose deletion fails half way can be deleted again. An engine
			// that is not there to remove a container does not matter.
			info, err := s.Info(ctx, id)
			if err != nil && !fault.Is(err, fault.Corrupt) {
				unlock()
				return err
			}
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
			if err := c.leaveWorktree(ctx, std, conversations.Worktree(info)); err != nil {
				return err
			}
			if err := conversations.Deleted(&std.Streams, id, left, c.JSON); err != nil {
				return err
			}
		}
		return nil
	})
}

// leaveWorktree removes the worktree of a deleted conversation, or says that it stays.
func (c *deleteCmd) leaveWorktree(ctx context.Context, std *streams, root string) error {
	there := false
	if root != "" {
		_, err := os.Lstat(root)
		there = err == nil
	}
	if !there {
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

// removeTimeout bounds how long a deletion waits for the conversation's sandbox.
const removeTimeout = 30 * time.Second
