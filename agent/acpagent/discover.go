package acpagent

import (
	"context"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/spec"
)

// Discover starts the program, begins a session, and ends the program. An error is a
// *[agent.Failure].
func (a *Agent) Discover(ctx context.Context) (spec.ACPDiscovery, error) {
	var n notes
	p, err := a.start(ctx, &n, false, []event.Event{})
	if err != nil {
		return spec.ACPDiscovery{}, err
	}
	p.close()
	n.clean(a.cfg.Mask)
	return spec.ACPDiscovery{
		Name: orNull(n.Name), Version: orNull(n.Version), Models: n.Models, Model: orNull(n.Model), Switches: n.Switches,
	}, nil
}

// orNull is a text of the program as JSON has it: null for none.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
