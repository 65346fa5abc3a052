package security

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Preset names a policy together with its analyzer. All ways in offer the same three: the
// terminal, the web app, the servers' requests, settings and configuration.
type Preset string

// The presets.
const (
	Never  Preset = "never"  // no action waits
	Risky  Preset = "risky"  // actions of high or unknown risk wait
	Always Preset = "always" // all actions but finish and think wait
)

// Presets are the names of all presets.
func Presets() []string { return []string{string(Never), string(Risky), string(Always)} }

// Policy returns the confirmation policy of a preset, as a conversation stores it.
func (p Preset) Policy() json.RawMessage {
	switch p {
	case Risky:
		return json.RawMessage(`{"kind":"ConfirmRisky"}`)
	case Always:
		return json.RawMessage(`{"kind":"AlwaysConfirm"}`)
	}
	return json.RawMessage(`{"kind":"NeverConfirm"}`)
}

// Analyzer returns the security analyzer of a preset, as a conversation stores it: the
// worst of the model's own rating, the patterns and the rails. Never has none.
func (p Preset) Analyzer() json.RawMessage {
	if p != Risky && p != Always {
		return json.RawMessage("null")
	}
	return json.RawMessage(`{"kind":"EnsembleSecurityAnalyzer","analyzers":[` +
		`{"kind":"LLMSecurityAnalyzer"},{"kind":"PatternSecurityAnalyzer"},{"kind":"PolicyRailSecurityAnalyzer"}]}`)
}

// PresetIn returns the preset that a conversation's policy and analyzer are: "" where they
// are none of them. With never and always the analyzer decides nothing.
func PresetIn(policy, analyzer json.RawMessage) (Preset, error) {
	p, err := ParsePolicy(policy)
	if err != nil {
		return "", err
	}
	switch p {
	case NeverConfirm{}:
		return Never, nil
	case AlwaysConfirm{}:
		return Always, nil
	case DefaultRisky():
	default:
		return "", nil
	}
	var forms [2][]byte
	for i, raw := range []json.RawMessage{analyzer, Risky.Analyzer()} {
		a, err := ParseAnalyzer(raw)
		if err != nil {
			return "", err
		}
		if forms[i], err = json.Marshal(a); err != nil {
			return "", fmt.Errorf("compare analyzers: %w", err)
		}
	}
	if bytes.Equal(forms[0], forms[1]) {
		return Risky, nil
	}
	return "", nil
}

// The values of security_analyzer in OpenHands' settings.
const (
	settingModel = "llm"
	settingNone  = "none"
)

// PresetOf returns the preset that confirmation_mode and security_analyzer of OpenHands'
// settings stand for.
func PresetOf(confirmationMode bool, securityAnalyzer string) Preset {
	switch {
	case !confirmationMode:
		return Never
	case securityAnalyzer == settingModel:
		return Risky
	}
	return Always
}

// Settings is the reverse of [PresetOf].
func (p Preset) Settings() (confirmationMode bool, securityAnalyzer string) {
	if p == Always {
		return true, settingNone
	}
	return p == Risky, settingModel
}
