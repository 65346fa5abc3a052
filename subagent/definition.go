package subagent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
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
	// Servers are the MCP servers with their secrets, nil for none, and MCPConfig as the
	// API shows them.
	Servers         *schema.Map     `json:"-"`
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

// Runs describes the hooks and MCP servers of the definition, a line each.
func (d Definition) Runs() (lines []string) {
	for _, line := range d.Hooks.Words() {
		lines = append(lines, "hook at "+line)
	}
	return append(lines, spec.DescribeMCPServers(d.Servers)...)
}

// Programs describes all that a yes to the hooks and MCP servers of the definition is for.
func (d Definition) Programs() ([]byte, error) {
	hooks, err := json.Marshal(d.Hooks)
	if err != nil {
		return nil, err
	}
	servers, err := schema.Encode(d.Servers)
	if err != nil {
		return nil, err
	}
	return bytes.Join([][]byte{[]byte(strings.Join(d.Runs(), "\n")), hooks, servers}, []byte("\n")), nil
}

// File returns the file of the definition as a path in a project, or its name where there is none.
func (d Definition) File(project string) string {
	if d.Source == nil {
		return d.Name
	}
	if rel, err := filepath.Rel(project, *d.Source); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return *d.Source
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
	if err := d.takeServers(fields); err != nil {
		return fault.Wrap(err, fault.Invalid, "mcp_config")
	}
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
		return d.checkCondenser()
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

// checkCondenser refuses a condenser that no agent can have. Its LLM does not matter: it asks the
// agent's model.
func (d *Definition) checkCondenser() error {
	v, err := schema.Parse(d.Condenser)
	if err != nil {
		return err
	}
	m, _ := v.(*schema.Map)
	if m == nil {
		return nil // none
	}
	if _, err := schema.Check(spec.Condensers, spec.CondenserWith(m, schema.Of("model", "any")), schema.Reading{}, "condenser"); err != nil {
		return fault.Wrap(err, fault.Invalid, "condenser")
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
