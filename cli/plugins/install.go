package plugins

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/plugin/gitsource"
	"github.com/deft-dev/deft/plugin/installed"
)

// Install installs a plugin. It is a command line, for kong.
type Install struct {
	Source string `arg:"" help:"github:OWNER/REPOSITORY[/DIRECTORY], the URL of a Git repository, a directory, or NAME[@MARKETPLACE]."`
	Ref    string `help:"Branch, tag or commit of the repository (default: its default branch)." placeholder:"REF"`
	Path   string `help:"Directory in the repository." placeholder:"DIR"`
	Force  bool   `help:"Replace an installed plugin of the same name."`
	Yes    bool   `short:"y" help:"Do not ask whether its hooks and MCP servers may run."`
}

// Help is shown by `deft plugins install --help`.
func (c *Install) Help() string {
	return `The plugin is copied to ~/.openhands/plugins/installed, at the commit that its source has now; only
deft plugins update fetches it again. Its hooks and MCP servers are shown, and you are asked. From then on its skills,
commands, agents, hooks and MCP servers are in all of your new conversations: of deft run, of deft serve
and of the agent server.

Examples:
  deft plugins install github:anthropics/claude-code/plugins/code-review
  deft plugins install https://git.example.com/team/plugins.git --path lint --ref v2
  deft plugins install ./my-plugin
  deft plugins install code-review@claude`
}

// Run installs the plugin.
func (c *Install) Run(ctx context.Context, std *stdio.Streams, w Wiring) error {
	my, err := w.open()
	if err != nil {
		return err
	}
	from, err := c.from(ctx, w)
	if err != nil {
		return err
	}
	got, err := my.installed.Install(ctx, from, c.Force, func(dir string, what installed.Info) error {
		return c.confirm(ctx, std, dir, what.Name)
	})
	if err != nil {
		return explained(err, gitsource.Shown(from.Source))
	}
	_, err = fmt.Fprintln(std.Err, got.Name+" is installed from "+origin(got))
	return err
}

// from is the source that is named, or that a marketplace has.
func (c *Install) from(ctx context.Context, w Wiring) (gitsource.Source, error) {
	own := gitsource.Source{Source: c.Source, Ref: optional.Of(c.Ref), RepoPath: optional.Of(c.Path)}
	if !plugin.Named(c.Source) {
		return own, pinned(own)
	}
	_, all, err := registered(ctx, w)
	if err != nil {
		return own, err
	}
	found, err := loader.Resolve(ctx, all, c.Source)
	if fault.Is(err, fault.NotFound) {
		return own, fault.New(fault.NotFound, err.Error()).Hint("deft plugins marketplaces lists yours; a directory is named with a slash: ./" + c.Source)
	}
	if err == nil && c.Path+c.Ref != "" {
		err = fault.New(fault.Invalid, "--ref and --path are for repositories, not for a plugin of a marketplace")
	}
	return gitsource.Source(found), err
}

// pinned refuses a ref of a directory, which would be taken as it is now.
func pinned(s gitsource.Source) error {
	if s.Ref == nil || s.Cloned() {
		return nil
	}
	return fault.New(fault.Invalid, "--ref is for repositories, and "+s.Source+" is named as a directory").Hint("name its repository: file:// and the absolute path")
}

func (c *Install) confirm(ctx context.Context, std *stdio.Streams, dir, name string) error {
	p, err := plugin.Load(dir)
	if err != nil {
		return err
	}
	p.Name = name // without a manifest it is named after its directory
	if p.Manifest == nil && len(p.Brings())+len(p.Runs()) == 0 {
		return fault.New(fault.Invalid, "there is no plugin in it: neither a plugin.json nor skills, commands, agents, hooks or MCP servers")
	}
	return told(ctx, std, p, nil, c.Yes, "Install "+stdio.OneLine(p.Name)+"?")
}

// explained words an error of an installation.
func explained(err error, source string) error {
	switch {
	case errors.Is(err, gitsource.ErrFetch):
		return fault.New(fault.Invalid, source+" cannot be installed").Because(err).Hint("check the source, --ref and --path, and that this machine may reach and read it")
	case fault.Is(err, fault.Conflict):
		return fault.New(fault.Conflict, err.Error()).Hint("deft plugins update fetches it again; --force replaces it by this one")
	case fault.Is(err, fault.Invalid):
		return fault.New(fault.Invalid, source+" cannot be installed").Because(err)
	}
	return err
}

// Update updates plugins. It is a command line, for kong.
type Update struct {
	Names []string `arg:"" optional:"" name:"name" help:"Names of the plugins (default: all)."`
	Yes   bool     `short:"y" help:"Do not ask whether new hooks and MCP servers may run."`
}

// Help is shown by `deft plugins update --help`.
func (c *Update) Help() string {
	return `Each plugin is fetched from its source again, at the branch or tag that it was installed from. If its hooks
or MCP servers have changed, they are shown and you are asked. A plugin that cannot be fetched stays as it is.`
}

// Run updates the plugins.
func (c *Update) Run(ctx context.Context, std *stdio.Streams, w Wiring) error {
	my, err := w.open()
	if err != nil {
		return err
	}
	store := my.installed
	names := c.Names
	if len(names) == 0 {
		all, err := store.List()
		if err != nil {
			return err
		}
		for _, i := range all {
			if i.Source != "local" {
				names = append(names, i.Name)
			}
		}
	}
	var failed error
	for _, name := range names {
		if err := c.one(ctx, std, store, name); err != nil {
			if len(names) == 1 || ctx.Err() != nil {
				return err
			}
			fmt.Fprintln(std.Err, "deft: "+stdio.OneLine(name+": "+fault.Text(err)))
			failed = fault.New(fault.KindOf(err), "not all plugins are updated")
		}
	}
	return failed
}

func (c *Update) one(ctx context.Context, std *stdio.Streams, store *installed.Store, name string) error {
	old, err := store.Get(name)
	if err != nil {
		return unknown(err)
	}
	if old.Source == "local" {
		return fault.New(fault.Invalid, name+" was copied to "+old.InstallPath+" by hand, so nobody knows its source").Hint("change its files there")
	}
	var known []string
	if p, err := plugin.Load(old.InstallPath); err == nil {
		known = p.Runs()
	}
	got, err := store.Update(ctx, name, func(dir string, _ installed.Info) error {
		p, err := plugin.Load(dir)
		if err != nil {
			return err
		}
		return told(ctx, std, p, slices.Clip(known), c.Yes, "Update "+name+"?")
	})
	if err != nil {
		return explained(err, gitsource.Shown(old.Source))
	}
	text := name + " is updated from " + origin(got)
	if was, is := optional.Value(old.ResolvedRef), optional.Value(got.ResolvedRef); was == is && is != "" {
		text = name + " is up to date: " + origin(got)
	}
	_, err = fmt.Fprintln(std.Err, text)
	return err
}
