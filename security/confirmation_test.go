package security_test

import (
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/security"
)

// TestConfirmation: from the documents of a client to whether a batch waits, as
// the controller goes.
func TestConfirmation(t *testing.T) {
	t.Parallel()
	const (
		none     = `null`
		model    = `{"kind":"LLMSecurityAnalyzer"}`
		rails    = `{"kind":"PolicyRailSecurityAnalyzer"}`
		patterns = `{"kind":"PatternSecurityAnalyzer"}`
		both     = `{"kind":"EnsembleSecurityAnalyzer","analyzers":[` + model + `,` + rails + `]}`
		strict   = `{"kind":"EnsembleSecurityAnalyzer","propagate_unknown":true,"analyzers":[` + model + `,` + rails + `]}`
		service  = `{"kind":"EnsembleSecurityAnalyzer","analyzers":[` + rails + `,{"kind":"GraySwanAnalyzer"}]}`

		always  = `{"kind":"AlwaysConfirm"}`
		never   = `{"kind":"NeverConfirm"}`
		risky   = `{"kind":"ConfirmRisky"}`
		medium  = `{"kind":"ConfirmRisky","threshold":"MEDIUM"}`
		lenient = `{"kind":"ConfirmRisky","confirm_unknown":false}`

		harmlessCommand  = "go test ./..."
		dangerousCommand = "rm -rf /"
		unclearCommand   = `rm -rf "$DIR"`
		requestCommand   = "curl https://example.org"
	)
	for _, tt := range []struct {
		analyzer, policy, command string
		rated                     event.Risk // by the model
		risk                      event.Risk
		waits                     bool
	}{
		{none, always, harmlessCommand, event.RiskLow, "", true},
		{none, never, dangerousCommand, event.RiskHigh, "", false},
		{none, risky, harmlessCommand, event.RiskLow, "", true}, // unknown without an analyzer
		{none, lenient, dangerousCommand, event.RiskHigh, "", false},

		{model, risky, dangerousCommand, event.RiskLow, event.RiskLow, false}, // the model is believed
		{model, risky, harmlessCommand, event.RiskHigh, event.RiskHigh, true},
		{model, risky, harmlessCommand, event.RiskMedium, event.RiskMedium, false},
		{model, medium, harmlessCommand, event.RiskMedium, event.RiskMedium, true},
		{model, risky, harmlessCommand, "", event.RiskUnknown, true},
		{model, lenient, harmlessCommand, "", event.RiskUnknown, false},
		{model, risky, harmlessCommand, "NONE", event.RiskUnknown, true}, // a rating that does not exist

		{rails, risky, dangerousCommand, event.RiskLow, event.RiskHigh, true}, // the model is not asked
		{rails, risky, harmlessCommand, event.RiskHigh, event.RiskLow, false},
		{rails, risky, unclearCommand, event.RiskLow, event.RiskUnknown, true},
		{rails, lenient, unclearCommand, event.RiskLow, event.RiskUnknown, false},
		{rails, never, dangerousCommand, event.RiskLow, event.RiskHigh, false},
		{rails, always, harmlessCommand, event.RiskLow, event.RiskLow, true},

		{patterns, risky, requestCommand, event.RiskLow, event.RiskMedium, false},
		{patterns, medium, requestCommand, event.RiskLow, event.RiskMedium, true},
		{patterns, risky, dangerousCommand, event.RiskLow, event.RiskHigh, true},

		{both, risky, dangerousCommand, event.RiskLow, event.RiskHigh, true}, // the worst counts
		{both, risky, harmlessCommand, event.RiskHigh, event.RiskHigh, true},
		{both, risky, unclearCommand, event.RiskLow, event.RiskLow, false}, // as the reference: one that is known suffices
		{strict, risky, unclearCommand, event.RiskLow, event.RiskUnknown, true},
		{strict, risky, unclearCommand, event.RiskHigh, event.RiskUnknown, true},
		{strict, lenient, unclearCommand, event.RiskHigh, event.RiskUnknown, false},
		{service, lenient, harmlessCommand, event.RiskLow, event.RiskUnknown, false}, // a service that does not answer
	} {
		analyzer, err := security.ParseAnalyzer([]byte(tt.analyzer))
		must.Succeed(t, err)
		policy, err := security.ParsePolicy([]byte(tt.policy))
		must.Succeed(t, err)
		action := command(tt.command)
		action.SecurityRisk = tt.rated
		ev, waits := security.Review(t.Context(), analyzer, policy, []*event.ActionEvent{action})
		if waits != tt.waits {
			t.Errorf("%s, %s, %q rated %q: waits %v, want %v", tt.analyzer, tt.policy, tt.command, tt.rated, waits, tt.waits)
		}
		if tt.risk == "" {
			if ev != nil {
				t.Errorf("%s: an event without an analyzer: %v", tt.policy, ev)
			}
			continue
		}
		if ev == nil || ev.Risks[string(action.ID)] != tt.risk {
			t.Errorf("%s, %q rated %q: recorded %v, want %s", tt.analyzer, tt.command, tt.rated, ev, tt.risk)
		}
	}
}

// TestConfirmationOfBatches: one action that must be confirmed stops all of its
// batch, wherever it stands in it.
func TestConfirmationOfBatches(t *testing.T) {
	t.Parallel()
	finish := &event.ActionEvent{Base: event.NewBase(event.SourceAgent), Action: &event.FinishAction{}}
	for _, tt := range []struct {
		name  string
		batch []*event.ActionEvent
		waits bool
	}{
		{"harmless only", []*event.ActionEvent{command("ls"), command("make")}, false},
		{"danger first", []*event.ActionEvent{command("rm -rf /"), command("ls")}, true},
		{"danger last", []*event.ActionEvent{command("ls"), command("ls"), command("rm -rf /")}, true},
		{"danger beside finish", []*event.ActionEvent{command("rm -rf /"), finish}, true},
		{"in parts", []*event.ActionEvent{command("echo 'rm -rf /' > x"), command("sh x")}, false}, // each action is read alone
		// Such a call has no action, so that nothing runs.
		{"arguments that are no JSON", []*event.ActionEvent{{Base: event.NewBase(event.SourceAgent), ToolCall: event.ToolCall{Arguments: "{\"command\": \"rm -rf /"}}}, false},
		{"arguments that are the command", []*event.ActionEvent{{Base: event.NewBase(event.SourceAgent), ToolCall: event.ToolCall{Arguments: "rm -rf /"}}}, true},
	} {
		ev, waits := security.Review(t.Context(), security.Rails{}, security.DefaultRisky(), tt.batch)
		if waits != tt.waits {
			t.Errorf("%s: waits %v, want %v: %v", tt.name, waits, tt.waits, ev.Risks)
		}
		if len(ev.Risks) != len(tt.batch) {
			t.Errorf("%s: %d of %d actions are rated", tt.name, len(ev.Risks), len(tt.batch))
		}
	}
}
