package doctor

import (
	"context"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// Engine runs containers, for sandboxes that are containers.
type Engine interface {
	// Engine describes it: address, version, whether it is rootless, its runtimes, its
	// isolation, and its images.
	Engine(ctx context.Context) ([]Item, error)
}

// checkEngine asks the engine for its kind and version.
func (h Host) checkEngine(ctx context.Context) []Check {
	if h.Engine == nil {
		return nil
	}
	items, err := h.Engine.Engine(ctx)
	if err != nil {
		return []Check{failed("engine", fault.ExitError, err)}
	}
	var parts []string
	for _, i := range items {
		parts = append(parts, i.Name+" "+i.Value)
	}
	return []Check{{Name: "engine", State: OK, Text: strings.Join(parts, "; "), Items: items}}
}
