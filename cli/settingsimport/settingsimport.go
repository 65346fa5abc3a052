// Package settingsimport is `deft config import`: shows which settings of a user of OpenHands
// are taken over, asks, and stores them.
//
// # Usage
//
//	type configCmd struct {
//		Import settingsimport.Command `cmd:""`
//	}
//
// # Failure
//
// Files that hold no settings are fault.Invalid. Secrets are never shown.
package settingsimport

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/textfile"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/settings/openhands"
)

// Wiring is the user's settings: their directory, and the service of it.
type Wiring struct {
	Dir  func() (string, error)
	Open func(ctx context.Context, dir string) (*settings.Service, error)
}

// Command takes settings of OpenHands over. It is a command line, for kong.
type Command struct {
	Files  []string `arg:"" optional:"" help:"config.toml, settings.json, secrets.json, agent_settings.json or mcp.json (default: the ones in ~/.openhands that Deft does not use itself)." type:"path"`
	DryRun bool     `short:"n" help:"Show the settings that would be taken over."`
	Yes    bool     `short:"y" help:"Do not ask."`
	JSON   bool     `name:"json" help:"Print JSON."`
}

// Help is shown by --help.
func (c *Command) Help() string {
	return `Takes over the settings of a user of OpenHands: the model and further LLM profiles, MCP
servers, confirmation, limits, the name for commits, secrets and tokens of Git hosts. They are
those of deft run and of deft serve on this machine. It shows what is taken and what is not, and
why; secrets are never shown.

What config.toml has for who runs a server is read by deft serve --openhands-config.`
}

// largestImport bounds a file, in bytes.
const largestImport = 1 << 20

// Run shows the settings, asks, and stores them.
func (c *Command) Run(ctx context.Context, std *stdio.Streams, w Wiring) error {
	dir, err := w.Dir()
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
		if !c.Yes {
			if err := std.Confirm(ctx, "settings would change", "take these over?", "nothing was changed", c.JSON); err != nil {
				return err
			}
		}
		s, err := w.Open(ctx, dir)
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
		return std.PrintJSON(struct {
			*openhands.Plan
			Applied bool `json:"applied"`
		}{plan, !c.DryRun})
	}
	return nil
}

// names are the files to read.
func (c *Command) names(dir string) (names []string, err error) {
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
	raw, err := textfile.Read(name)
	return raw, fault.Wrap(err, fault.Invalid, "read a file of OpenHands")
}

func printPlan(std *stdio.Streams, p *openhands.Plan) error {
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
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
