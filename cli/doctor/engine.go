package doctor

import (
	"context"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// checkEngine asks the engine for its kind and version.
func (h Host) checkEngine(ctx context.Context) []Check {
	if h.Engine == nil {
		return nil
	}
	facts, err := h.Engine.Describe(ctx)
	if err != nil {
		return []Check{failed("engine", fault.ExitError, err)}
	}
	var parts []string
	var items []Item
	for _, f := range facts {
		parts = append(parts, f.Name+" "+f.Value)
		items = append(items, Item{Name: f.Name, Value: f.Value})
	}
	return []Check{{Name: "engine", State: OK, Text: strings.Join(parts, "; "), Items: items}}
}
