package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/deft-dev/deft/hook"
	s "github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

var message = &s.Object{
	Name: "SendMessageRequest",
	Fields: []s.Field{
		{Name: "role", Type: s.Enum{"user", "system", "assistant", "tool"}, Default: "user"},
		{Name: "content", Type: s.List{Of: s.OneOf{{Name: "TextContent", Of: textContent}, {Name: "ImageContent", Of: imageContent}}}, Default: []any{}},
		{Name: "run", Type: flag, Default: false},
	},
}

var textContent = &s.Object{
	Extra: s.Forbid, Before: func(m *s.Map) error { m.Delete("enable_truncation"); return nil }, // of older clients
	Fields: []s.Field{
		{Name: "cache_prompt", Type: flag},
		{Name: "type", Type: s.Enum{"text"}, Default: "text"},
		{Name: "text", Type: s.String{}, Required: true},
	},
}

var imageContent = &s.Object{
	Fields: []s.Field{
		{Name: "cache_prompt", Type: flag},
		{Name: "type", Type: s.Enum{"image"}, Default: "image"},
		{Name: "image_urls", Type: names, Required: true},
	},
}

var plugin = &s.Object{
	Name: "PluginSource",
	Fields: []s.Field{
		{Name: "source", Type: s.String{}, Required: true},
		{Name: "ref", Type: text},
		{Name: "repo_path", Type: s.Opt(s.String{Valid: func(dir string) error {
			if path.IsAbs(dir) || slices.Contains(strings.Split(dir, "/"), "..") {
				return errors.New("repo_path must be a path within the repository")
			}
			return nil
		}})},
	},
}

var definition = &s.Object{
	Name: "AgentDefinition",
	Fields: []s.Field{
		{Name: "name", Type: s.String{}, Required: true},
		{Name: "description", Type: s.String{}},
		{Name: "model", Type: s.String{}},
		{Name: "color", Type: text},
		{Name: "tools", Type: names},
		{Name: "skills", Type: names},
		{Name: "system_prompt", Type: s.String{}},
		{Name: "source", Type: text},
		{Name: "level", Type: s.Opt(s.Enum{"project", "user", "builtin", "plugin", "programmatic"})},
		{Name: "when_to_use_examples", Type: names},
		{Name: "hooks", Type: s.Opt(hook.Schema)},
		{Name: "permission_mode", Type: text},
		{Name: "max_iteration_per_run", Type: s.Opt(s.Int{Bounds: s.Bounds{GT: &zero}})},
		{Name: "max_budget_per_run", Type: s.Opt(s.Number{Bounds: s.Bounds{GT: &zero}})},
		{Name: "mcp_config", Type: s.Opt(spec.MCPServers)},
		{Name: "profile_store_dir", Type: text},
		{Name: "condenser", Type: s.Opt(spec.CondenserSchema)},
		{Name: "metadata", Type: s.Dict{Of: s.Any{}}},
	},
}

// policy and analyzer describe what package security reads; it says what else
// is wrong with them.
var policy = s.Kinds{
	Order: []string{"AlwaysConfirm", "ConfirmRisky", "NeverConfirm"},
	Of: map[string]*s.Object{
		"AlwaysConfirm": {}, "NeverConfirm": {},
		"ConfirmRisky": {Fields: []s.Field{
			{Name: "threshold", Type: s.Guarded{First: func(v any) error {
				if v == "UNKNOWN" {
					return errors.New("threshold cannot be UNKNOWN")
				}
				return nil
			}, Of: s.Choice{"UNKNOWN", "LOW", "MEDIUM", "HIGH"}}, Default: "HIGH"},
			{Name: "confirm_unknown", Type: flag},
		}},
	},
}

var analyzer = s.Kinds{
	Order: []string{
		"PatternSecurityAnalyzer", "PolicyRailSecurityAnalyzer", "EnsembleSecurityAnalyzer",
		"GraySwanAnalyzer", "LLMSecurityAnalyzer", "ToolShieldLLMSecurityAnalyzer",
	},
	Of: map[string]*s.Object{
		"PatternSecurityAnalyzer": {}, "PolicyRailSecurityAnalyzer": {}, "EnsembleSecurityAnalyzer": {},
		"GraySwanAnalyzer": {}, "LLMSecurityAnalyzer": {}, "ToolShieldLLMSecurityAnalyzer": {},
	},
}

// checkMetadata takes single values, and lists of one type of them.
func checkMetadata(v any) error {
	m, ok := v.(*s.Map)
	if !ok {
		return errors.New("metadata of traces is an object")
	}
	for _, key := range m.Keys() {
		list, ok := m.Get(key).([]any)
		if !ok {
			list = []any{m.Get(key)}
		}
		if key == "" || len(list) > 0 && (typeOf(list[0]) == "" || slices.ContainsFunc(list, func(one any) bool { return typeOf(one) != typeOf(list[0]) })) {
			return fmt.Errorf("metadata '%s' is neither a text, a number or a truth value nor a list of one of them", key)
		}
	}
	return nil
}

func typeOf(v any) string {
	switch v := v.(type) {
	case string:
		return "text"
	case bool:
		return "truth value"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "fraction"
		}
		return "number"
	}
	return ""
}
