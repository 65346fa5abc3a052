package plugins

import (
	"context"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/plugin/gitsource"
	"github.com/deft-dev/deft/schema"
)

// Registry keeps the marketplaces that the user has registered.
type Registry interface {
	Marketplaces() ([]*schema.Map, error)
	AddMarketplace(ctx context.Context, m *schema.Map) error
	RemoveMarketplace(ctx context.Context, name string) error
}

// Marketplaces has the commands about marketplaces. It is a command line, for kong.
type Marketplaces struct {
	List   ListMarketplaces  `cmd:"" default:"withargs" help:"List your marketplaces."`
	Show   ShowMarketplace   `cmd:"" help:"List the plugins of a marketplace."`
	Add    AddMarketplace    `cmd:"" help:"Register a marketplace."`
	Remove RemoveMarketplace `cmd:"" help:"Forget a marketplace; plugins that came from it stay."`
}

// loader reads plugins of this machine and of repositories.
var loader = plugin.Loader{Local: func(context.Context) bool { return true }}

// registered returns the user's marketplaces.
func registered(ctx context.Context, w Wiring) (Registry, []plugin.Registration, error) {
	r, err := w.Registry(ctx)
	if err != nil {
		return nil, nil, err
	}
	all, err := r.Marketplaces()
	if err != nil {
		return nil, nil, err
	}
	out := make([]plugin.Registration, len(all))
	for i, m := range all {
		out[i].Name = m.Text("name")
		if err := schema.Into(m, &out[i].From); err != nil {
			return nil, nil, err
		}
	}
	return r, out, nil
}

// ListMarketplaces lists marketplaces. It is a command line, for kong.
type ListMarketplaces struct{}

// Run lists the user's marketplaces.
func (c *ListMarketplaces) Run(ctx context.Context, std *stdio.Streams, w Wiring) error {
	_, all, err := registered(ctx, w)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Fprintln(std.Err, "There is no marketplace. To register one: deft plugins marketplaces add NAME github:OWNER/REPOSITORY")
	}
	table := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	for _, r := range all {
		fmt.Fprintf(table, "%s\t%s\n", stdio.OneLine(r.Name), place(r.From))
	}
	return table.Flush()
}

// place names a source with its ref and directory.
func place(s plugin.Source) string {
	text := gitsource.Shown(s.Source)
	if path := optional.Value(s.RepoPath); path != "" {
		text += " " + path
	}
	if ref := optional.Value(s.Ref); ref != "" {
		text += " at " + ref
	}
	return stdio.OneLine(text)
}

// ShowMarketplace lists the plugins of a marketplace. It is a command line, for kong.
type ShowMarketplace struct {
	Name string `arg:"" help:"Name of the marketplace, or its source: github:OWNER/REPOSITORY, the URL of a repository, or a directory."`
}

// Run lists the plugins.
func (c *ShowMarketplace) Run(ctx context.Context, std *stdio.Streams, w Wiring) error {
	_, all, err := registered(ctx, w)
	if err != nil {
		return err
	}
	from := plugin.Source{Source: c.Name}
	if i := slices.IndexFunc(all, func(r plugin.Registration) bool { return r.Name == c.Name }); i >= 0 {
		from = all[i].From
	}
	m, err := loader.Preview(ctx, from)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	for _, e := range m.Plugins {
		about := optional.Value(e.Description)
		if e.Why != "" {
			about = "cannot be installed: " + e.Why
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", stdio.OneLine(e.Name), stdio.OneLine(e.Version), stdio.OneLine(about))
	}
	for _, e := range m.Skills {
		fmt.Fprintf(table, "%s\tskill\t%s\n", stdio.OneLine(e.Name), stdio.OneLine(optional.Value(e.Description)))
	}
	leftOut(std, m)
	return table.Flush()
}

// leftOut names what the marketplace has and cannot be read.
func leftOut(std *stdio.Streams, m plugin.Marketplace) {
	for _, why := range m.LeftOut {
		fmt.Fprintln(std.Err, "warning: "+stdio.OneLine(why))
	}
}

// AddMarketplace registers a marketplace. It is a command line, for kong.
type AddMarketplace struct {
	Name   string `arg:"" help:"A name for it."`
	Source string `arg:"" help:"github:OWNER/REPOSITORY, the URL of a Git repository, or a directory."`
	Ref    string `help:"Branch, tag or commit of the repository (default: its default branch)." placeholder:"REF"`
	Path   string `help:"Directory in the repository." placeholder:"DIR"`
}

var marketplaceName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Run registers a marketplace that can be read.
func (c *AddMarketplace) Run(ctx context.Context, std *stdio.Streams, w Wiring) error {
	if !marketplaceName().MatchString(c.Name) {
		return fault.New(fault.Invalid, "the name "+c.Name+" must be of letters, digits, dots and hyphens")
	}
	r, _, err := registered(ctx, w)
	if err != nil {
		return err
	}
	from := plugin.Source{Source: c.Source, Ref: optional.Of(c.Ref), RepoPath: optional.Of(c.Path)}
	if err := pinned(gitsource.Source(from)); err != nil {
		return err
	}
	m, err := loader.Preview(ctx, from)
	if err != nil {
		return err
	}
	leftOut(std, m)
	if len(m.Plugins)+len(m.Skills) == 0 {
		return fault.New(fault.Invalid, c.Source+" is no marketplace: it has neither a .plugin/marketplace.json or .claude-plugin/marketplace.json nor skills")
	}
	doc := schema.Of("name", c.Name, "source", c.Source)
	for key, value := range map[string]string{"ref": c.Ref, "repo_path": c.Path} {
		if value != "" {
			doc.Set(key, value)
		}
	}
	if err := r.AddMarketplace(ctx, doc); err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.Err, "%s is registered, with %d plugins. To install one: deft plugins install NAME@%s\n", c.Name, len(m.Plugins), c.Name)
	return err
}

// RemoveMarketplace forgets a marketplace. It is a command line, for kong.
type RemoveMarketplace struct {
	Name string `arg:"" help:"Name of the marketplace."`
}

// Run forgets a marketplace.
func (c *RemoveMarketplace) Run(ctx context.Context, std *stdio.Streams, w Wiring) error {
	r, _, err := registered(ctx, w)
	if err == nil {
		err = r.RemoveMarketplace(ctx, c.Name)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(std.Err, c.Name+" is forgotten")
	return err
}
