package gemini

import "testing"

// TestBudgetLeavesTokensForTheAnswer checks budgets with short answers.
func TestBudgetLeavesTokensForTheAnswer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		model, effort string
		max, want     int
	}{
		"no bound":          {"gemini-2.5-pro", "high", 0, 32_768},
		"enough":            {"gemini-2.5-pro", "high", 65_536, 32_768},
		"three quarters":    {"gemini-2.5-pro", "high", 4_000, 3_000},
		"the least of pro":  {"gemini-2.5-pro", "high", 100, 128},
		"the least of lite": {"gemini-2.5-flash-lite", "low", 100, 512},
		"flash":             {"gemini-2.5-flash", "low", 100, 75},
		"off":               {"gemini-2.5-flash", "none", 100, 0},
		"minimal":           {"gemini-2.5-flash-001", "minimal", 0, 512},
	} {
		got := familyOf(tt.model).thinking(tt.effort, tt.max)
		if got == nil || got.ThinkingBudget == nil || *got.ThinkingBudget != tt.want || got.IncludeThoughts != (tt.want > 0) {
			t.Errorf("%s: %+v, want %d", name, got, tt.want)
		}
	}
}

func TestFamilies(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]family{
		"gemini-2.5-flash-lite-preview-09-2025": {2.5, "flash-lite"}, "models/gemini-3-pro-preview": {3, "pro"}, "gemini-3.1-pro-preview": {3.1, "pro"},
		"gemini-2.0-flash-001": {2, "flash"}, "gemini-pro-latest": {3, "pro"}, "gemini-flash-lite-latest": {3, "flash-lite"}, "gemma-3-27b-it": {}, "": {},
	} {
		if got := familyOf(name); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}
