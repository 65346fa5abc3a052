package memory

import (
	"strconv"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/spec"
)

// Service is the service whose model writes summaries. A pipeline's condensers each have a model of
// their own: see [ServiceOf].
const Service = "condenser"

// ServiceOf returns the service whose model the condenser i of [spec.Condenser.Asking] asks.
func ServiceOf(i int) string {
	if i == 0 {
		return Service
	}
	return Service + "-" + strconv.Itoa(i+1)
}

// New returns the condenser that an agent describes, nil for none. Invalid for a kind that there
// is not.
func New(c *spec.Condenser) (Condenser, error) {
	if c == nil {
		return nil, nil
	}
	asking := 0
	return build(c, &asking)
}

// kinds make condensers of the kinds of package spec. service is whose model one asks.
var kinds = map[string]func(c *spec.Condenser, service string) Condenser{
	spec.NoOp: func(*spec.Condenser, string) Condenser { return Pipeline{} },
	spec.Summarizing: func(c *spec.Condenser, service string) Condenser {
		s := Summarizing{
			MaxSize: c.MaxSize, KeepFirst: explicit(c.KeepFirst), MinimumProgress: c.MinimumProgress,
			Retries: c.HardContextResetMaxRetries, Scaling: c.HardContextResetContextScaling, Service: service,
		}
		if c.MaxTokens != nil {
			s.MaxTokens = *c.MaxTokens
		}
		return s
	},
	spec.StructuredSummary: func(c *spec.Condenser, service string) Condenser {
		return Summarizing{MaxSize: c.MaxSize, KeepFirst: explicit(c.KeepFirst), MaxEventChars: c.MaxEventLength, Service: service, Structured: true}
	},
	spec.Attention: func(c *spec.Condenser, service string) Condenser {
		return Attention{MaxSize: c.MaxSize, KeepFirst: c.KeepFirst, Service: service}
	},
	spec.Amortized:        func(c *spec.Condenser, _ string) Condenser { return Amortized(c.MaxSize, c.KeepFirst) },
	spec.RecentEvents:     func(c *spec.Condenser, _ string) Condenser { return Recent(c.MaxEvents, c.KeepFirst) },
	spec.Window:           func(*spec.Condenser, string) Condenser { return Forgetting{KeepFirst: 2} },
	spec.MaskObservations: func(c *spec.Condenser, _ string) Condenser { return MaskObservations(c.AttentionWindow) },
	spec.MaskBrowser:      func(c *spec.Condenser, _ string) Condenser { return MaskBrowser(c.AttentionWindow) },
}

// explicit is a number of a [Summarizing], where 0 is for its default.
func explicit(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

func build(c *spec.Condenser, asking *int) (Condenser, error) {
	if c.Kind == spec.Pipeline {
		p := Pipeline{}
		for _, inner := range c.Condensers {
			one, err := build(inner, asking)
			if err != nil {
				return nil, err
			}
			p = append(p, one)
		}
		return p, nil
	}
	of, known := kinds[c.Kind]
	if !known {
		return nil, fault.New(fault.Invalid, "there is no condenser of the kind "+c.Kind)
	}
	service := ServiceOf(*asking)
	if k, _ := spec.CondenserNamed(c.Kind); k.Asks {
		*asking++
	}
	return of(c, service), nil
}
