package security_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/security"
)

const risks = "UNKNOWN LOW MEDIUM HIGH"

func TestPolicies(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{ // the risks that wait
		`{"kind":"AlwaysConfirm","x":2}`:                                       risks,
		`{"kind":"NeverConfirm"}`:                                              "",
		`{"kind":"ConfirmRisky"}`:                                              "UNKNOWN HIGH",
		`{"kind":"ConfirmRisky","threshold":"LOW"}`:                            risks,
		`{"kind":"ConfirmRisky","threshold":"MEDIUM","confirm_unknown":false}`: "MEDIUM HIGH",
		`{"kind":"ConfirmRisky","confirm_unknown":false,"extra":1}`:            "HIGH",
	} {
		p, err := security.ParsePolicy([]byte(raw))
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		var waits []string
		for r := range strings.FieldsSeq(risks) {
			if p.Confirms(event.Risk(r)) {
				waits = append(waits, r)
			}
		}
		if got := strings.Join(waits, " "); got != want {
			t.Errorf("%s: %q wait, want %q", raw, got, want)
		}
		b, err := json.Marshal(p)
		again, err2 := security.ParsePolicy(b)
		if err != nil || err2 != nil || again != p {
			t.Errorf("%s: %s does not come back: %v, %v", raw, b, err, err2)
		}
	}
	if b, _ := json.Marshal(security.ConfirmRisky{}); string(b) != `{"threshold":"HIGH","confirm_unknown":false,"kind":"ConfirmRisky"}` {
		t.Errorf("the zero value: %s", b)
	}
	if !(security.ConfirmRisky{ConfirmUnknown: true}).Confirms("") || (security.ConfirmRisky{}).Confirms("odd") {
		t.Error("what is no risk is not UNKNOWN")
	}
}

// TestUnions reads and writes every kind, in the JSON of openhands-sdk 1.58.
func TestUnions(t *testing.T) {
	t.Parallel()
	const gray = `{"history_limit":20,"max_message_chars":30000,"timeout":30,"low_threshold":0.3,"medium_threshold":0.7,` +
		`"api_url":"https://api.grayswan.ai/cygnal/monitor","api_key":%,"policy_id":"689ca4885af3538a39b2ba04","kind":"GraySwanAnalyzer"}`
	patterns, err := json.Marshal(security.NewPatterns())
	must.Succeed(t, err)
	for raw, want := range map[string]string{
		`{"kind":"LLMSecurityAnalyzer"}`:                                              `{"kind":"LLMSecurityAnalyzer"}`,
		`{"kind":"PolicyRailSecurityAnalyzer","zzz":1}`:                               `{"kind":"PolicyRailSecurityAnalyzer"}`,
		`{"kind":"PatternSecurityAnalyzer"}`:                                          string(patterns),
		string(patterns):                                                              string(patterns),
		`{"kind":"GraySwanAnalyzer"}`:                                                 strings.Replace(gray, "%", "null", 1),
		`{"kind":"GraySwanAnalyzer","api_key":"hush"}`:                                strings.Replace(gray, "%", `"**********"`, 1),
		`{"kind":"InvariantAnalyzer","api_url":"http://localhost:8000"}`:              `{"api_url":"http://localhost:8000","policy":null,"timeout":60,"kind":"InvariantAnalyzer"}`,
		`{"kind":"HTTPSecurityAnalyzer","url":"https://x/rate?v=1","api_key":"hush"}`: `{"url":"https://x/rate?v=1","api_key":"**********","timeout":30,"history_limit":20,"kind":"HTTPSecurityAnalyzer"}`,
		`{"kind":"EnsembleSecurityAnalyzer","analyzers":[{"kind":"LLMSecurityAnalyzer"},{"kind":"PolicyRailSecurityAnalyzer"}]}`:          `{"analyzers":[{"kind":"LLMSecurityAnalyzer"},{"kind":"PolicyRailSecurityAnalyzer"}],"propagate_unknown":false,"kind":"EnsembleSecurityAnalyzer"}`,
		`{"kind":"ToolShieldLLMSecurityAnalyzer","llm":{"model":"m","api_key":"hush","aws":{"aws_session_token":"hush"},"max_tokens":1}}`: `{"llm":{"api_key":"**********","aws":{"aws_session_token":"**********"},"max_tokens":1,"model":"m"},"history_window":20,"safety_experiences":"","kind":"ToolShieldLLMSecurityAnalyzer"}`,
	} {
		a, err := security.ParseAnalyzer([]byte(raw))
		if err != nil {
			t.Errorf("%.100s: %v", raw, err)
			continue
		}
		got, err := json.Marshal(a)
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil || !strings.Contains(raw, a.Name()) {
			t.Errorf("%.100s: %v (-want +got):\n%s", raw, err, diff)
		}
	}
	if !strings.Contains(string(patterns), `{"high_patterns":[["\\brm\\s+(?:-[frR]{2,}|-[rR]\\s+-f|-f\\s+-[rR]|--recursive\\s+--force|--force\\s+--recursive)\\b","Recursive force-delete (rm -rf variants)","exec.destruct.rm_rf"],`) ||
		!strings.HasSuffix(string(patterns), `"inject.identity"]],"kind":"PatternSecurityAnalyzer"}`) {
		t.Errorf("patterns: %s", patterns)
	}
	if a, err := security.ParseAnalyzer([]byte("null")); a != nil || err != nil {
		t.Errorf("null: %v, %v", a, err)
	}
}

func TestUnionErrors(t *testing.T) {
	t.Parallel()
	policy := func(b []byte) error { _, err := security.ParsePolicy(b); return err }
	analyzer := func(b []byte) error { _, err := security.ParseAnalyzer(b); return err }
	deep := strings.Repeat(`{"kind":"EnsembleSecurityAnalyzer","analyzers":[`, 50) + `{"kind":"LLMSecurityAnalyzer"}` + strings.Repeat("]}", 50)
	for _, tt := range []struct {
		parse     func([]byte) error
		raw, want string
	}{
		{policy, `{"kind":"X"}`, "Unknown kind 'X' for openhands.sdk.security.confirmation_policy.ConfirmationPolicyBase; Expected one of: ['AlwaysConfirm', 'ConfirmRisky', 'NeverConfirm']"},
		{policy, `{}`, "Unknown kind ''"}, {policy, `{"kind":1}`, "Unknown kind ''"}, {policy, `null`, "Input should be an object"}, {policy, `[`, "Input should be an object"}, {policy, ``, "Input should be an object"},
		{policy, `{"kind":"ConfirmRisky","threshold":"UNKNOWN"}`, "Threshold cannot be UNKNOWN"},
		{policy, `{"kind":"ConfirmRisky","threshold":"low"}`, "threshold: Input should be 'UNKNOWN', 'LOW', 'MEDIUM' or 'HIGH'"},
		{policy, `{"kind":"ConfirmRisky","threshold":1}`, "threshold: Input should be"},
		{policy, `{"kind":"ConfirmRisky","confirm_unknown":"x"}`, "confirm_unknown: Input should be a valid boolean"},
		{policy, `{"kind":"ConfirmRisky","confirm_unknown":null}`, "confirm_unknown: Input should be a valid boolean"},
		{analyzer, `{"kind":"X"}`, "Unknown kind 'X' for openhands.sdk.security.analyzer.SecurityAnalyzerBase; Expected one of: ['PatternSecurityAnalyzer', "},
		{analyzer, `[]`, "Input should be an object"},
		{analyzer, `{"kind":"EnsembleSecurityAnalyzer"}`, "analyzers: Field required"},
		{analyzer, `{"kind":"EnsembleSecurityAnalyzer","analyzers":[]}`, "analyzers: List should have at least 1 item after validation, not 0"},
		{analyzer, `{"kind":"EnsembleSecurityAnalyzer","analyzers":1}`, "analyzers: Input should be a valid list"},
		{analyzer, `{"kind":"EnsembleSecurityAnalyzer","analyzers":[{"kind":"LLMSecurityAnalyzer"},{"kind":"Y"}]}`, "analyzers.1: Unknown kind 'Y'"},
		{analyzer, deep, "ensembles are nested too deeply"},
		{analyzer, `{"kind":"PatternSecurityAnalyzer","high_patterns":[["(","d","i"]]}`, "high_patterns.0: the pattern is not a supported regular expression"},
		{analyzer, `{"kind":"PatternSecurityAnalyzer","high_patterns":1}`, "high_patterns: Input should be"},
		{analyzer, `{"kind":"GraySwanAnalyzer","low_threshold":0.8}`, "low_threshold (0.8) must be less than medium_threshold (0.7)"},
		{analyzer, `{"kind":"GraySwanAnalyzer","timeout":"x"}`, "timeout: Input should be"},
		{analyzer, `{"kind":"GraySwanAnalyzer","timeout":0}`, "timeout must be above 0"},
		{analyzer, `{"kind":"GraySwanAnalyzer","api_url":"file:///etc/passwd"}`, "api_url: Input should be a valid URL"},
		{analyzer, `{"kind":"GraySwanAnalyzer","history_limit":-1}`, "history_limit must be"},
		{analyzer, `{"kind":"GraySwanAnalyzer","max_message_chars":0}`, "max_message_chars must be"},
		{analyzer, `{"kind":"InvariantAnalyzer"}`, "api_url: Field required"},
		{analyzer, `{"kind":"HTTPSecurityAnalyzer"}`, "url: Field required"},
		{analyzer, `{"kind":"HTTPSecurityAnalyzer","url":"https://u:p@x"}`, "url must not have a password in it"},
		{analyzer, `{"kind":"ToolShieldLLMSecurityAnalyzer"}`, "llm: Field required"},
		{analyzer, `{"kind":"ToolShieldLLMSecurityAnalyzer","llm":{},"history_window":0}`, "history_window must be >= 1, got 0"},
	} {
		err := tt.parse([]byte(tt.raw))
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.100s: got %v, want %q", tt.raw, err, tt.want)
		}
	}
}

// fake is an analyzer for tests.
type fake func(*event.ActionEvent) (security.Assessment, error)

func (fake) Name() string                 { return "Fake" }
func (fake) MarshalJSON() ([]byte, error) { return []byte(`{"kind":"Fake"}`), nil }
func (f fake) Assess(_ context.Context, a *event.ActionEvent) (security.Assessment, error) {
	return f(a)
}

func says(r event.Risk) fake {
	return func(*event.ActionEvent) (security.Assessment, error) { return security.Assessment{Risk: r}, nil }
}

var (
	fails fake = func(*event.ActionEvent) (security.Assessment, error) {
		return security.Assessment{}, errors.New("no idea")
	}
	panics fake = func(*event.ActionEvent) (security.Assessment, error) { panic("ouch") }
)

func TestReview(t *testing.T) {
	t.Parallel()
	rated := func(r event.Risk) *event.ActionEvent { a := command("ls"); a.SecurityRisk = r; return a }
	act := func(a event.Action) *event.ActionEvent {
		return &event.ActionEvent{Base: event.NewBase(event.SourceAgent), Action: a, SecurityRisk: event.RiskHigh}
	}
	finish, think := act(&event.FinishAction{}), act(&event.ThinkAction{})
	for name, tt := range map[string]struct {
		a     security.Analyzer
		p     security.Policy
		batch []*event.ActionEvent
		risks string // of the event; empty for no event
		wait  bool
	}{
		"nothing":            {security.Model{}, security.AlwaysConfirm{}, nil, "", false},
		"a lone finish":      {security.Model{}, security.AlwaysConfirm{}, []*event.ActionEvent{finish}, "", false},
		"a lone think":       {security.Model{}, security.AlwaysConfirm{}, []*event.ActionEvent{think}, "", false},
		"two thoughts":       {security.Model{}, security.AlwaysConfirm{}, []*event.ActionEvent{think, think}, "HIGH HIGH", true},
		"finish and another": {nil, security.AlwaysConfirm{}, []*event.ActionEvent{finish, rated("LOW")}, "", true},
		"no analyzer":        {nil, security.DefaultRisky(), []*event.ActionEvent{rated("LOW")}, "", true},
		"no policy":          {security.Model{}, nil, []*event.ActionEvent{rated("HIGH")}, "HIGH", false},
		"neither":            {nil, nil, []*event.ActionEvent{rated("HIGH")}, "", false},
		"low":                {security.Model{}, security.DefaultRisky(), []*event.ActionEvent{rated("LOW"), rated("MEDIUM")}, "LOW MEDIUM", false},
		"one of many":        {security.Model{}, security.DefaultRisky(), []*event.ActionEvent{rated("LOW"), rated("HIGH"), rated("LOW")}, "LOW HIGH LOW", true},
		"not rated":          {security.Model{}, security.DefaultRisky(), []*event.ActionEvent{rated("")}, "UNKNOWN", true},
		"failing":            {fails, security.DefaultRisky(), []*event.ActionEvent{rated("LOW")}, "HIGH", true},
		"panicking":          {panics, security.DefaultRisky(), []*event.ActionEvent{rated("LOW")}, "HIGH", true},
		"nonsense":           {says("WORSE"), security.DefaultRisky(), []*event.ActionEvent{rated("LOW")}, "HIGH", true},
	} {
		ev, wait := security.Review(t.Context(), tt.a, tt.p, tt.batch)
		if wait != tt.wait || (ev != nil) != (tt.risks != "") {
			t.Errorf("%s: waits %v, event %v", name, wait, ev)
		}
		if ev == nil {
			continue
		}
		for i, want := range strings.Fields(tt.risks) {
			if got := ev.Risks[string(tt.batch[i].ID)]; string(got) != want {
				t.Errorf("%s: action %d is %s, want %s", name, i, got, want)
			}
		}
		raw, err := event.Marshal(ev)
		if err != nil || ev.Analyzer != tt.a.Name() || ev.Source != event.SourceEnvironment || !strings.Contains(string(raw), `"policy":"`) {
			t.Errorf("%s: %s, %v", name, raw, err)
		}
		details := string(ev.Details[string(tt.batch[0].ID)])
		if failed := tt.wait && tt.risks == "HIGH"; failed != strings.Contains(details, `"error"`) {
			t.Errorf("%s: details %s", name, details)
		}
	}
}

func TestEnsemble(t *testing.T) {
	t.Parallel()
	why := fake(func(*event.ActionEvent) (security.Assessment, error) {
		return security.Assessment{Risk: event.RiskMedium, Details: map[string]any{"why": "so"}}, nil
	})
	for name, tt := range map[string]struct {
		members   []security.Analyzer
		propagate bool
		want      event.Risk
		details   string
	}{
		"worst":               {[]security.Analyzer{says("LOW"), says("MEDIUM"), says("UNKNOWN")}, false, "MEDIUM", "null"},
		"unknown":             {[]security.Analyzer{says("UNKNOWN"), says("UNKNOWN")}, false, "UNKNOWN", "null"},
		"unknown counts":      {[]security.Analyzer{says("HIGH"), says("UNKNOWN")}, true, "UNKNOWN", "null"},
		"none unknown":        {[]security.Analyzer{says("LOW"), says("HIGH")}, true, "HIGH", "null"},
		"failing":             {[]security.Analyzer{says("LOW"), fails}, false, "HIGH", `{"Fake":{"error":"no idea"}}`},
		"panicking":           {[]security.Analyzer{panics}, false, "HIGH", `{"Fake":{"error":"Fake panicked: ouch"}}`},
		"details of the same": {[]security.Analyzer{why, fails}, false, "HIGH", `{"Fake":{"why":"so"},"Fake 2":{"error":"no idea"}}`},
	} {
		got, err := security.Ensemble{Analyzers: tt.members, PropagateUnknown: tt.propagate}.Assess(t.Context(), command("ls"))
		details, _ := json.Marshal(got.Details)
		if err != nil || got.Risk != tt.want || string(details) != tt.details {
			t.Errorf("%s: %s %s, %v", name, got.Risk, details, err)
		}
	}
}
