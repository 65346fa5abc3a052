package eventstream

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// kindStateUpdate is the kind of the events that change Info.Status and
// Info.Cost, keyStatus and keyStats are the keys of those that do.
const (
	kindStateUpdate = "ConversationStateUpdateEvent"
	keyStatus       = "execution_status"
	keyStats        = "stats"
)

// Changes returns the Status and the Cost that an event gives to the Info of
// its conversation. Both are nil for nearly every event.
func Changes(r Record) (status *string, cost *float64) {
	if r.Kind != kindStateUpdate || !bytes.Contains(r.JSON, []byte(keyStatus)) && !bytes.Contains(r.JSON, []byte(keyStats)) {
		return nil, nil
	}
	var up struct {
		Key   string          `json:"key"`
		Value json.RawMessage `json:"value"`
	}
	if json.Unmarshal(r.JSON, &up) != nil {
		return nil, nil
	}
	switch up.Key {
	case keyStatus:
		if json.Unmarshal(up.Value, &status) != nil {
			return nil, nil
		}
	case keyStats:
		cost = costOf(up.Value)
	}
	return status, cost
}

// costOf adds up the cost of all services in the value of a stats update; nil
// when it is not one.
func costOf(value json.RawMessage) *float64 {
	var stats struct {
		UsageToMetrics map[string]struct {
			AccumulatedCost float64 `json:"accumulated_cost"`
		} `json:"usage_to_metrics"`
	}
	if json.Unmarshal(value, &stats) != nil || stats.UsageToMetrics == nil {
		return nil
	}
	sum := 0.0
	for _, service := range slices.Sorted(maps.Keys(stats.UsageToMetrics)) { // in an order, so that the sum is always the same
		sum += stats.UsageToMetrics[service].AccumulatedCost
	}
	return &sum
}
