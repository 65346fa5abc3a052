package subagent

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/skill"
)

// Definition is an agent as the API lists it.
type Definition struct {
	Name           string   `json:"name"`
	Description    string   `json:"description"`
	Model          string   `json:"model"` // "inherit" for the caller's
	Color          *string  `json:"color"`
	Tools          []string `json:"tools"`
	Skills         []string `json:"skills"`
	SystemPrompt   string   `json:"system_prompt"`
	Examples       []string `json:"when_to_use_examples"`
	PermissionMode *string  `json:"permission_mode"` // always_confirm, never_confirm, confirm_risky
	MaxIterations  *int     `json:"max_iteration_per_run"`
	MaxBudget      *float64 `json:"max_budget_per_run"` // in USD
	// MCPConfig is shown with its secrets masked.
	MCPConfig       json.RawMessage `json:"mcp_config"`
	MCPServers      json.RawMessage `json:"mcp_servers"` // the older name
	ProfileStoreDir *string         `json:"profile_store_dir"`
	Hooks           *hook.Config    `json:"hooks"`
	Condenser       json.RawMessage `json:"condenser"`
	Metadata        map[string]any  `json:"metadata"`
	Level           *string         `json:"level"`
	Source          *string         `json:"source"`
	IsBuiltin       bool            `json:"is_builtin"`
}

var example = lazyregexp.New(`(?is)<example>(.*?)</example>`)

// known are the fields that are not metadata.
var known = []string{
	"name", "description", "model", "color", "tools", "skills", "max_iteration_per_run", "max_budget_per_run", "hooks",
	"profile_store_dir", "mcp_config", "mcp_servers", "permission_mode", "condenser",
}

// Parse reads the text of an agent's file; name is for one that gives none.
// Errors are of kind fault.Invalid.
func Parse(name, text string) (Definition, error) {
	fields, prompt, err := skill.FrontMatter(text)
	if err != nil {
		return Definition{}, err
	}
	d := Definition{
		Name: name, Model: "inherit", SystemPrompt: prompt,
		Tools: []string{}, Skills: []string{}, Examples: []string{}, Metadata: map[string]any{},
	}
	for to, key := range map[*string]string{&d.Name: "name", &d.Description: "description", &d.Model: "model"} {
		if v, ok := fields[key]; ok {
			*to = scalar(v)
		}
	}
	if v := fields["color"]; v != nil {
		color := scalar(v)
		d.Color = &color
	}
	switch v := fields["tools"].(type) {
	case string:
		d.Tools = []string{v}
	case []any:
		d.Tools = scalars(v)
	}
	switch v := fields["skills"].(type) {
	case string:
		for one := range strings.SplitSeq(v, ",") {
			if one = strings.TrimSpace(one); one != "" {
				d.Skills = append(d.Skills, one)
			}
		}
	case []any:
		d.Skills = scalars(v)
	}
	for _, m := range example().FindAllStringSubmatch(d.Description, -1) {
		if one := strings.TrimSpace(m[1]); one != "" {
			d.Examples = append(d.Examples, one)
		}
	}
	maps.Copy(d.Metadata, fields)
	for _, key := range known {
		delete(d.Metadata, key)
	}
	if _, err := json.Marshal(d.Metadata); err != nil {
		return Definition{}, fault.Wrap(err, fault.Invalid, "the front matter has values that JSON has not")
	}
	return d, d.limits(fields)
}

// limits takes the fields that have rules.
func (d *Definition) limits(fields map[string]any) error {
	if v := fields["permission_mode"]; v != nil {
		mode := strings.ToLower(strings.TrimSpace(scalar(v)))
		if mode != "always_confirm" && mode != "never_confirm" && mode != "confirm_risky" {
			return fault.New(fault.Invalid, fmt.Sprintf("permission_mode %q is not always_confirm, never_confirm or confirm_risky", mode))
		}
		d.PermissionMode = &mode
	}
	if v := fields["max_iteration_per_run"]; v != nil {
		n, err := strconv.Atoi(strings.TrimSpace(scalar(v)))
		if err != nil || n <= 0 {
			return fault.New(fault.Invalid, "max_iteration_per_run must be a number above 0")
		}
		d.MaxIterations = &n
	}
	if v := fields["max_budget_per_run"]; v != nil {
		f, err := strconv.ParseFloat(strings.TrimSpace(scalar(v)), 64)
		if err != nil || !(f > 0) || f > 1e12 {
			return fault.New(fault.Invalid, "max_budget_per_run must be a number above 0")
		}
		d.MaxBudget = &f
	}
	if v := fields["profile_store_dir"]; v != nil {
		dir, ok := v.(string)
		if !ok {
			return fault.New(fault.Invalid, "profile_store_dir must be a text")
		}
		d.ProfileStoreDir = &dir
	}
	return d.parts(fields)
}

// parts takes the fields that are configurations of their own.
func (d *Definition) parts(fields map[string]any) error {
	raw, err := mcpServers(fields)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "mcp_config")
	}
	d.MCPConfig, d.MCPServers = raw, raw
	if m, ok := fields["hooks"].(map[string]any); ok {
		raw, err := json.Marshal(m)
		if err != nil {
			return fault.Wrap(err, fault.Invalid, "hooks")
		}
		if d.Hooks, err = hook.Parse(raw); err != nil {
			return err
		}
	}
	switch v := fields["condenser"].(type) {
	case nil:
	case map[string]any:
		raw, err := json.Marshal(v)
		if _, has := v["kind"].(string); !has || err != nil {
			return fault.New(fault.Invalid, "condenser needs a kind")
		}
		d.Condenser = raw
	default:
		switch strings.ToLower(strings.TrimSpace(scalar(v))) {
		case "", "default", "inherit", "true":
		case "none", "off", "false", "no", "disable", "disabled":
			d.Condenser = json.RawMessage(`{"kind":"NoOpCondenser"}`)
		default:
			return fault.New(fault.Invalid, "condenser must be default, none or a mapping")
		}
	}
	return nil
}

func scalars(list []any) []string {
	out := make([]string, 0, len(list))
	for _, v := range list {
		out = append(out, scalar(v))
	}
	return out
}

func scalar(v any) string {
	if v == nil {
		return ""
	}
	if s, ok := v.(string); ok {
		return s
	}
	return fmt.Sprint(v)
}
