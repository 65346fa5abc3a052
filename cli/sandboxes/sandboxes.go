// Package sandboxes is `deft sandbox`: the classes of sandboxes, the log of one and its use of
// memory and time, images with the programs that tools need, and the images that were built.
//
// # Usage
//
//	type sandboxCmd struct {
//		Logs sandboxes.Logs `cmd:""`
//	}
//
// # Failure
//
// A conversation whose sandbox does not run is fault.NotFound.
package sandboxes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/sandbox"
)

// With finds the sandbox of a conversation by the name that a user gives it.
type With func(name string, do func(event.ConversationID, sandbox.Sandbox) error) error

// Logs shows the log of a sandbox. It is a command line, for kong.
type Logs struct {
	ID     string       `arg:"" optional:"" help:"The conversation's id, the start of it, \"last\" for the last one of this directory, or \"last:any\"." default:"last" complete:"conversations"`
	Follow bool         `short:"f" help:"Go on until the sandbox ends."`
	Tail   sandbox.Size `help:"Length of the earlier log that is shown first, for example 64K." default:"1M" placeholder:"SIZE"`
	JSON   bool         `name:"json" help:"Print each line as JSON."`
}

// Run prints the log.
func (c *Logs) Run(ctx context.Context, std *stdio.Streams, with With) error {
	ctx, stop := runcommand.UntilTold(ctx)
	defer stop()
	return with(c.ID, func(id event.ConversationID, s sandbox.Sandbox) error {
		tail := int64(c.Tail)
		if tail < 0 { // no limit
			tail = math.MaxInt64
		}
		log, err := s.Logs(ctx, tail, c.Follow)
		if err != nil {
			return err
		}
		defer log.Close()
		err = c.print(std, log)
		if c.Follow && ctx.Err() != nil { // the user has seen enough
			return nil
		}
		return err
	})
}

// print prints lines as they come.
func (c *Logs) print(std *stdio.Streams, log io.Reader) error {
	for in := bufio.NewReader(log); ; {
		line, err := in.ReadString('\n')
		if text := strings.TrimSuffix(line, "\n"); line != "" && c.JSON {
			if err := std.PrintJSON(map[string]string{"line": text}); err != nil {
				return err
			}
		} else if line != "" {
			if _, err := fmt.Fprintln(std.Out, console.Line(text)); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the sandbox's log: %w", err)
		}
	}
}

// Stats shows the use of memory, time and processes. It is a command line, for kong.
type Stats struct {
	ID   string `arg:"" optional:"" help:"The conversation's id, the start of it, \"last\" for the last one of this directory, or \"last:any\"." default:"last" complete:"conversations"`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run prints the sandbox's use of resources.
func (c *Stats) Run(ctx context.Context, std *stdio.Streams, with With) error {
	return with(c.ID, func(id event.ConversationID, s sandbox.Sandbox) error {
		status, err := s.Status(ctx)
		if err != nil {
			return err
		}
		stats, err := s.Stats(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return std.PrintJSON(struct {
				ID        event.ConversationID `json:"conversation_id"`
				State     sandbox.State        `json:"state"`
				Started   time.Time            `json:"started"`
				Image     string               `json:"image,omitempty"`
				Memory    int64                `json:"memory_bytes"`
				CPU       float64              `json:"cpu_seconds"`
				Processes int                  `json:"processes"`
			}{id, status.State, status.Started.UTC(), status.Image, stats.MemoryBytes, stats.CPU.Seconds(), stats.Processes})
		}
		const mebi = 1 << 20
		_, err = fmt.Fprintf(std.Out, "state      %s\nstarted    %s\nmemory     %.1f MiB\ncpu        %s\nprocesses  %d\n",
			status.State, status.Started.Local().Format(time.DateTime), float64(stats.MemoryBytes)/mebi, stats.CPU.Round(time.Millisecond), stats.Processes)
		return err
	})
}

// List lists the classes. It is a command line, for kong.
type List struct {
	JSON bool `name:"json" help:"Print each class as a line of JSON."`
}

// class is a line of --json.
type class struct {
	Name      string            `json:"name"`
	Summary   string            `json:"summary"`
	Levels    []string          `json:"levels,omitempty"`
	Accepts   []sandbox.Feature `json:"accepts"`
	Workspace string            `json:"workspace,omitempty"`
	Image     string            `json:"image,omitempty"`
	Warning   string            `json:"warning,omitempty"`
}

// Run lists the classes.
func (c *List) Run(_ context.Context, std *stdio.Streams, classes sandbox.Classes) error {
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	for _, one := range classes {
		line := class{
			Name: one.Name, Summary: one.Summary, Levels: one.LevelNames(), Accepts: one.Accepts, Workspace: one.Inside, Image: one.Image, Warning: one.Warning,
		}
		if line.Accepts == nil {
			line.Accepts = []sandbox.Feature{}
		}
		if c.JSON {
			if err := std.PrintJSON(line); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(w, "%s\t%s\n", line.Name, line.Summary)
		for _, about := range []struct{ what, text string }{
			{"levels", strings.Join(line.Levels, ", ")}, {"accepts", strings.Join(words(line.Accepts), ", ")},
			{"workspace inside", line.Workspace}, {"image", line.Image}, {"warning", line.Warning},
		} {
			if about.text != "" {
				fmt.Fprintf(w, "\t%s: %s\n", about.what, about.text)
			}
		}
	}
	return w.Flush()
}

func words(features []sandbox.Feature) (out []string) {
	for _, f := range features {
		out = append(out, string(f))
	}
	return out
}
