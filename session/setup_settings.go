package session

import (
	"encoding/json"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/security"
)

// Follow takes over a user's settings of conversations.
func (s *Setup) Follow(settings *schema.Map) {
	var v struct {
		MaxIterations *int   `json:"max_iterations"`
		Confirm       bool   `json:"confirmation_mode"`
		Analyzer      string `json:"security_analyzer"`
	}
	raw, err := json.Marshal(settings)
	if err != nil || json.Unmarshal(raw, &v) != nil {
		return // settings were checked when they were stored
	}
	if v.MaxIterations != nil {
		s.MaxIterations = *v.MaxIterations
	}
	switch preset := security.PresetOf(v.Confirm, v.Analyzer); {
	case preset != security.Never:
		s.Confirm(preset)
	case v.Analyzer == "llm": // ratings are recorded, although nothing waits
		s.Analyzer = json.RawMessage(`{"kind":"LLMSecurityAnalyzer"}`)
	}
}
