// Package profile is `deft llm profile`: the stored models of a user, and which service uses
// which.
//
// # Usage
//
//	type llmProfileCmd struct {
//		List profile.List `cmd:"" default:"withargs"`
//	}
//
// The types are command lines, for kong. Their Run gets a [Wiring].
//
// # Failure
//
// A profile that no run could use is fault.Invalid; an unknown name is fault.NotFound, and
// the error names the others. A key is never shown.
package profile

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

// Wiring opens the user's profiles.
type Wiring struct {
	Stores func() (*profiles.Stores, error)
	// Assigned says which profiles the user has given to services and agents.
	Assigned func() (profiles.Assignments, error)
	// CheckModel refuses a model that no adapter knows.
	CheckModel func(*spec.LLM) error
}

// Get returns a profile. If there is none, the error names the others.
func Get(ctx context.Context, s *profiles.Stores, name string) (profiles.Profile, error) {
	p, err := s.LLMs.Profile(ctx, name)
	if !fault.Is(err, fault.NotFound) {
		return p, err
	}
	e := fault.New(fault.NotFound, "there is no profile "+name)
	if all, err := s.LLMs.Names(ctx); err == nil && len(all) > 0 {
		e = e.Hint("the profiles are: " + strings.Join(all, ", "))
	}
	return p, e
}

// List lists the profiles. It is a command line, for kong, like the others.
type List struct {
	JSON bool `name:"json" help:"One JSON object a line."`
}

// Run lists the profiles.
func (c *List) Run(ctx context.Context, std *stdio.Streams, w Wiring) error {
	s, err := w.Stores()
	if err != nil {
		return err
	}
	names, err := s.LLMs.Names(ctx)
	if err != nil {
		return err
	}
	assigned, err := w.Assigned()
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	if !c.JSON && len(names) > 0 {
		fmt.Fprintln(table, "PROFILE\tMODEL\tSERVICES\tFALLBACK\tIMAGES")
	}
	for _, name := range names {
		p, err := s.LLMs.Profile(ctx, name)
		if err != nil { // the others can be shown all the same
			fmt.Fprintln(std.Err, "deft:", stdio.OneLine(err.Error()))
			continue
		}
		services := usesOf(assigned, name)
		if c.JSON {
			doc, err := shown(p)
			if err != nil {
				return err
			}
			line := schema.Of("name", name, "services", list(services))
			for _, key := range doc.Keys() {
				line.Set(key, doc.Get(key))
			}
			if err := std.PrintJSON(line); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", name, console.Line(p.LLM.Model), dash(strings.Join(services, " ")), dash(strings.Join(p.LLM.Extras().Fallback, " ")), dash(p.LLM.Extras().Vision))
	}
	if len(names) == 0 {
		_, err := fmt.Fprintln(std.Err, "no profile is stored: deft llm profile set NAME --model …")
		return err
	}
	return table.Flush()
}

// usesOf returns the uses of a profile, as --for names them: services, then classes of agents.
func usesOf(a profiles.Assignments, profile string) []string {
	uses := []string{}
	for _, service := range slices.Sorted(maps.Keys(a.Services)) {
		if a.Services[service] == profile {
			uses = append(uses, service)
		}
	}
	for _, class := range slices.Sorted(maps.Keys(a.Agents)) {
		if a.Agents[class] == profile {
			uses = append(uses, "agent:"+class)
		}
	}
	return uses
}

func list(texts []string) []any {
	out := make([]any, len(texts))
	for i, text := range texts {
		out[i] = text
	}
	return out
}

func dash(s string) string { return cmp.Or(s, "-") }

// shown returns a profile's differences from the defaults, with its secrets
// masked.
func shown(p profiles.Profile) (*schema.Map, error) {
	doc, err := p.Doc(schema.Writing{Mode: schema.Masked})
	if err != nil {
		return nil, err
	}
	defaults := spec.LLMSchema.Defaults()
	out := schema.NewMap()
	for _, key := range doc.Keys() {
		got, err := schema.Encode(doc.Get(key))
		usual, err2 := schema.Encode(defaults.Get(key))
		if err := errors.Join(err, err2); err != nil {
			return nil, err
		}
		if _, known := defaults.Lookup(key); key == "model" || !known || !bytes.Equal(got, usual) {
			out.Set(key, doc.Get(key))
		}
	}
	return out, nil
}

// Show prints a profile as JSON.
type Show struct {
	Name string `arg:"" help:"The profile." complete:"profiles"`
}

// Run prints a profile.
func (c *Show) Run(ctx context.Context, std *stdio.Streams, w Wiring) error {
	s, err := w.Stores()
	if err != nil {
		return err
	}
	p, err := Get(ctx, s, c.Name)
	if err != nil {
		return err
	}
	doc, err := shown(p)
	if err != nil {
		return err
	}
	return std.PrintJSON(doc)
}

// Use chooses the profile of a service.
type Use struct {
	Name    string `arg:"" optional:"" complete:"profiles" help:"The profile. Without one, the service has none of its own any more."`
	Service string `name:"for" help:"The service: agent, condenser, titles, security or drafts; or agent:CLASS for one class of agents." default:"agent" placeholder:"SERVICE"`
}

// Run chooses a profile.
func (c *Use) Run(ctx context.Context, std *stdio.Streams, w Wiring) error {
	s, err := w.Stores()
	if err != nil {
		return err
	}
	class, isAgent := strings.CutPrefix(c.Service, "agent:")
	if isAgent {
		c.Service = class
	} else if err := profiles.CheckService(c.Service); err != nil {
		return err
	}
	if c.Name != "" {
		if _, err := Get(ctx, s, c.Name); err != nil {
			return err
		}
	}
	if err := s.Assign(ctx, c.Service, isAgent, c.Name); err != nil {
		return err
	}
	if c.Service == agent.UsageAgent && !isAgent && c.Name != "" && std.Env("LLM_MODEL") != "" {
		_, err = fmt.Fprintln(std.Err, "note: LLM_MODEL is set and goes before it")
	}
	return err
}

// Delete deletes a profile, with the key that was stored for it.
type Delete struct {
	Name string `arg:"" help:"The profile." complete:"profiles"`
}

// Run deletes a profile.
func (c *Delete) Run(ctx context.Context, std *stdio.Streams, w Wiring) error {
	s, err := w.Stores()
	if err != nil {
		return err
	}
	if _, err := Get(ctx, s, c.Name); fault.Is(err, fault.NotFound) {
		return err
	}
	err = s.DeleteLLM(ctx, c.Name)
	if !fault.Is(err, fault.Conflict) {
		return err
	}
	users, uerr := w.Assigned()
	if uerr != nil {
		return err
	}
	if uses := usesOf(users, c.Name); len(uses) > 0 {
		return releaseHint(err, uses[0])
	}
	return err
}

// releaseHint names the command after which a profile is no longer in use.
func releaseHint(err error, service string) error {
	return fault.New(fault.Conflict, err.Error()).
		Hint("choose another with `deft llm profile use OTHER --for " + service + "`, or none with `deft llm profile use --for " + service + "`")
}
