package eventstream

import "testing"

// FuzzStoredJSON decodes stored bytes: any JSON, and also damaged JSON.
func FuzzStoredJSON(f *testing.F) {
	f.Add([]byte(`{"key":"execution_status","value":"running"}`))
	f.Add([]byte(`{"key":"stats","value":{"usage_to_metrics":{"agent":{"accumulated_cost":1e308},"b":{"accumulated_cost":null}}}}`))
	f.Add([]byte(`{"llm_message":{"content":[{"type":"text","text":"running"}]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		status, cost := Changes(Record{Kind: kindStateUpdate, JSON: raw})
		if status != nil && cost != nil {
			t.Fatalf("%q changes both the status and the cost", raw)
		}
		TextContains(raw, "running")
	})
}
