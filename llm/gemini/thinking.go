package gemini

import (
	"strconv"
	"strings"
)

// family identifies a Gemini model as far as its parameters differ. Version is
// 0 for other models, such as Gemma.
type family struct {
	version float64
	kind    string // "pro", "flash", "flash-lite"
}

// familyOf parses a name such as gemini-2.5-flash-lite-preview-09-2025, with
// any path before it.
func familyOf(name string) family {
	name = strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	rest, ok := strings.CutPrefix(name, "gemini-")
	if !ok {
		return family{}
	}
	number, rest, _ := strings.Cut(rest, "-")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		// gemini-flash-latest and similar names refer to the newest version.
		v, rest = 3, number+"-"+rest
	}
	for _, kind := range []string{"flash-lite", "flash", "pro"} {
		if strings.HasPrefix(rest, kind) {
			return family{v, kind}
		}
	}
	return family{version: v}
}

// signed reports whether the family refuses a step whose first call has no
// signature.
func (f family) signed() bool { return f.version >= 3 }

// thinkingConfig requests reasoning, see
// https://ai.google.dev/gemini-api/docs/thinking.
type thinkingConfig struct {
	IncludeThoughts bool   `json:"includeThoughts,omitempty"`
	ThinkingBudget  *int   `json:"thinkingBudget,omitempty"`
	ThinkingLevel   string `json:"thinkingLevel,omitempty"`
}

// budgets are the minimum and maximum thinking tokens of 2.5 models, and
// whether thinking can be turned off.
var budgets = map[string]struct {
	least, most int
	off         bool
}{
	"pro":        {128, 32_768, false},
	"flash":      {1, 24_576, true},
	"flash-lite": {512, 24_576, true},
}

// Thinking tokens for the efforts, limited to the model's range; "high" and
// above use its maximum.
const (
	minimalBudget = 512
	lowBudget     = 4_096
	mediumBudget  = 12_288
)

// thinking maps an effort; nil keeps the model's default. Thinking counts as
// output: a quarter of maxTokens, if not 0, is reserved for the answer.
func (f family) thinking(effort string, maxTokens int) *thinkingConfig {
	switch {
	case effort == "":
		return nil
	case f.version >= 3:
		return &thinkingConfig{IncludeThoughts: effort != "none", ThinkingLevel: f.level(effort)}
	case f.version >= 2.5 && budgets[f.kind].most > 0:
		n := f.budget(effort)
		if room := maxTokens - maxTokens/4; maxTokens > 0 && n > room {
			n = max(room, budgets[f.kind].least)
		}
		return &thinkingConfig{IncludeThoughts: n > 0, ThinkingBudget: &n}
	}
	return nil
}

// level maps an effort to a level of Gemini 3. Gemini 3 Pro has only two, and
// no model of the family can turn thinking off.
func (f family) level(effort string) string {
	lowest := "minimal"
	if f.kind == "pro" {
		lowest = "low"
	}
	switch effort {
	case "none", "minimal":
		return lowest
	case "low":
		return "low"
	case "medium":
		if f.kind == "pro" && f.version < 3.1 {
			return "low"
		}
		return "medium"
	}
	return "high"
}

func (f family) budget(effort string) int {
	b := budgets[f.kind]
	switch effort {
	case "none":
		if b.off {
			return 0
		}
		return b.least
	case "minimal":
		return max(minimalBudget, b.least)
	case "low":
		return max(lowBudget, b.least)
	case "medium":
		return mediumBudget
	}
	return b.most
}
