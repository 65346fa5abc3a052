// Package plugins is `deft plugins`: the plugins that the user has installed, and the
// marketplaces that name more.
//
// # Usage
//
//	type grammar struct {
//		Plugins plugins.Command `cmd:""`
//	}
//
// # Failure
//
// Nothing of a plugin is run. Who installs or updates one is shown what it would run, and
// asked; without a terminal --yes answers. A failure leaves the installed one as it was.
package plugins

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/plugin/gitsource"
	"github.com/deft-dev/deft/plugin/installed"
)

// Command has the commands. It is a command line, for kong.
type Command struct {
	List         List         `cmd:"" default:"withargs" help:"List your plugins."`
	Show         Show         `cmd:"" help:"Show the parts of a plugin, and its programs: hooks and MCP servers."`
	Install      Install      `cmd:"" help:"Install a plugin from a repository, a directory or a marketplace."`
	Update       Update       `cmd:"" help:"Fetch plugins again from where they came."`
	Enable       Enable       `cmd:"" help:"Let a plugin take effect again."`
	Disable      Disable      `cmd:"" help:"Keep a plugin, without effect."`
	Marketplaces Marketplaces `cmd:"" help:"Your marketplaces, which name plugins."`
	Remove       Remove       `cmd:"" aliases:"uninstall" help:"Remove plugins."`
}

// Wiring has the dependencies of the commands.
type Wiring struct {
	// Home is the user's home, Persistence returns OH_PERSISTENCE_DIR or ~/.openhands.
	Home        string
	Persistence func() (string, error)
	// Registry opens the user's marketplaces.
	Registry func(ctx context.Context) (Registry, error)
}

// mine are the plugins of the user.
type mine struct {
	plugin.Catalog
	installed *installed.Store
}

func (w Wiring) open() (mine, error) {
	dir, err := w.Persistence()
	if err != nil {
		return mine{}, err
	}
	return mine{plugin.NewCatalog(w.Home, dir, ""), installed.New(plugin.InstalledDir(dir), plugin.Describe)}, nil
}

// List lists plugins. It is a command line, for kong.
type List struct {
	JSON bool `name:"json" help:"Print each plugin as a line of JSON."`
}

// listed is a line of --json.
type listed struct {
	installed.Info
	Problems []string `json:"problems,omitempty"`
}

// Run lists the user's plugins.
func (c *List) Run(std *stdio.Streams, w Wiring) error {
	my, err := w.open()
	if err != nil {
		return err
	}
	all, err := my.installed.List()
	if err != nil {
		return err
	}
	active, warnings := my.User()
	for _, p := range active { // the user's own ones among them
		if filepath.Dir(p.Path) != my.installed.Dir() {
			all = append(all, installed.Info{Name: p.Name, Version: p.Version, Description: p.Description, Enabled: true, Source: "local", InstallPath: p.Path})
		}
	}
	if len(all) == 0 && !c.JSON {
		fmt.Fprintln(std.Err, "There is no plugin. To install one: deft plugins install github:OWNER/REPOSITORY")
	}
	table := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	for _, i := range all {
		i.Source = gitsource.Shown(i.Source)
		p, err := plugin.Load(i.InstallPath)
		problems := p.Problems()
		if err != nil {
			problems = append(problems, err.Error())
		}
		if c.JSON {
			if err := std.PrintJSON(listed{i, problems}); err != nil {
				return err
			}
			continue
		}
		state := "on"
		if !i.Enabled {
			state = "off"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", stdio.OneLine(i.Name), stdio.OneLine(i.Version), state, origin(i), stdio.OneLine(i.Description))
		for _, text := range problems {
			fmt.Fprintln(std.Err, "warning: "+stdio.OneLine(i.Name+": "+text))
		}
	}
	for _, w := range warnings {
		if !slices.ContainsFunc(all, func(i installed.Info) bool { return i.InstallPath == w.Path }) {
			fmt.Fprintln(std.Err, "warning: "+stdio.OneLine(w.Error()))
		}
	}
	return table.Flush()
}

// origin says where a plugin came from, and at which commit.
func origin(i installed.Info) string {
	text := i.Source
	if i.Source == "local" {
		text = i.InstallPath
	}
	if path := optional.Value(i.RepoPath); path != "" {
		text += " " + path
	}
	if commit := optional.Value(i.ResolvedRef); len(commit) >= 12 {
		text += " at " + commit[:12]
	}
	return stdio.OneLine(text)
}

// find returns one of the user's plugins.
func find(my mine, name string) (plugin.Plugin, error) {
	i, err := my.installed.Get(name)
	if err == nil {
		return plugin.Load(i.InstallPath)
	}
	if !fault.Is(err, fault.NotFound) {
		return plugin.Plugin{}, err
	}
	all, _ := my.User()
	if at := slices.IndexFunc(all, func(p plugin.Plugin) bool { return p.Name == name }); at >= 0 {
		return all[at], nil
	}
	return plugin.Plugin{}, unknown(err)
}

// unknown adds the next step to the error about a name that no plugin has.
func unknown(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok && fault.Is(err, fault.NotFound) {
		return f.Hint("deft plugins lists yours")
	}
	return err
}

// Show shows a plugin. It is a command line, for kong.
type Show struct {
	Name string `arg:"" help:"Name of the plugin."`
}

// Run shows a plugin.
func (c *Show) Run(std *stdio.Streams, w Wiring) error {
	my, err := w.open()
	if err != nil {
		return err
	}
	p, err := find(my, c.Name)
	if err != nil {
		return err
	}
	text := p.Name + " " + p.Version
	if p.Description != "" {
		text += ": " + p.Description
	}
	fmt.Fprintln(std.Out, stdio.OneLine(text))
	fmt.Fprintln(std.Out, stdio.OneLine(p.Path))
	for _, line := range slices.Concat(p.Brings(), p.Runs()) {
		fmt.Fprintln(std.Out, "  "+stdio.OneLine(line))
	}
	for _, line := range p.Problems() {
		fmt.Fprintln(std.Err, "warning: "+stdio.OneLine(line))
	}
	return nil
}

// Enable enables a plugin. It is a command line, for kong.
type Enable struct {
	Name string `arg:"" help:"Name of the plugin."`
}

// Run enables the plugin.
func (c *Enable) Run(ctx context.Context, std *stdio.Streams, w Wiring) error {
	return setEnabled(ctx, std, w, c.Name, true)
}

// Disable disables a plugin. It is a command line, for kong.
type Disable struct {
	Name string `arg:"" help:"Name of the plugin."`
}

// Run disables the plugin.
func (c *Disable) Run(ctx context.Context, std *stdio.Streams, w Wiring) error {
	return setEnabled(ctx, std, w, c.Name, false)
}

func setEnabled(ctx context.Context, std *stdio.Streams, w Wiring, name string, on bool) error {
	my, err := w.open()
	if err != nil {
		return err
	}
	if err := my.installed.SetEnabled(ctx, name, on); err != nil {
		return unknown(err)
	}
	what := "off: conversations do without it from their next start on"
	if on {
		what = "on: conversations have it from their next start on"
	}
	_, err = fmt.Fprintln(std.Err, name+" is "+what)
	return err
}

// Remove removes plugins. It is a command line, for kong.
type Remove struct {
	Names []string `arg:"" name:"name" help:"Names of the plugins."`
}

// Run removes the plugins.
func (c *Remove) Run(ctx context.Context, std *stdio.Streams, w Wiring) error {
	my, err := w.open()
	if err != nil {
		return err
	}
	for _, name := range c.Names {
		if err := my.installed.Uninstall(ctx, name); err != nil {
			return unknown(err)
		}
		fmt.Fprintln(std.Err, name+" is removed")
	}
	return nil
}

// told shows a plugin that was fetched, and asks whether it may be used where it runs
// something new.
func told(ctx context.Context, std *stdio.Streams, p plugin.Plugin, known []string, yes bool, question string) error {
	for _, line := range p.Problems() {
		fmt.Fprintln(std.Err, "warning: "+stdio.OneLine(line))
	}
	runs := p.Runs()
	if slices.Equal(runs, known) {
		return nil
	}
	for _, line := range p.Brings() {
		fmt.Fprintln(std.Err, "  "+stdio.OneLine(line))
	}
	for _, line := range runs {
		fmt.Fprintln(std.Err, "  "+stdio.OneLine(line))
	}
	if len(runs) == 0 || yes {
		return nil
	}
	fmt.Fprintln(std.Err, "Hooks and MCP servers run in the sandbox, with the rights of the agent's commands; without a sandbox with yours.")
	return std.Confirm(ctx, "the plugin "+p.Name+" would run "+strings.Join(kinds(p), " and "), question, "nothing was changed", false)
}

func kinds(p plugin.Plugin) (all []string) {
	if len(p.Runs()) > p.Servers.Len() {
		all = append(all, "hooks")
	}
	if p.Servers.Len() > 0 {
		all = append(all, "MCP servers")
	}
	return all
}
