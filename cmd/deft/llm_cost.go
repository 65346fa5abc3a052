package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/conversations"
	"github.com/deft-dev/deft/cli/listing"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
)

type llmCostCmd struct {
	ID   string `arg:"" optional:"" complete:"conversations" help:"A conversation's id, the start of it, or \"last\" (default: all)."`
	JSON bool   `name:"json" help:"Print as one JSON object."`
}

// Run shows the cost of conversations.
func (c *llmCostCmd) Run(ctx context.Context, std *streams, g *globalFlags) error {
	return withStore(ctx, std, g, func(_ paths, s *sqlite.Store) error {
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

func (c *llmCostCmd) bill(ctx context.Context, s *sqlite.Store) (listing.Bill, error) {
	if c.ID == "" {
		return listing.Cost(ctx, s)
	}
	id, err := conversations.Resolve(ctx, s, c.ID)
	if err != nil {
		return listing.Bill{}, err
	}
	return listing.CostOf(ctx, s, id)
}

func printBill(std *streams, b listing.Bill) error {
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
