package conversations

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/listing"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/openhands"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
)

// Export writes a conversation to a file or a directory. It is a command line, for kong.
type Export struct {
	ID     string `arg:"" help:"The conversation's id, the start of it, \"last\" for the last one of this directory, or \"last:any\"." complete:"conversations"`
	Format string `help:"trajectory: one JSON file; openhands: a directory as OpenHands keeps it." enum:"trajectory,openhands" default:"trajectory"`
	Output string `short:"o" help:"File, or parent directory for openhands (default: standard output, or the current directory)." placeholder:"PATH" type:"path"`
	JSON   bool   `name:"json" help:"Print the result as a JSON object."`
}

// Run exports a conversation.
func (c *Export) Run(ctx context.Context, std *stdio.Streams, with With) error {
	return with(func(s eventstream.Stream, _ listing.Locks) error {
		id, err := Resolve(ctx, s, c.ID)
		if err != nil {
			return err
		}
		path := c.Output
		switch {
		case c.Format == "openhands":
			path, err = openhands.Export(ctx, s, id, cmp.Or(c.Output, "."))
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

// Import reads conversations of other programs. It is a command line, for kong.
type Import struct {
	Path string `arg:"" help:"A trajectory file, a directory of an OpenHands conversation, or one that holds such directories." type:"existingpath"`
	JSON bool   `name:"json" help:"Print the result as a JSON object."`
}

// Run imports a conversation.
func (c *Import) Run(ctx context.Context, std *stdio.Streams, with With) error {
	dirs, err := openhands.Conversations(c.Path)
	if err != nil {
		return err
	}
	return with(func(s eventstream.Stream, _ listing.Locks) error {
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
func (c *Import) report(std *stdio.Streams, read func() (openhands.Report, error)) error {
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

func (c *Import) trajectory(ctx context.Context, s eventstream.Stream) (openhands.Report, error) {
	f, err := os.Open(c.Path)
	if err != nil {
		return openhands.Report{}, fault.Wrap(err, fault.Invalid, "open the trajectory")
	}
	defer f.Close()
	title := strings.TrimSuffix(filepath.Base(c.Path), filepath.Ext(c.Path))
	return openhands.ImportTrajectory(ctx, s, "", eventstream.Meta{Owner: string(identity.LocalTenant), Title: title}, f)
}
