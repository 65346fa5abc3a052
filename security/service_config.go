package security

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/secret"
)

// The kinds of services. The reference has the first and the last one, its earlier versions
// Invariant.
const (
	graySwanKind   = "GraySwanAnalyzer"
	invariantKind  = "InvariantAnalyzer"
	httpKind       = "HTTPSecurityAnalyzer"
	toolShieldKind = "ToolShieldLLMSecurityAnalyzer"
)

// GraySwan is the configuration of Gray Swan's Cygnal monitor (docs/confirmation.md). A
// violation up to LowThreshold is LOW, up to MediumThreshold MEDIUM.
type GraySwan struct {
	HistoryLimit    int     `json:"history_limit"`     // events before the action
	MaxMessageChars int     `json:"max_message_chars"` // of all messages
	Timeout         float64 `json:"timeout"`           // in seconds
	LowThreshold    float64 `json:"low_threshold"`
	MediumThreshold float64 `json:"medium_threshold"`
	APIURL          string  `json:"api_url"`
	APIKey          *string `json:"api_key"`
	PolicyID        *string `json:"policy_id"`
}

// GraySwanURL is the address of Cygnal, and GraySwanPolicy its policy for coding agents.
const (
	GraySwanURL    = "https://api.grayswan.ai/cygnal/monitor"
	GraySwanPolicy = "689ca4885af3538a39b2ba04"
)

func (g GraySwan) masked() any {
	g.APIKey = maskedKey(g.APIKey)
	return g
}

func (g GraySwan) keys() []string { return keys(g.APIKey) }

func parseGraySwan(raw []byte) (Analyzer, error) {
	policy := GraySwanPolicy
	g := GraySwan{20, 30_000, 30, 0.3, 0.7, GraySwanURL, nil, nil}
	if err := json.Unmarshal(raw, &g); err != nil {
		return nil, wrongType(err)
	}
	if g.LowThreshold >= g.MediumThreshold {
		return nil, fault.New(fault.Invalid, fmt.Sprintf("Value error, low_threshold (%v) must be less than medium_threshold (%v)", g.LowThreshold, g.MediumThreshold))
	}
	if g.PolicyID == nil || *g.PolicyID == "" {
		g.PolicyID = &policy
	}
	if err := checkRequests("api_url", g.APIURL, g.Timeout, g.HistoryLimit); err != nil {
		return nil, err
	}
	if g.MaxMessageChars < 1 || g.MaxMessageChars > maxChars {
		return nil, fault.New(fault.Invalid, fmt.Sprintf("max_message_chars must be between 1 and %d", maxChars))
	}
	return Service{kind: graySwanKind, config: g}, nil
}

// Invariant is the configuration of an Invariant server, which checks the actions of a
// conversation by rules.
type Invariant struct {
	APIURL  string  `json:"api_url"`
	Policy  *string `json:"policy"` // in Invariant's language; nil for the server's template
	Timeout float64 `json:"timeout"`
}

func (i Invariant) masked() any { return i }

func (Invariant) keys() []string { return nil }

func parseInvariant(raw []byte) (Analyzer, error) {
	i := Invariant{Timeout: 60}
	if err := json.Unmarshal(raw, &i); err != nil {
		return nil, wrongType(err)
	}
	if i.APIURL == "" {
		return nil, fault.New(fault.Invalid, "api_url: Field required").
			Hint("start the image ghcr.io/invariantlabs-ai/server:openhands and name its address, such as http://localhost:8000")
	}
	if err := checkRequests("api_url", i.APIURL, i.Timeout, 0); err != nil {
		return nil, err
	}
	return Service{kind: invariantKind, config: i}, nil
}

// HTTP is the configuration of a service of one's own, which gets an action with the messages
// before it and answers with its risk; see docs/confirmation.md.
type HTTP struct {
	URL          string  `json:"url"`
	APIKey       *string `json:"api_key"` // sent as a bearer token
	Timeout      float64 `json:"timeout"`
	HistoryLimit int     `json:"history_limit"`
}

func (h HTTP) masked() any {
	h.APIKey = maskedKey(h.APIKey)
	return h
}

func (h HTTP) keys() []string { return keys(h.APIKey) }

func parseHTTP(raw []byte) (Analyzer, error) {
	h := HTTP{Timeout: 30, HistoryLimit: 20}
	if err := json.Unmarshal(raw, &h); err != nil {
		return nil, wrongType(err)
	}
	if h.URL == "" {
		return nil, fault.New(fault.Invalid, "url: Field required")
	}
	if err := checkRequests("url", h.URL, h.Timeout, h.HistoryLimit); err != nil {
		return nil, err
	}
	return Service{kind: httpKind, config: h}, nil
}

// ToolShield is the configuration of a second model that rates the actions of the first one.
type ToolShield struct {
	// LLM is an LLM object.
	LLM               map[string]any `json:"llm"`
	HistoryWindow     int            `json:"history_window"` // actions before the rated one
	SafetyExperiences string         `json:"safety_experiences"`
}

func (t ToolShield) masked() any {
	t.LLM, _ = maskedFields(t.LLM)
	return t
}

func (t ToolShield) keys() []string {
	_, all := maskedFields(t.LLM)
	return all
}

func parseToolShield(raw []byte) (Analyzer, error) {
	t := ToolShield{HistoryWindow: 20}
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, wrongType(err)
	}
	switch {
	case t.LLM == nil:
		return nil, fault.New(fault.Invalid, "llm: Field required")
	case t.HistoryWindow < 1:
		return nil, fault.New(fault.Invalid, fmt.Sprintf("history_window: Value error, history_window must be >= 1, got %d.", t.HistoryWindow))
	}
	return Service{kind: toolShieldKind, config: t}, nil
}

// Bounds on the configuration of a service.
const (
	maxSeconds = 600
	maxEvents  = 1000
	maxChars   = 1 << 20
)

// checkRequests refuses requests that cannot be made, or that would be too many or too long.
func checkRequests(field, address string, seconds float64, history int) error {
	u, err := url.Parse(address)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return fault.New(fault.Invalid, field+": Input should be a valid URL")
	case u.User != nil:
		return fault.New(fault.Invalid, field+" must not have a password in it").Hint("give it as api_key")
	case !(seconds > 0) || seconds > maxSeconds:
		return fault.New(fault.Invalid, fmt.Sprintf("timeout must be above 0 and at most %d seconds", maxSeconds))
	case history < 0 || history > maxEvents:
		return fault.New(fault.Invalid, fmt.Sprintf("history_limit must be between 0 and %d", maxEvents))
	}
	return nil
}

// Key is the key in a field of a configuration, "" for none. A masked one, which a client has
// read and sent back, is none.
func Key(field *string) string {
	if field == nil || *field == secret.Redacted {
		return ""
	}
	return *field
}

func keys(field *string) []string {
	if key := Key(field); key != "" {
		return []string{key}
	}
	return nil
}

func maskedKey(key *string) *string {
	if key == nil {
		return nil
	}
	masked := secret.Redacted
	return &masked
}

// maskedFields is a copy with masked values in fields whose names look like names of secrets. It
// returns the values, too.
func maskedFields(m map[string]any) (out map[string]any, keys []string) {
	out = maps.Clone(m)
	for name, v := range m {
		switch v := v.(type) {
		case string:
			if !secret.Sensitive(name) || v == "" {
				continue
			}
			if out[name] = secret.Redacted; v != secret.Redacted {
				keys = append(keys, v)
			}
		case map[string]any:
			inner, more := maskedFields(v)
			out[name], keys = inner, append(keys, more...)
		}
	}
	return out, keys
}
