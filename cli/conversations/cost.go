package conversations

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/listing"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// Cost shows what conversations used and cost. It is a command line, for kong.
type Cost struct {
	ID   string `arg:"" optional:"" complete:"conversations" help:"A conversation's id, the start of it, \"last\" for the last one of this directory, or \"last:any\" (default: all)."`
	JSON bool   `name:"json" help:"Print as one JSON object."`
}

// Run shows the cost.
func (c *Cost) Run(ctx context.Context, std *stdio.Streams, with With) error {
	return with(func(s eventstream.Stream, _ listing.Locks) error {
		b, err := c.bill(ctx, s)
		if err != nil && (c.ID != "" || !fault.Is(err, fault.Corrupt)) {
			return err
		}
		if c.JSON {
			return errors.Join(std.PrintJSON(b), err)
		}
		return errors.Join(printBill(std, b), err)
	})
}

func (c *Cost) bill(ctx context.Context, s eventstream.Stream) (listing.Bill, error) {
	if c.ID == "" {
		return listing.Cost(ctx, s)
	}
	id, err := Resolve(ctx, s, c.ID)
	if err != nil {
		return listing.Bill{}, err
	}
	return listing.CostOf(ctx, s, id)
}

func printBill(std *stdio.Streams, b listing.Bill) error {
	if len(b.Rows) == 0 {
		_, err := fmt.Fprintln(std.Err, "no calls of a model are stored")
		return err
	}
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SERVICE\tMODEL\tCALLS\tPROMPT\tCACHED\tOUTPUT\tFIRST\tS/CALL\tTOKENS/S\tCOST")
	for _, r := range append(b.Rows, b.Total) {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%.2f\t%.1f\t%.0f\t%s\n", console.Line(r.Service), console.Line(r.Model),
			r.Calls, r.Prompt, r.CacheRead, r.Output, r.FirstToken, r.SecondsPerCall(), r.TokensPerSecond, r.Price())
	}
	return w.Flush()
}
