// Package undo is `deft undo` and `deft conversations fork`: takes a conversation and its
// files back, or goes on from an event in another one.
//
// # Usage
//
//	type grammar struct {
//		Undo undo.Undo `cmd:""`
//	}
//
// # Failure
//
// Where the files of an event are not known, the error says how to find events whose files
// are.
package undo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/session"
)

// With opens a stored conversation by the name that a user gives it, for as long as do runs.
type With func(name string, do func(*session.Conversation) error) error

// Undo takes a conversation and its files back. It is a command line, for kong.
type Undo struct {
	ID        string   `arg:"" optional:"" help:"The conversation's id, the start of it, \"last\" for the last one of this directory, or \"last:any\"." default:"last" complete:"conversations"`
	To        event.ID `help:"Go back to this event instead of the last message; an undo says how it is taken back itself." placeholder:"EVENT"`
	List      bool     `help:"Show the events whose files are known, and change nothing."`
	KeepFiles bool     `name:"keep-files" help:"Leave the files as they are: only the conversation goes back."`
	KeepGit   bool     `name:"keep-commits" help:"Leave Git's checkout as it is: branch, commit and staging area."`
	Preview   bool     `short:"n" name:"dry-run" help:"Show what would change, and change nothing."`
	AllFiles  bool     `name:"all-files" help:"Take also files back that were changed after the agent's last action, by you or another program."`
	Yes       bool     `short:"y" help:"Do not ask. Files that were changed after the agent's last action stay, unless --all-files is given."`
	JSON      bool     `name:"json" help:"Print the result as a JSON object."`
}

// Help is shown by `deft undo --help`.
func (c *Undo) Help() string {
	return `The conversation and the files of its workspace become what they were before your last message. Ignored and untracked files are
part of that; caches such as node_modules and files above 64 MiB are not. If the agent has made commits, or has checked out another
branch, the branch and the commit of then are checked out again; the commits stay in Git's reflog.
Nothing is lost: the undo itself can be taken back.

Examples:
  deft undo
  deft undo --dry-run
  deft undo 0f9a --to 5c1d2e3f-…`
}

// Run takes a conversation back.
func (c *Undo) Run(ctx context.Context, std *stdio.Streams, with With) error {
	return with(c.ID, func(conv *session.Conversation) error {
		if c.List {
			return c.list(ctx, std, conv)
		}
		o := session.UndoOptions{To: c.To, KeepFiles: c.KeepFiles, Commits: !c.KeepGit, KeepOwn: !c.AllFiles, Preview: c.Preview || !c.Yes}
		var u session.Undone
		undo := func() (err error) {
			u, err = conv.Branches().Undo(ctx, o)
			return err
		}
		what := "taking the files back"
		if o.Preview {
			what = "comparing the files"
		}
		if err := std.Telling(what, undo); err != nil {
			return explainUndo(err)
		}
		if !c.JSON {
			showChanges(std, conv.Workspace(), u)
		}
		if o.Preview && !c.Preview {
			keep, err := c.confirm(ctx, std, u)
			if err != nil {
				return err
			}
			o.KeepOwn, o.Preview = keep, false
			shown := u.Commits.Kept
			if err := std.Telling("taking the files back", undo); err != nil {
				return err
			}
			if !c.JSON && u.Commits.Kept != shown {
				showKept(std, u.Commits)
			}
		}
		return c.report(std, conv.ID(), u)
	})
}

// explainUndo names the next step where files are not known.
func explainUndo(err error) error {
	if errors.Is(err, session.ErrNoCheckpoint) || fault.Is(err, fault.Unsupported) {
		return fault.New(fault.KindOf(err), "cannot go back").Because(err).
			Hint("deft undo --list shows the events whose files are known; --keep-files takes only the conversation back")
	}
	return err
}

// maxShown is how many files of a kind are listed.
const maxShown = 20

func showChanges(std *stdio.Streams, dir string, u session.Undone) {
	if m := u.Commits; m.To.Commit != "" {
		fmt.Fprintf(std.Err, "git: %s is checked out again, in place of %s\n", shownCheckout(m.To), shownCheckout(m.From))
	}
	showKept(std, u.Commits)
	ch := u.Files
	if len(ch.Written)+len(ch.Removed) == 0 {
		fmt.Fprintln(std.Err, "no file changes in", console.Line(dir))
		return
	}
	fmt.Fprintln(std.Err, "in", console.Line(dir)+":")
	agents := func(f string) bool { return !slices.Contains(u.Own, f) }
	for _, l := range []struct {
		what  string
		files []string
	}{{"comes back", only(ch.Written, agents)}, {"is removed", only(ch.Removed, agents)}, {"was changed after the agent's last action", u.Own}} {
		for i, f := range l.files {
			if i == maxShown {
				fmt.Fprintf(std.Err, "  … and %d more\n", len(l.files)-i)
				break
			}
			fmt.Fprintf(std.Err, "  %s  %s\n", l.what, console.Line(f))
		}
	}
}

// only returns the files of a list for which wanted is true.
func only(files []string, wanted func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(files), func(f string) bool { return !wanted(f) })
}

// shownCheckout is the branch and the commit.
func shownCheckout(c checkpoint.Checkout) string {
	return console.Line(fmt.Sprintf("%s at %.10s", strings.TrimPrefix(c.Ref, "refs/heads/"), c.Commit))
}

func showKept(std *stdio.Streams, m session.Moved) {
	if m.Kept != "" {
		fmt.Fprintln(std.Err, "git: what is checked out stays:", console.Line(m.Kept))
	}
}

// confirm asks whether to go back, and whether the user's own files go back too.
func (c *Undo) confirm(ctx context.Context, std *stdio.Streams, u session.Undone) (keepOwn bool, err error) {
	if len(u.Files.Written)+len(u.Files.Removed) > 0 || u.Commits.To.Commit != "" {
		if err := std.Confirm(ctx, "files would change", "go back?", "nothing was changed", c.JSON); err != nil {
			return false, err
		}
	}
	if c.AllFiles || len(u.Own) == 0 {
		return !c.AllFiles, nil
	}
	err = std.Confirm(ctx, "your files would change", "take the files back too that were changed after the agent's last action?", "they stay", c.JSON)
	if fault.Is(err, fault.Canceled) {
		return true, nil
	}
	return false, err
}

// left are the files of the user that were not taken back.
func left(u session.Undone) []string {
	return only(u.Own, func(f string) bool {
		return !slices.Contains(u.Files.Written, f) && !slices.Contains(u.Files.Removed, f)
	})
}

// undoneJSON is the output of `deft undo --json`.
type undoneJSON struct {
	ID      event.ConversationID `json:"id"`
	From    event.ID             `json:"from"`
	To      event.ID             `json:"to"`
	Written []string             `json:"written"`
	Removed []string             `json:"removed"`
	// Left are files that were changed after the agent's last action, and stay.
	Left   []string `json:"left,omitempty"`
	DryRun bool     `json:"dry_run"`
	// Checkout is the commit that Git has checked out again; nil where that stays, KeptWhy
	// then says why if it was another one.
	Checkout *checkpoint.Checkout `json:"checkout"`
	KeptWhy  string               `json:"checkout_kept,omitempty"`
}

func (c *Undo) report(std *stdio.Streams, id event.ConversationID, u session.Undone) error {
	if c.JSON {
		var checkout *checkpoint.Checkout
		if u.Commits.To.Commit != "" {
			checkout = &u.Commits.To
		}
		return std.PrintJSON(undoneJSON{
			Checkout: checkout, KeptWhy: u.Commits.Kept, ID: id, From: u.From, To: u.To, Written: append([]string{}, u.Files.Written...), Removed: append([]string{}, u.Files.Removed...),
			DryRun: c.Preview, Left: left(u),
		})
	}
	if c.Preview {
		fmt.Fprintln(std.Err, "nothing was changed")
		return nil
	}
	done := "the conversation"
	if n := len(u.Files.Written) + len(u.Files.Removed); n > 0 {
		done += " and " + number(n)
	}
	if _, err := fmt.Fprintf(std.Out, "undone: %s\n", done); err != nil {
		return err
	}
	if files := left(u); len(files) > 0 {
		more := ""
		if n := len(files) - maxShown; n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		fmt.Fprintf(std.Err, "left as they are, as they were changed after the agent's last action: %s%s (--all-files takes them back too)\n", console.Line(strings.Join(files[:min(len(files), maxShown)], ", ")), more)
	}
	_, err := fmt.Fprintf(std.Out, "to take that back: deft undo %s --to %s\nto go on: deft run --resume %s \"…\"\n", id, u.From, id)
	return err
}

// pointJSON is a line of `deft undo --list --json`.
type pointJSON struct {
	Event   event.ID `json:"event"`
	Time    string   `json:"time"`
	Files   int      `json:"files"`
	LeftOut []string `json:"left_out"`
}

// number says how many files there are.
func number(files int) string {
	if files == 1 {
		return "one file"
	}
	return strconv.Itoa(files) + " files"
}

func (c *Undo) list(ctx context.Context, std *stdio.Streams, conv *session.Conversation) error {
	points, err := conv.Branches().Points(ctx)
	if err != nil {
		return err
	}
	for _, p := range points {
		if c.JSON {
			left := append([]string{}, p.Checkpoint.LeftOut...)
			if err := std.PrintJSON(pointJSON{p.Event, p.Checkpoint.Time.Format("2006-01-02T15:04:05Z07:00"), p.Checkpoint.Files, left}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(std.Out, "%s  %s  %s  %s\n", p.Event, p.Checkpoint.Time.Local().Format("2006-01-02 15:04:05"), number(p.Checkpoint.Files), console.Line(console.FirstLine(p.Text)))
	}
	if len(points) == 0 && !c.JSON {
		fmt.Fprintln(std.Err, "there are no checkpoints of this conversation")
	}
	return nil
}

// Fork goes on from an event in another conversation. It is a command line, for kong.
type Fork struct {
	ID        string   `arg:"" help:"The conversation's id, the start of it, \"last\" for the last one of this directory, or \"last:any\"." complete:"conversations"`
	At        event.ID `help:"The last event that the fork has (default: the last one of the conversation). deft undo --list shows events whose files are known." placeholder:"EVENT"`
	Workspace string   `short:"C" help:"An empty or new directory for the files of the fork (default: a Git worktree of the repository)." placeholder:"DIR" type:"path"`
	Title     string   `help:"Title of the fork."`
	JSON      bool     `name:"json" help:"Print the fork as a JSON object."`
}

// Run makes a fork with files of its own.
func (c *Fork) Run(ctx context.Context, std *stdio.Streams, with With) error {
	return with(c.ID, func(conv *session.Conversation) error {
		files := &session.ForkFiles{}
		if c.Workspace != "" {
			abs, err := filepath.Abs(c.Workspace)
			if err != nil {
				return fault.Wrap(err, fault.Invalid, "find the directory of the fork")
			}
			files.Dir = abs
		}
		var f *session.Conversation
		if err := std.Telling("writing the files of the fork", func() (err error) {
			f, err = conv.Branches().Fork(ctx, session.ForkOptions{Title: c.Title, From: c.At, Files: files})
			return err
		}); err != nil {
			return err
		}
		if c.JSON {
			return std.PrintJSON(map[string]string{"id": string(f.ID()), "workspace": f.Workspace()})
		}
		_, err := fmt.Fprintf(std.Out, "%s\nits files are in %s\nto go on: deft run --resume %s \"…\"\n", f.ID(), console.Line(f.Workspace()), f.ID())
		return err
	})
}
