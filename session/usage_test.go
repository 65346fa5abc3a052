package session_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// TestUsageID: a call's cost is counted under the usage_id of its LLM, as scripts
// look for it.
func TestUsageID(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(says("hello"), says("an answer")), nil)
	c := h.begin(t, `"agent":{"kind":"Agent","llm":{"model":"openai/mock","api_key":"k","usage_id":"of mine"},"tools":[]}`)
	send(t, c, "hi")
	settle(t, c)
	raw, err := c.Describe(t.Context())
	must.Succeed(t, err)
	var d struct {
		Stats struct {
			Usage map[string]json.RawMessage `json:"usage_to_metrics"`
		}
	}
	must.Succeed(t, json.Unmarshal(raw, &d))
	if got := slices.Collect(maps.Keys(d.Stats.Usage)); !slices.Equal(got, []string{"of mine"}) {
		t.Errorf("counted under %q", got)
	}
}
