package security_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/security"
)

// TestPresets holds that the documents of a preset mean what its name says, whatever the model
// says of an action.
func TestPresets(t *testing.T) {
	t.Parallel()
	risks := []event.Risk{event.RiskLow, event.RiskMedium, event.RiskHigh, event.RiskUnknown}
	for preset, want := range map[security.Preset]struct {
		waits    []event.Risk
		analyzed bool
		low      bool // whether rm -rf waits that the model calls LOW
	}{
		"": {}, security.Never: {},
		security.Risky:  {[]event.Risk{event.RiskHigh, event.RiskUnknown}, true, true},
		security.Always: {risks, true, true},
	} {
		policy, err := security.ParsePolicy(preset.Policy())
		must.Succeed(t, err)
		analyzer, err := security.ParseAnalyzer(preset.Analyzer())
		if err != nil || (analyzer != nil) != want.analyzed {
			t.Errorf("%q: analyzer %v, %v", preset, analyzer, err)
		}
		var waits []event.Risk
		for _, r := range risks {
			if policy.Confirms(r) {
				waits = append(waits, r)
			}
		}
		if diff := cmp.Diff(want.waits, waits); diff != "" {
			t.Errorf("%q: what waits (-want +got):\n%s", preset, diff)
		}
		rm := &event.ActionEvent{ToolName: "terminal", SecurityRisk: event.RiskLow, Action: &event.TerminalAction{Command: "rm -rf /srv/data"}}
		if _, wait := security.Review(t.Context(), analyzer, policy, []*event.ActionEvent{rm}); wait != want.low {
			t.Errorf("%q: rm -rf waits: %v", preset, wait)
		}
	}
}

// TestPresetsAsSettings holds that presets become OpenHands' settings and come back.
func TestPresetsAsSettings(t *testing.T) {
	t.Parallel()
	for _, name := range security.Presets() {
		if got := security.PresetOf(security.Preset(name).Settings()); string(got) != name {
			t.Errorf("%s becomes %s", name, got)
		}
	}
	if got := security.PresetOf(true, ""); got != security.Always {
		t.Errorf("without an analyzer: %s", got)
	}
}

// TestPresetIn: a conversation shows the preset that it has, in any form of its documents.
func TestPresetIn(t *testing.T) {
	t.Parallel()
	risky, model := string(security.Risky.Policy()), `{"kind":"LLMSecurityAnalyzer"}`
	for name, c := range map[string]struct {
		policy, analyzer string
		want             security.Preset
	}{
		"never":                {string(security.Never.Policy()), "null", security.Never},
		"never, but rated":     {string(security.Never.Policy()), model, security.Never},
		"risky":                {risky, string(security.Risky.Analyzer()), security.Risky},
		"risky, written out":   {`{"kind":"ConfirmRisky","threshold":"HIGH","confirm_unknown":true}`, string(security.Risky.Analyzer()), security.Risky},
		"rated by the model":   {risky, model, ""},
		"not rated":            {risky, "null", ""},
		"another threshold":    {`{"kind":"ConfirmRisky","threshold":"LOW"}`, string(security.Risky.Analyzer()), ""},
		"always":               {string(security.Always.Policy()), string(security.Always.Analyzer()), security.Always},
		"always, by the model": {string(security.Always.Policy()), model, security.Always},
	} {
		if got, err := security.PresetIn([]byte(c.policy), []byte(c.analyzer)); err != nil || got != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if p, err := security.PresetIn([]byte(`{"kind":"Other"}`), []byte("null")); err == nil {
		t.Errorf("an unknown policy is %q", p)
	}
}
