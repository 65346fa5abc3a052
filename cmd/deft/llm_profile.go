package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/deft-dev/deft/internal/console"
	"github.com/deft-dev/deft/llm/registry"
)

// llmProfileCmd works with stored profiles.
type llmProfileCmd struct {
	List   profileListCmd   `cmd:"" default:"withargs" help:"List the profiles, and the services that use them."`
	Show   profileShowCmd   `cmd:"" help:"Print a profile as JSON. A key is never in it."`
	Set    profileSetCmd    `cmd:"" help:"Make a profile, or change what is given of one."`
	Use    profileUseCmd    `cmd:"" help:"Choose the profile of the agent, or of another service."`
	Delete profileDeleteCmd `cmd:"" help:"Delete a profile, and the key that was stored for it."`
}

func openProfiles(std *streams) (*registry.Profiles, error) {
	return registry.OpenProfiles(registry.Dir(std.env))
}

type profileListCmd struct {
	JSON bool `name:"json" help:"One JSON object a line."`
}

// profileJSON is a profile as list --json prints it.
type profileJSON struct {
	Name     string   `json:"name"`
	Services []string `json:"services"`
	registry.Profile
}

// Run lists the profiles.
func (c *profileListCmd) Run(std *streams) error {
	s, err := openProfiles(std)
	if err != nil {
		return err
	}
	names, err := s.Names()
	if err != nil {
		return err
	}
	assigned, err := s.Services()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	if !c.JSON && len(names) > 0 {
		fmt.Fprintln(w, "PROFILE\tMODEL\tSERVICES\tFALLBACK\tIMAGES")
	}
	for _, name := range names {
		p, err := s.Get(name)
		if err != nil { // the others can be shown all the same
			fmt.Fprintln(std.err, "deft:", oneLine(err.Error()))
			continue
		}
		services := servicesOf(assigned, name)
		if c.JSON {
			if err := printJSON(std, profileJSON{name, services, shown(p)}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", name, console.Line(p.Model), dash(strings.Join(services, " ")), dash(strings.Join(p.Fallback, " ")), dash(p.Vision))
	}
	if len(names) == 0 {
		_, err := fmt.Fprintln(std.err, "no profile is stored: deft llm profile set NAME --model …")
		return err
	}
	return w.Flush()
}

func servicesOf(assigned map[string]string, profile string) []string {
	services := []string{}
	for _, service := range slices.Sorted(maps.Keys(assigned)) {
		if assigned[service] == profile {
			services = append(services, service)
		}
	}
	return services
}

func dash(s string) string { return first(s, "-") }

// shown is a profile as it may be shown.
func shown(p registry.Profile) registry.Profile {
	if p.SealedAPIKey != "" {
		p.SealedAPIKey = "[sealed]"
	}
	return p
}

type profileShowCmd struct {
	Name string `arg:"" help:"The profile."`
}

// Run prints a profile.
func (c *profileShowCmd) Run(std *streams) error {
	s, err := openProfiles(std)
	if err != nil {
		return err
	}
	p, err := s.Get(c.Name)
	if err != nil {
		return err
	}
	return printJSON(std, shown(p))
}

type profileUseCmd struct {
	Name    string `arg:"" optional:"" help:"The profile. Without one, the service has none of its own any more."`
	Service string `name:"for" help:"The service: agent, condenser, titles, security or drafts." default:"agent" placeholder:"SERVICE"`
}

// Run chooses a profile.
func (c *profileUseCmd) Run(ctx context.Context, std *streams) error {
	s, err := openProfiles(std)
	if err != nil {
		return err
	}
	if err := s.Assign(ctx, c.Service, c.Name); err != nil {
		return err
	}
	if c.Service == registry.Agent && c.Name != "" && std.env("LLM_MODEL") != "" {
		_, err = fmt.Fprintln(std.err, "note: LLM_MODEL is set and goes before it")
	}
	return err
}

type profileDeleteCmd struct {
	Name string `arg:"" help:"The profile."`
}

// Run deletes a profile.
func (c *profileDeleteCmd) Run(ctx context.Context, std *streams) error {
	s, err := openProfiles(std)
	if err != nil {
		return err
	}
	return s.Delete(ctx, c.Name)
}
