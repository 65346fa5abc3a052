package session

import (
	"fmt"

	"github.com/deft-dev/deft/memory"
	"github.com/deft-dev/deft/spec"
)

// summarizing returns the condensers that summarise, in the order in which they
// are asked (docs/openhands/sdk-features.md section 4).
func summarizing(c *spec.Condenser) []*spec.Condenser {
	if c == nil {
		return nil
	}
	var out []*spec.Condenser
	if c.Kind == "LLMSummarizingCondenser" {
		out = append(out, c)
	}
	for _, inner := range c.Condensers {
		out = append(out, summarizing(inner)...)
	}
	return out
}

// condenserService is the service that the model of the condenser i is: each has its
// own.
func condenserService(i int) string {
	if i == 0 {
		return memory.Service
	}
	return fmt.Sprintf("%s-%d", memory.Service, i+1)
}

// condenser makes the agent's condenser, or nil where none would leave
// anything out.
func condenser(a *spec.Agent) memory.Condenser {
	var all memory.Pipeline
	for i, c := range summarizing(a.Condenser) {
		one := memory.Summarizing{
			MaxSize: c.MaxSize, KeepFirst: c.KeepFirst, MinimumProgress: c.MinimumProgress,
			Retries: c.HardContextResetMaxRetries, Scaling: c.HardContextResetContextScaling, Service: condenserService(i),
		}
		if c.KeepFirst == 0 {
			one.KeepFirst = -1
		}
		if c.MaxTokens != nil {
			one.MaxTokens = *c.MaxTokens
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// cannotCondense says in the reference's words why an agent's history is not
// shortened on request; "" where it is.
func cannotCondense(a *spec.Agent) string {
	switch {
	case a.Condenser == nil:
		return "Cannot condense conversation: No condenser configured"
	case len(summarizing(a.Condenser)) == 0:
		return "Cannot condense conversation: Condenser " + a.Condenser.Kind + " does not handle condensation requests"
	}
	return ""
}
