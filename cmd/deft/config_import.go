package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/settings/openhands"
)

type configImportCmd struct {
	Files  []string `arg:"" optional:"" help:"config.toml, settings.json, secrets.json, agent_settings.json or mcp.json (default: those of ~/.openhands that Deft does not use itself)." type:"path"`
	DryRun bool     `short:"n" help:"Show what would be taken over."`
	Yes    bool     `short:"y" help:"Do not ask."`
	JSON   bool     `name:"json" help:"Print JSON."`
}

// Help is shown by --help.
func (c *configImportCmd) Help() string {
	return `Takes over the settings of a user of OpenHands: the model and further LLM profiles, MCP
servers, confirmation, limits, the name for commits, secrets and tokens of Git hosts. They are
those of deft run and of deft serve on this machine. It shows what is taken and what is not, and
why; secrets are never shown.

What config.toml has for who runs a server is read by deft serve --openhands-config.`
}

// largestImport bounds a file, in bytes.
const largestImport = 1 << 20

// Run shows the settings, asks, and stores them.
func (c *configImportCmd) Run(ctx context.Context, std *streams) error {
	dir, err := config.PersistenceDir(std.env)
	if err != nil {
		return err
	}
	names, err := c.names(dir)
	if err != nil {
		return err
	}
	var files []openhands.File
	for _, name := range names {
		raw, err := readSome(name)
		if err != nil {
			return err
		}
		files = append(files, openhands.File{Name: name, Content: raw})
	}
	plan, err := openhands.Read(files...)
	if err != nil {
		return err
	}
	if !c.JSON {
		if err := printPlan(std, plan); err != nil {
			return err
		}
	}
	if !c.DryRun && len(plan.Taken) > 0 {
		if err := c.confirm(ctx, std); err != nil {
			return err
		}
		ring, err := openRing(std, dir)
		if err != nil {
			return err
		}
		s, err := settings.Open(ctx, settings.Options{Dir: dir, Keys: ring, Env: std.env})
		if err != nil {
			return err
		}
		left, err := plan.Apply(ctx, s, nil)
		if err != nil {
			return err
		}
		plan.Left = append(plan.Left, left...)
	}
	if c.JSON {
		return printJSON(std, struct {
			*openhands.Plan
			Applied bool `json:"applied"`
		}{plan, !c.DryRun})
	}
	return nil
}

func (c *configImportCmd) confirm(ctx context.Context, std *streams) error {
	switch {
	case c.Yes:
		return nil
	case !std.inTTY || c.JSON:
		return fault.New(fault.Denied, "settings would change, and there is no terminal to ask in").Hint("add --yes")
	}
	answer, err := runcommand.NewPrompter(std.in, std.err).Ask(ctx, "take these over? [y/N] ")
	if err != nil {
		return fault.Wrap(err, fault.Canceled, "ask whether to take the settings over")
	}
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return fault.New(fault.Canceled, "nothing was changed")
	}
	return nil
}

// names are the files to read.
func (c *configImportCmd) names(dir string) (names []string, err error) {
	if len(c.Files) > 0 {
		return c.Files, nil
	}
	for _, name := range []string{"config.toml", "agent_settings.json", "mcp.json"} {
		switch _, err := os.Stat(filepath.Join(dir, name)); {
		case err == nil:
			names = append(names, filepath.Join(dir, name))
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fault.Wrap(err, fault.Invalid, "find the files of OpenHands")
		}
	}
	if len(names) == 0 {
		return nil, fault.New(fault.NotFound, "there is nothing to take over in "+dir).Hint("name the files")
	}
	return names, nil
}

func readSome(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "read a file of OpenHands")
	}
	if !info.Mode().IsRegular() || info.Size() > largestImport {
		return nil, fault.New(fault.Invalid, name+" is not a file of settings")
	}
	raw, err := os.ReadFile(name)
	return raw, fault.Wrap(err, fault.Invalid, "read a file of OpenHands")
}

func printPlan(std *streams, p *openhands.Plan) error {
	w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	if len(p.Taken) > 0 {
		fmt.Fprintln(w, "TAKEN\tFROM\tVALUE")
	}
	for _, t := range p.Taken {
		value := t.Value
		if t.Secret && value == "" {
			value = "[set]"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", console.Line(t.To), console.Line(t.File+": "+t.Key), console.Line(value))
	}
	if len(p.Left) > 0 {
		fmt.Fprintln(w, "\nLEFT\t\tWHY")
	}
	for _, l := range p.Left {
		fmt.Fprintf(w, "%s\t\t%s\n", console.Line(l.File+": "+l.Key), console.Line(l.Why))
	}
	return w.Flush()
}
