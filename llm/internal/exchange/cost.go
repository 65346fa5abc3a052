package exchange

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/llm"
)

// BilledCost returns the cost that a LiteLLM proxy reports, in US dollars.
func BilledCost(h http.Header) (dollars float64, ok bool) {
	for _, name := range []string{"Llm_provider-X-Litellm-Response-Cost", "X-Litellm-Response-Cost"} {
		if cost, err := strconv.ParseFloat(strings.TrimSpace(h.Get(name)), 64); err == nil && cost >= 0 && cost < 1e6 {
			return cost, true
		}
	}
	return 0, false
}

// Priced sets the cost of an answer with a known usage.
func Priced(out *llm.Response, price llm.Price, known bool) *llm.Response {
	if known {
		out.Cost, out.CostKnown = price.Cost(out.Usage)
	}
	return out
}
