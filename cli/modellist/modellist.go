// Package modellist is `deft llm models`: lists the models that Deft knows, with their limits
// and prices, and takes them over from LiteLLM's price list.
//
// # Usage
//
//	type llmModelsCmd struct {
//		List modellist.List `cmd:"" default:"withargs"`
//	}
//
// # Failure
//
// A price list that cannot be read is fault.Invalid, one that cannot be reached
// fault.Unavailable. Passwords and queries of its address are never shown.
package modellist

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm/catalog"
)

// List lists models.
type List struct {
	Filter string `arg:"" optional:"" help:"Part of a model's name or its provider."`
	JSON   bool   `name:"json" help:"One JSON object a line."`
}

// modelJSON is a model as --json prints it. Zero numbers mean unknown.
type modelJSON struct {
	Name      string         `json:"name"`
	Aliases   []string       `json:"aliases,omitempty"`
	Provider  string         `json:"provider"`
	Context   int            `json:"context_window"`
	MaxOutput int            `json:"max_output_tokens"`
	Price     *catalog.Price `json:"price"` // US dollars for a million tokens; null: unknown
	Vision    bool           `json:"vision"`
	Reasoning bool           `json:"reasoning"`
	Tools     bool           `json:"tools"`
}

// Run lists models.
func (c *List) Run(std *stdio.Streams) error {
	path := catalog.UserFile(std.Env)
	known, err := catalog.Load(path)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	if !c.JSON {
		fmt.Fprintln(w, "MODEL\tPROVIDER\tCONTEXT\tOUTPUT\tCAN\t$/M IN\tCACHED\tOUT")
	}
	n := 0
	for _, name := range known.Names() {
		e, ok := known.Lookup(name)
		if !ok || !c.wants(e) {
			continue
		}
		n++
		if c.JSON {
			err = std.PrintJSON(modelJSON{e.Name, e.Aliases, e.Provider, e.Context, e.MaxOutput, e.Price, e.Vision, e.Reasoning, e.Tools})
		} else {
			_, err = fmt.Fprintln(w, modelRow(e))
		}
		if err != nil {
			return err
		}
	}
	if n == 0 {
		return c.none(known)
	}
	if c.JSON {
		return nil
	}
	if err := w.Flush(); err != nil {
		return err
	}
	from := ""
	if _, err := os.Stat(path); err == nil {
		from = ", and as " + path + " has them"
	}
	_, err = fmt.Fprintf(std.Err, "%d models; prices as of %s, where they are known%s\n", n, known.Date, from)
	return err
}

func (c *List) none(known *catalog.Catalog) error {
	e := fault.New(fault.NotFound, fmt.Sprintf("no model is like %q", c.Filter))
	if near := known.Near(c.Filter); len(near) > 0 {
		e = e.Hint("near: " + strings.Join(near, ", "))
	}
	return e
}

func (c *List) wants(e catalog.Entry) bool {
	want := strings.ToLower(c.Filter)
	return slices.ContainsFunc(append([]string{e.Name, e.Provider + "/" + e.Name}, e.Aliases...), func(name string) bool {
		return strings.Contains(strings.ToLower(name), want)
	})
}

// modelRow is a model as a row of the table.
func modelRow(e catalog.Entry) string {
	price := "unknown\t\t"
	if p := e.Price; p != nil {
		price = dollars(p.Input) + "\t" + dollars(p.CacheRead) + "\t" + dollars(p.Output)
		for _, t := range p.Tiers {
			price += fmt.Sprintf(" (above %s: %s, %s, %s)", tokens(t.Above), dollars(t.Input), dollars(t.CacheRead), dollars(t.Output))
		}
	}
	var can []string
	for _, a := range []struct {
		word string
		yes  bool
	}{{"tools", e.Tools}, {"images", e.Vision}, {"reasoning", e.Reasoning}} {
		if a.yes {
			can = append(can, a.word)
		}
	}
	return strings.Join([]string{console.Line(e.Name), console.Line(e.Provider), tokens(e.Context), tokens(e.MaxOutput), strings.Join(can, " "), price}, "\t")
}

func dollars(d float64) string { return strconv.FormatFloat(d, 'f', -1, 64) }

// tokens is a count in a short form, "?" for unknown.
func tokens(n int) string {
	switch {
	case n == 0:
		return "?"
	case n >= 1_000_000:
		return strconv.FormatFloat(float64(n/10_000)/100, 'f', -1, 64) + "M"
	case n >= 10_000:
		return strconv.Itoa(n/1000) + "k"
	}
	return strconv.Itoa(n)
}
