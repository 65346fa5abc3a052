package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"time"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
)

// sandboxCmd looks at the sandboxes of conversations.
type sandboxCmd struct {
	Logs    sandboxLogsCmd    `cmd:"" help:"Show what the server in a sandbox has logged; the output of commands is in the conversation."`
	Stats   sandboxStatsCmd   `cmd:"" help:"Show what a sandbox uses."`
	Classes sandboxClassesCmd `cmd:"" help:"List the classes of sandboxes, and what each accepts."`
	Prune   sandboxPruneCmd   `cmd:"" help:"Remove images that were built for sandboxes, and that no stored conversation uses."`
}

// withSandbox calls f with the sandbox of a conversation that runs or is paused.
func withSandbox(ctx context.Context, std *streams, g *globalFlags, name string, f func(event.ConversationID, sandbox.Sandbox) error) error {
	return withStore(ctx, std, g, func(p paths, s *sqlite.Store) (err error) {
		id, err := resolve(ctx, s, name)
		if err != nil {
			return err
		}
		r := newForeground(std, p, s, nil)
		builder, sessions, err := r.open(r.models, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, sessions.Close(context.WithoutCancel(ctx)), builder.Close()) }()
		placement, err := sessions.Placement(ctx, id)
		if err != nil {
			return err
		}
		found, err := builder.Sandbox(ctx, placement, id)
		if fault.Is(err, fault.NotFound) {
			return fault.New(fault.NotFound, "no sandbox of conversation "+string(id)+" runs").Hint("its next command starts one")
		}
		if err != nil {
			return err
		}
		return f(id, found)
	})
}

type sandboxLogsCmd struct {
	ID     string       `arg:"" optional:"" help:"The conversation's id, the start of it, or \"last\"." default:"last" complete:"conversations"`
	Follow bool         `short:"f" help:"Go on until the sandbox ends."`
	Tail   sandbox.Size `help:"How much of what was logged before, for example 64K." default:"1M" placeholder:"SIZE"`
	JSON   bool         `name:"json" help:"Print each line as JSON."`
}

// Run prints the log.
func (c *sandboxLogsCmd) Run(ctx context.Context, std *streams, g *globalFlags) error {
	ctx, stop := untilTold(ctx)
	defer stop()
	return withSandbox(ctx, std, g, c.ID, func(id event.ConversationID, s sandbox.Sandbox) error {
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
func (c *sandboxLogsCmd) print(std *streams, log io.Reader) error {
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

type sandboxStatsCmd struct {
	ID   string `arg:"" optional:"" help:"The conversation's id, the start of it, or \"last\"." default:"last" complete:"conversations"`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run prints what the sandbox uses.
func (c *sandboxStatsCmd) Run(ctx context.Context, std *streams, g *globalFlags) error {
	return withSandbox(ctx, std, g, c.ID, func(id event.ConversationID, s sandbox.Sandbox) error {
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
