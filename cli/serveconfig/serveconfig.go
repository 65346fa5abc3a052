// Package serveconfig is `deft config`: it shows and checks the settings of deft serve.
//
// # Usage
//
//	type configCmd struct {
//		Show serveconfig.Show `cmd:""`
//	}
//
// # Failure
//
// Settings that are wrong are shown all the same, and then are an error of kind
// fault.Invalid.
package serveconfig

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/server/appserver/config"
)

// Sources returns where the settings come from, with the flags of the command.
type Sources func(config.Flags) (config.Sources, error)

// Show shows each setting with where it comes from. It is a command line, for kong.
type Show struct {
	config.Flags
	JSON bool `name:"json" help:"Print JSON."`
}

// Help is shown by --help.
func (c *Show) Help() string {
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
func (c *Show) Run(k *kong.Context, std *stdio.Streams, sources Sources) error {
	s, err := sources(c.Flags)
	if err != nil {
		return err
	}
	_, report, failed := config.Load(s)
	warn(std, report.Warnings)
	others := variables(k.Model.Node, std.Env)
	if c.JSON {
		var values []shownValue
		for _, v := range report.Values {
			values = append(values, shownValue{v.Setting.Key, v.Text, v.Source, v.Setting.Variable, v.Setting.Flag})
		}
		err = std.PrintJSON(map[string]any{"settings": values, "files": report.Files, "warnings": report.Warnings, "variables": others})
		return cmp.Or(err, failed)
	}
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SETTING\tVALUE\tFROM")
	for _, v := range report.Values {
		fmt.Fprintf(w, "%s\t%s\t%s\n", v.Setting.Key, cmp.Or(console.Line(v.Text), "-"), console.Line(v.Source.String()))
	}
	if len(others) > 0 {
		fmt.Fprintln(w, "\nVARIABLE\tIS\tFOR")
		for _, o := range others {
			fmt.Fprintf(w, "%s\t%s\t%s\n", o.Variable, o.Flag, strings.Join(o.Commands, ", "))
		}
	}
	return cmp.Or(w.Flush(), failed)
}

func warn(std *stdio.Streams, warnings []string) {
	for _, w := range warnings {
		fmt.Fprintln(std.Err, "deft: warning:", stdio.OneLine(w))
	}
}

// variable stands for a flag of other commands.
type variable struct {
	Variable string   `json:"variable"`
	Flag     string   `json:"flag"`
	Commands []string `json:"commands"`
}

// variables returns the variables that are set and that commands other than deft serve
// read for their flags. Their values are not shown.
func variables(root *kong.Node, env func(string) string) []variable {
	var out []variable
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
					out = append(out, variable{Variable: name, Flag: "--" + f.Name})
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

// Check checks a file of settings. It is a command line, for kong.
type Check struct {
	File string `arg:"" help:"The file, for example deft.toml." type:"path"`
}

// Help is shown by --help.
func (c *Check) Help() string {
	return `Names every mistake with its line. If the file has an identity provider, its description is read.`
}

// TryProvider reads the description of an identity provider; the error names its mistake.
type TryProvider func(ctx context.Context, a config.Auth) error

// Run checks the file.
func (c *Check) Run(ctx context.Context, std *stdio.Streams, classes sandbox.Classes, try TryProvider) error {
	cfg, report, err := config.Check(c.File, os.Environ(), classes)
	if err == nil && cfg.Auth.Issuer != "" {
		err = try(ctx, cfg.Auth)
	}
	if report != nil {
		warn(std, report.Warnings)
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

// Example prints a file with all settings. It is a command line, for kong.
type Example struct{}

// Run prints the file.
func (c *Example) Run(std *stdio.Streams) error {
	_, err := fmt.Fprint(std.Out, config.Example())
	return err
}
