package session

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestAnalyzerKeysAreNotKept looks for the keys of services that an analyser
// may name, at any depth.
func TestAnalyzerKeysAreNotKept(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"kind":"GraySwanAnalyzer","api_key":"sk-geheim","foo":1}`,
		`{"kind":"ToolShieldLLMSecurityAnalyzer","llm":{"model":"m","api_key":"sk-geheim"}}`,
		`{"kind":"EnsembleSecurityAnalyzer","analyzers":[{"kind":"GraySwanAnalyzer","api_key":"sk-geheim"},{"kind":"PatternSecurityAnalyzer"}]}`,
	} {
		got, err := normalAnalyzer(json.RawMessage(raw))
		if err != nil {
			t.Logf("%s: %v", raw, err)
			continue
		}
		if strings.Contains(string(got), "geheim") || strings.Contains(string(got), "foo") {
			t.Errorf("%s is kept as %s", raw, got)
		}
		if again, err := normalAnalyzer(got); err != nil || string(again) != string(got) {
			t.Errorf("%s does not read back: %s, %v", got, again, err)
		}
	}
	if got, err := normalAnalyzer(nil); err != nil || string(got) != "null" {
		t.Errorf("no analyser is %s, %v", got, err)
	}
	if got, err := normalPolicy(json.RawMessage(`{"kind":"NeverConfirm","foo":1}`)); err != nil || string(got) != `{"kind":"NeverConfirm"}` {
		t.Errorf("policy %s, %v", got, err)
	}
}
