package security

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/secret"
)

// Service is the configuration of an analyzer that needs an external service:
// GraySwanAnalyzer or ToolShieldLLMSecurityAnalyzer. The configuration is
// accepted and returned, but the service is not called: every assessment fails,
// which counts as HIGH.
type Service struct {
	kind   string
	fields json.RawMessage // without kind, keys masked
}

// Name implements [Analyzer].
func (s Service) Name() string { return s.kind }

// Assess implements [Analyzer]; it always fails.
func (s Service) Assess(context.Context, *event.ActionEvent) (Assessment, error) {
	return Assessment{}, fault.New(fault.Unsupported, s.kind+" is not supported: this server has no client for the service").
		Hint("use PolicyRailSecurityAnalyzer, PatternSecurityAnalyzer or LLMSecurityAnalyzer")
}

// MarshalJSON implements [Analyzer].
func (s Service) MarshalJSON() ([]byte, error) {
	kind, err := json.Marshal(s.kind)
	if err != nil {
		return nil, err
	}
	out := append([]byte(nil), s.fields[:len(s.fields)-1]...)
	return append(append(append(out, `,"kind":`...), kind...), '}'), nil
}

// graySwan are the fields of a GraySwanAnalyzer.
type graySwan struct {
	HistoryLimit    int     `json:"history_limit"`
	MaxMessageChars int     `json:"max_message_chars"`
	Timeout         float64 `json:"timeout"`
	LowThreshold    float64 `json:"low_threshold"`
	MediumThreshold float64 `json:"medium_threshold"`
	APIURL          string  `json:"api_url"`
	APIKey          *string `json:"api_key"`
	PolicyID        *string `json:"policy_id"`
}

func parseGraySwan(raw []byte) (Analyzer, error) {
	policy := "689ca4885af3538a39b2ba04" // the service's default
	g := graySwan{20, 30_000, 30, 0.3, 0.7, "https://api.grayswan.ai/cygnal/monitor", nil, &policy}
	if err := json.Unmarshal(raw, &g); err != nil {
		return nil, wrongType(err)
	}
	if g.LowThreshold >= g.MediumThreshold {
		return nil, fault.New(fault.Invalid, fmt.Sprintf("Value error, low_threshold (%v) must be less than medium_threshold (%v)", g.LowThreshold, g.MediumThreshold))
	}
	if g.APIKey != nil {
		masked := secret.Redacted
		g.APIKey = &masked
	}
	if g.PolicyID == nil || *g.PolicyID == "" {
		g.PolicyID = &policy
	}
	return service("GraySwanAnalyzer", g)
}

// toolShield are the fields of a ToolShieldLLMSecurityAnalyzer.
type toolShield struct {
	LLM               map[string]any `json:"llm"`
	HistoryWindow     int            `json:"history_window"`
	SafetyExperiences string         `json:"safety_experiences"`
}

func parseToolShield(raw []byte) (Analyzer, error) {
	t := toolShield{HistoryWindow: 20}
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, wrongType(err)
	}
	switch {
	case t.LLM == nil:
		return nil, fault.New(fault.Invalid, "llm: Field required")
	case t.HistoryWindow < 1:
		return nil, fault.New(fault.Invalid, fmt.Sprintf("history_window: Value error, history_window must be >= 1, got %d.", t.HistoryWindow))
	}
	maskFields(t.LLM)
	return service("ToolShieldLLMSecurityAnalyzer", t)
}

// maskFields masks fields whose names look like names of secrets.
func maskFields(m map[string]any) {
	for name, v := range m {
		switch v := v.(type) {
		case string:
			if secret.Sensitive(name) && v != "" {
				m[name] = secret.Redacted
			}
		case map[string]any:
			maskFields(v)
		}
	}
}

func service(kind string, fields any) (Analyzer, error) {
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "not JSON")
	}
	return Service{kind, raw}, nil
}

// wrongType names the field that has the wrong type, without its value.
func wrongType(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fault.New(fault.Invalid, fmt.Sprintf("%s: Input should be a valid %s", wrong.Field, wrong.Type))
	}
	return fault.New(fault.Invalid, "not JSON")
}
