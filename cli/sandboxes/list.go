package sandboxes

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/sandbox"
)

// List lists the classes. It is a command line, for kong.
type List struct {
	JSON bool `name:"json" help:"Print each class as a line of JSON."`
}

// class is a line of --json.
type class struct {
	Name      string            `json:"name"`
	Summary   string            `json:"summary"`
	Levels    []string          `json:"levels,omitempty"`
	Accepts   []sandbox.Feature `json:"accepts"`
	Workspace string            `json:"workspace,omitempty"`
	Image     string            `json:"image,omitempty"`
	Warning   string            `json:"warning,omitempty"`
}

// Run lists the classes.
func (c *List) Run(_ context.Context, std *stdio.Streams, classes sandbox.Classes) error {
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	for _, one := range classes {
		line := class{
			Name: one.Name, Summary: one.Summary, Levels: one.LevelNames(), Accepts: one.Accepts, Workspace: one.Inside, Image: one.Image, Warning: one.Warning,
		}
		if line.Accepts == nil {
			line.Accepts = []sandbox.Feature{}
		}
		if c.JSON {
			if err := std.PrintJSON(line); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(w, "%s\t%s\n", line.Name, line.Summary)
		for _, about := range []struct{ what, text string }{
			{"levels", strings.Join(line.Levels, ", ")}, {"accepts", strings.Join(words(line.Accepts), ", ")},
			{"workspace inside", line.Workspace}, {"image", line.Image}, {"warning", line.Warning},
		} {
			if about.text != "" {
				fmt.Fprintf(w, "\t%s: %s\n", about.what, about.text)
			}
		}
	}
	return w.Flush()
}

func words(features []sandbox.Feature) (out []string) {
	for _, f := range features {
		out = append(out, string(f))
	}
	return out
}
