package completion

import (
	"cmp"
	"context"
	"fmt"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/conversations"
	"github.com/deft-dev/deft/cli/listing"
	"github.com/deft-dev/deft/cli/profile"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/llm/catalog"
)

// Values prints the values that a shell may complete, one a line: a value, a tab and its
// description. It is a command line, for kong.
type Values struct {
	Kind string `arg:"" enum:"conversations,profiles,models" help:"conversations, profiles or models."`
}

// mostCompleted bounds the conversations that are offered: the last ones.
const mostCompleted = 100

// completable are values without characters that mean something to a shell: bash
// expands the words that it is given.
var completable = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._/:@+-]*$`)

// Run prints the values. Shells ignore errors.
func (c *Values) Run(ctx context.Context, std *stdio.Streams, with conversations.With, wiring profile.Wiring) error {
	show := func(value, what string) {
		if completable().MatchString(value) {
			fmt.Fprintf(std.Out, "%s\t%s\n", value, console.Line(what))
		}
	}
	switch c.Kind {
	case "conversations":
		return with(func(s eventstream.Stream, locks listing.Locks) error {
			show(eventstream.Last, "the last one of this directory")
			show(eventstream.LastAnywhere, "the last one of all")
			_, err := listing.List(ctx, s, locks, listing.Query{Limit: mostCompleted}, func(c listing.Conversation) error {
				show(string(c.ID), c.Status+": "+cmp.Or(c.Title, c.Workspace))
				return nil
			})
			return err
		})
	case "profiles":
		stores, err := wiring.Stores()
		if err != nil {
			return err
		}
		names, err := stores.LLMs.Names(ctx)
		for _, name := range names {
			show(name, "profile")
		}
		return err
	}
	known, err := catalog.Load(catalog.UserFile(std.Env))
	if err != nil {
		return err
	}
	for _, name := range known.Names() {
		if e, ok := known.Lookup(name); ok {
			show(e.Provider+"/"+e.Name, "model")
		}
	}
	return nil
}
