package sandboxes

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/internal/portforward"
	"github.com/deft-dev/deft/runtime/protocol"
)

// Link reaches the ports of a sandbox.
type Link struct {
	Ports func(context.Context) ([]protocol.Port, error) // on which something listens
	Dial  func(ctx context.Context, port int) (portforward.Target, error)
}

// Linked reaches the sandbox of a conversation by the name that a user gives it.
type Linked func(name string, do func(Link) error) error

// Forward passes ports of this machine on to a sandbox. It is a command line, for kong.
type Forward struct {
	ID    string             `arg:"" optional:"" help:"The conversation's id, the start of it, \"last\" for the last one of this directory, or \"last:any\"." default:"last" complete:"conversations"`
	Ports []portforward.Port `arg:"" optional:"" help:"Ports in the sandbox, or LOCAL:PORT with the port on this machine, or ADDRESS:LOCAL:PORT. Without any, the ports on which something listens are shown."`
	JSON  bool               `name:"json" help:"Print ports as JSON."`
}

// Help is shown by `deft forward --help`.
func (c *Forward) Help() string {
	return `The ports are opened on 127.0.0.1, or on the address that is named, until Ctrl-C. The sandbox needs no network for it, and must run: it does
during a run, and for a while after it.

Examples:
  deft forward last
  deft forward last 8000
  deft forward 7c1f 8080:80 5432`
}

// Run forwards until it is stopped.
func (c *Forward) Run(ctx context.Context, std *stdio.Streams, linked Linked) error {
	return linked(c.ID, func(to Link) error {
		if len(c.Ports) == 0 {
			return c.list(ctx, std, to)
		}
		if _, err := to.Ports(ctx); err != nil { // whether it can be
			return err
		}
		return c.forward(ctx, std, to)
	})
}

func (c *Forward) list(ctx context.Context, std *stdio.Streams, to Link) error {
	list, err := to.Ports(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	for _, p := range list {
		if c.JSON {
			err = std.PrintJSON(p)
		} else {
			_, err = fmt.Fprintf(w, "%d\t%s\n", p.Port, p.Address)
		}
		if err != nil {
			return err
		}
	}
	if len(list) == 0 && !c.JSON {
		fmt.Fprintln(std.Err, "nothing listens in the sandbox")
	}
	return w.Flush()
}

func (c *Forward) forward(ctx context.Context, std *stdio.Streams, to Link) error {
	open, err := portforward.Listen(ctx, c.Ports)
	if err != nil {
		return err
	}
	for _, p := range open.Ports() {
		if c.JSON {
			err = std.PrintJSON(p)
		} else {
			_, err = fmt.Fprintln(std.Out, p)
		}
		if err != nil {
			return errors.Join(err, open.Close())
		}
	}
	refused := func(err error) { fmt.Fprintln(std.Err, "deft:", console.Line(err.Error())) }
	return open.Serve(ctx, to.Dial, refused)
}
