package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm/registry"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

// llmProfileCmd works with stored profiles.
type llmProfileCmd struct {
	List   profileListCmd   `cmd:"" default:"withargs" help:"List the profiles, and the services that use them."`
	Show   profileShowCmd   `cmd:"" help:"Print a profile as JSON. A key is never in it."`
	Set    profileSetCmd    `cmd:"" help:"Make a profile, or change what is given of one."`
	Use    profileUseCmd    `cmd:"" help:"Choose the profile of the agent, or of another service."`
	Delete profileDeleteCmd `cmd:"" help:"Delete a profile, and the key that was stored for it."`
}

type profileListCmd struct {
	JSON bool `name:"json" help:"One JSON object a line."`
}

// Run lists the profiles.
func (c *profileListCmd) Run(ctx context.Context, std *streams) error {
	s, err := openProfiles(std)
	if err != nil {
		return err
	}
	names, err := s.LLMs.Names(ctx)
	if err != nil {
		return err
	}
	assigned, err := assigned(std)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	if !c.JSON && len(names) > 0 {
		fmt.Fprintln(w, "PROFILE\tMODEL\tSERVICES\tFALLBACK\tIMAGES")
	}
	for _, name := range names {
		p, err := s.LLMs.Profile(ctx, name)
		if err != nil { // the others can be shown all the same
			fmt.Fprintln(std.err, "deft:", oneLine(err.Error()))
			continue
		}
		services := servicesOf(assigned.Services, name)
		if c.JSON {
			doc, err := shown(p)
			if err != nil {
				return err
			}
			line := schema.Of("name", name, "services", list(services))
			for _, key := range doc.Keys() {
				line.Set(key, doc.Get(key))
			}
			if err := printJSON(std, line); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", name, console.Line(p.LLM.Model), dash(strings.Join(services, " ")), dash(strings.Join(p.LLM.Extras().Fallback, " ")), dash(p.LLM.Extras().Vision))
	}
	if len(names) == 0 {
		_, err := fmt.Fprintln(std.err, "no profile is stored: deft llm profile set NAME --model …")
		return err
	}
	return w.Flush()
}

// servicesOf returns the services that use a profile, sorted.
func servicesOf(assigned map[string]string, profile string) []string {
	services := []string{}
	for _, service := range slices.Sorted(maps.Keys(assigned)) {
		if assigned[service] == profile {
			services = append(services, service)
		}
	}
	return services
}

func list(texts []string) []any {
	out := make([]any, len(texts))
	for i, text := range texts {
		out[i] = text
	}
	return out
}

func dash(s string) string { return first(s, "-") }

// shown returns what a profile says: what differs from the defaults, with its
// secrets masked.
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

type profileShowCmd struct {
	Name string `arg:"" help:"The profile." complete:"profiles"`
}

// Run prints a profile.
func (c *profileShowCmd) Run(ctx context.Context, std *streams) error {
	s, err := openProfiles(std)
	if err != nil {
		return err
	}
	p, err := getProfile(ctx, s, c.Name)
	if err != nil {
		return err
	}
	doc, err := shown(p)
	if err != nil {
		return err
	}
	return printJSON(std, doc)
}

type profileUseCmd struct {
	Name    string `arg:"" optional:"" complete:"profiles" help:"The profile. Without one, the service has none of its own any more."`
	Service string `name:"for" help:"The service: agent, condenser, titles, security or drafts; or agent:CLASS for one class of agents." default:"agent" placeholder:"SERVICE"`
}

// Run chooses a profile.
func (c *profileUseCmd) Run(ctx context.Context, std *streams) error {
	s, err := openProfiles(std)
	if err != nil {
		return err
	}
	class, agent := strings.CutPrefix(c.Service, "agent:")
	if agent {
		c.Service = class
	} else if err := registry.CheckService(c.Service); err != nil {
		return err
	}
	if c.Name != "" {
		if _, err := getProfile(ctx, s, c.Name); err != nil {
			return err
		}
	}
	if err := s.Assign(ctx, c.Service, agent, c.Name); err != nil {
		return err
	}
	if c.Service == registry.Agent && !agent && c.Name != "" && std.env("LLM_MODEL") != "" {
		_, err = fmt.Fprintln(std.err, "note: LLM_MODEL is set and goes before it")
	}
	return err
}

type profileDeleteCmd struct {
	Name string `arg:"" help:"The profile." complete:"profiles"`
}

// Run deletes a profile.
func (c *profileDeleteCmd) Run(ctx context.Context, std *streams) error {
	s, err := openProfiles(std)
	if err != nil {
		return err
	}
	if _, err := getProfile(ctx, s, c.Name); fault.Is(err, fault.NotFound) {
		return err
	}
	err = s.DeleteLLM(ctx, c.Name)
	if !fault.Is(err, fault.Conflict) {
		return err
	}
	users, uerr := assigned(std)
	if uerr != nil {
		return err
	}
	for _, service := range servicesOf(users.Services, c.Name) {
		return releaseHint(err, service)
	}
	for _, class := range servicesOf(users.Agents, c.Name) {
		return releaseHint(err, "agent:"+class)
	}
	return err
}

// releaseHint names the command after which a profile is no longer in use.
func releaseHint(err error, service string) error {
	return fault.New(fault.Conflict, err.Error()).
		Hint("choose another with `deft llm profile use OTHER --for " + service + "`, or none with `deft llm profile use --for " + service + "`")
}
