package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/settingsimport"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/fault"
	serversettings "github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/server/appserver/config"
	"github.com/deft-dev/deft/settings"
)

// configCmd works with the configuration of deft serve.
type configCmd struct {
	Show    configShowCmd          `cmd:"" default:"withargs" help:"Show each setting of deft serve with where it comes from, and the variables of other commands that are set."`
	Import  settingsimport.Command `cmd:"" help:"Take over what OpenHands is configured with."`
	Check   configCheckCmd         `cmd:"" help:"Check a file of settings."`
	Example configExampleCmd       `cmd:"" help:"Print a file with all settings, commented out."`
}

type configShowCmd struct {
	config.Flags
	JSON bool `name:"json" help:"Print JSON."`
}

// Help is shown by --help.
func (c *configShowCmd) Help() string {
	return `Takes the flags of deft serve, and shows what it would use with them. Secrets are shown as
[set]. See deft config example for a file with all settings.`
}

// shownValue is a setting as JSON.
type shownValue struct {
	Key      string        `json:"key"`
	Value    string        `json:"value"`
	Source   config.Source `json:"source"`
	Variable string        `json:"variable"`
	Flag     string        `json:"flag,omitempty"`
}

// Run shows the settings, even if some of them are wrong.
func (c *configShowCmd) Run(k *kong.Context, std *streams, g *globalFlags) error {
	s, err := configSources(std, g, c.Flags)
	if err != nil {
		return err
	}
	_, report, failed := config.Load(s)
	warnAll(std, report.Warnings)
	others := variablesOf(k.Model.Node, std.Env)
	if c.JSON {
		var values []shownValue
		for _, v := range report.Values {
			values = append(values, shownValue{v.Setting.Key, v.Text, v.Source, v.Setting.Variable, v.Setting.Flag})
		}
		err = std.PrintJSON(map[string]any{"settings": values, "files": report.Files, "warnings": report.Warnings, "variables": others})
		return firstError(err, failed)
	}
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SETTING\tVALUE\tFROM")
	for _, v := range report.Values {
		fmt.Fprintf(w, "%s\t%s\t%s\n", v.Setting.Key, first(console.Line(v.Text), "-"), console.Line(v.Source.String()))
	}
	if len(others) > 0 {
		fmt.Fprintln(w, "\nVARIABLE\tIS\tFOR")
		for _, o := range others {
			fmt.Fprintf(w, "%s\t%s\t%s\n", o.Variable, o.Flag, strings.Join(o.Commands, ", "))
		}
	}
	return firstError(w.Flush(), failed)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// configSources are the sources of the configuration of deft serve.
func configSources(std *streams, g *globalFlags, f config.Flags) (config.Sources, error) {
	p, err := findPaths("", std.Env)
	if err != nil && g.Data == "" {
		return config.Sources{}, err
	}
	return config.Sources{Environ: os.Environ(), Flags: f, Data: g.Data, DefaultData: p.data, Classes: sandboxClasses()}, nil
}

func warnAll(std *streams, warnings []string) {
	for _, w := range warnings {
		fmt.Fprintln(std.Err, "deft: warning:", stdio.OneLine(w))
	}
}

// commandVariable is a variable that stands for a flag of other commands.
type commandVariable struct {
	Variable string   `json:"variable"`
	Flag     string   `json:"flag"`
	Commands []string `json:"commands"`
}

// variablesOf returns the variables that are set and that commands other than deft serve
// read for their flags. Their values are not shown.
func variablesOf(root *kong.Node, env func(string) string) []commandVariable {
	var out []commandVariable
	at := map[string]int{}
	own := map[string]bool{"DEFT_CONFIG": true, "DEFT_OPENHANDS_CONFIG": true}
	for _, s := range config.Settings() {
		own[s.Variable] = true
	}
	var walk func(n *kong.Node)
	walk = func(n *kong.Node) {
		for _, f := range n.Flags {
			for _, name := range f.Envs {
				if env(name) == "" || own[name] || n.Hidden {
					continue
				}
				i, ok := at[name]
				if !ok {
					i = len(out)
					at[name] = i
					out = append(out, commandVariable{Variable: name, Flag: "--" + f.Name})
				}
				out[i].Commands = append(out[i].Commands, n.FullPath())
			}
		}
		for _, child := range n.Children {
			walk(child)
		}
	}
	walk(root)
	return out
}

type configCheckCmd struct {
	File string `arg:"" help:"The file, for example deft.toml." type:"path"`
}

// Run checks a file.
func (c *configCheckCmd) Run(std *streams) error {
	report, err := config.Check(c.File, os.Environ(), sandboxClasses())
	if report != nil {
		warnAll(std, report.Warnings)
	}
	if err == nil {
		_, err = fmt.Fprintln(std.Out, c.File+" is right")
		return err
	}
	mistakes := strings.Split(err.Error(), "\n")
	if len(mistakes) == 1 {
		return err
	}
	for _, m := range mistakes {
		fmt.Fprintln(std.Err, "deft:", stdio.OneLine(m))
	}
	return fault.New(fault.Invalid, fmt.Sprintf("%s has %d mistakes", c.File, len(mistakes))).Hint(fault.HintOf(err))
}

// importWiring is where settings of OpenHands go.
func importWiring(std *streams) settingsimport.Wiring {
	return settingsimport.Wiring{
		Dir: func() (string, error) { return serversettings.PersistenceDir(std.Env) },
		Open: func(ctx context.Context, dir string) (*settings.Service, error) {
			ring, err := openRing(std, dir)
			if err != nil {
				return nil, err
			}
			return settings.Open(ctx, settings.Options{Dir: dir, Keys: ring, Env: std.Env})
		},
	}
}

type configExampleCmd struct{}

// Run prints the example.
func (c *configExampleCmd) Run(std *streams) error {
	_, err := fmt.Fprint(std.Out, config.Example())
	return err
}
