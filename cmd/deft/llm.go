package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/conversations"
	"github.com/deft-dev/deft/cli/listing"
	"github.com/deft-dev/deft/cli/modellist"
	"github.com/deft-dev/deft/cli/profile"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

// llmCmd works with language models.
type llmCmd struct {
	Test    llmTestCmd    `cmd:"" help:"Try what works with a model: key, streaming, tools, images, length."`
	Models  llmModelsCmd  `cmd:"" help:"List the models that Deft knows, with their limits and prices."`
	Profile llmProfileCmd `cmd:"" aliases:"profiles" help:"Store models with their settings as profiles, and choose which service uses which."`
	Cost    llmCostCmd    `cmd:"" help:"Show what stored conversations used and cost, by service and model."`
}

// llmModelsCmd works with the catalogue of models.
type llmModelsCmd struct {
	List    modellist.List    `cmd:"" default:"withargs" help:"List models."`
	Refresh modellist.Refresh `cmd:"" help:"Take limits and prices over from LiteLLM's price list into a file of your own."`
}

// llmProfileCmd works with stored profiles.
type llmProfileCmd struct {
	List   profile.List   `cmd:"" default:"withargs" help:"List the profiles, and the services that use them."`
	Show   profile.Show   `cmd:"" help:"Print a profile as JSON. A key is never in it."`
	Set    profile.Set    `cmd:"" help:"Make a profile, or change what is given of one."`
	Use    profile.Use    `cmd:"" help:"Choose the profile of the agent, or of another service."`
	Delete profile.Delete `cmd:"" help:"Delete a profile, and the key that was stored for it."`
}

// profileWiring opens the profiles of the user.
func profileWiring(std *streams) profile.Wiring {
	return profile.Wiring{
		Stores:   func() (*profiles.Stores, error) { return openProfiles(std) },
		Assigned: func() (profiles.Assignments, error) { return assigned(std) },
		CheckModel: func(l *spec.LLM) error {
			by, err := newOpener(std)
			if err == nil {
				_, err = by.router().New(l.Config(by.known))
			}
			return err
		},
	}
}

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
