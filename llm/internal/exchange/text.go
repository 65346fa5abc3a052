package exchange

import (
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/rawjson"
)

// wellFormed replaces malformed Unicode in the parts of an answer that adapters pass on
// as they are: arguments may have escapes of half a surrogate pair.
func wellFormed(m *event.Message) {
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		c.Arguments = strings.ToValidUTF8(rawjson.WellFormed(c.Arguments), "\uFFFD")
	}
}
