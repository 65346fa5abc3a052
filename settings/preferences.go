package settings

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/tool"
)

// appPreferences is the part of the user interface's settings that has
// preferences, where OpenHands' pages keep theirs.
const appPreferences = "app_preferences"

func text() schema.Type { return schema.Opt(schema.String{Max: 4096}) }

// PreferenceFields describes the preferences of a user that are neither the agent's nor
// a conversation's (docs/openhands/app-server-v0.md section 4.1, and Settings in
// OpenHands' cloud API). Other fields are kept as they are.
var PreferenceFields = &schema.Object{Extra: schema.Keep, Fields: []schema.Field{
	{Name: "language", Type: text()},
	{Name: "user_version", Type: schema.Opt(schema.Int{})},
	{Name: "remote_runtime_resource_factor", Type: schema.Opt(schema.Int{})},
	{Name: "enable_sound_notifications", Type: schema.Bool{}, Default: false},
	{Name: "enable_proactive_conversation_starters", Type: schema.Bool{}, Default: true},
	{Name: "enable_solvability_analysis", Type: schema.Bool{}, Default: false},
	{Name: "user_consents_to_analytics", Type: schema.Opt(schema.Bool{}), Default: false}, // there are none to consent to
	{Name: "sandbox_base_container_image", Type: text()},
	{Name: "sandbox_runtime_container_image", Type: text()},
	{Name: "max_budget_per_task", Type: schema.Opt(schema.Number{Bounds: schema.Bounds{GE: new(float64)}})},
	{Name: "email", Type: text()},
	{Name: "email_verified", Type: schema.Opt(schema.Bool{})},
	{Name: "git_user_name", Type: schema.Opt(schema.String{Max: 256, Valid: oneLine})},
	{Name: "git_user_email", Type: schema.Opt(schema.String{Max: 256, Valid: oneLine})},
	{Name: "git_full_clone", Type: schema.Bool{}, Default: false},
	{Name: "v1_enabled", Type: schema.Bool{}, Default: true},
	{Name: "sandbox_grouping_strategy", Type: schema.Choice{
		"NO_GROUPING", "GROUP_BY_NEWEST", "LEAST_RECENTLY_USED", "FEWEST_CONVERSATIONS", "ADD_TO_ANY"}, Default: "NO_GROUPING"},
	{Name: "default_sandbox_spec_id", Type: text()},
	{Name: "agent_preset", Type: schema.Choice{tool.DefaultPreset, tool.GPT5Preset, tool.GeminiPreset}, Default: tool.DefaultPreset},
	{Name: "agent_more_tools", Type: schema.List{Of: schema.String{Valid: moreTool}}, Default: []any{}},
	{Name: "registered_marketplaces", Type: schema.List{Of: &schema.Object{Fields: []schema.Field{
		{Name: "name", Type: schema.String{Min: 1}, Required: true},
		{Name: "source", Type: schema.String{Min: 1}, Required: true},
		{Name: "ref", Type: text()},
		{Name: "repo_path", Type: text()},
		{Name: "auto_load", Type: schema.Bool{}, Default: false},
		{Name: "scope", Type: schema.Opt(schema.Choice{"instance", "org", "personal"})},
	}}}, Default: []any{}},
}}

// moreTool refuses a name that no tool has which users can choose.
func moreTool(name string) error {
	if slices.ContainsFunc(tool.Registered(), func(r tool.Registration) bool { return r.Name == name && r.Description != "" && !r.OfPreset }) {
		return nil
	}
	return fault.New(fault.Invalid, "there is no such tool to choose")
}

func oneLine(s string) error {
	if strings.ContainsAny(s, "\r\n\x00") {
		return fault.New(fault.Invalid, "the text must be one line")
	}
	return nil
}

// Preferences are a user's preferences for conversations and sandboxes. Empty
// texts and zero numbers stand for no preference.
type Preferences struct {
	GitUserName      string  `json:"git_user_name"`
	GitUserEmail     string  `json:"git_user_email"`
	MaxBudgetPerTask float64 `json:"max_budget_per_task"`       // US dollars
	SandboxGrouping  string  `json:"sandbox_grouping_strategy"` // as OpenHands calls it, such as NO_GROUPING
	AgentPreset      string  `json:"agent_preset"`              // of the tools of agents that choose none; see tool.Preset
	// MoreTools are tools beside those of the preset, such as browser_tool_set.
	MoreTools []string `json:"agent_more_tools"`
}

// Preferences returns the user's preferences.
func (d *Document) Preferences() (p Preferences, err error) {
	err = schema.Into(d.PreferenceMap(), &p)
	if _, chosen := d.Misc.Object(appPreferences).Lookup("sandbox_grouping_strategy"); !chosen { // its default is no preference
		p.SandboxGrouping = ""
	}
	return p, err
}

// PreferenceMap returns all preferences. A stored one that does not fit, which a
// user interface may have written, has its default.
func (d *Document) PreferenceMap() *schema.Map {
	stored, out := d.Misc.Object(appPreferences), PreferenceFields.Defaults()
	for _, f := range PreferenceFields.All() {
		v, ok := stored.Lookup(f.Name)
		if !ok {
			continue
		}
		if checked, err := schema.Check(f.Type, v, schema.Reading{}); err == nil {
			out.Set(f.Name, checked)
		}
	}
	return out
}

// SetPreferences returns the change of settings that sets preferences, which
// [PreferenceFields] checked. It makes the settings configured, even without any.
func SetPreferences(p *schema.Map) (misc *schema.Map) { return schema.Of(appPreferences, p) }

// Configured reports whether the user ever saved settings, or has a model:
// without, a user interface asks for them first.
func (s *Service) Configured(ctx context.Context) (bool, error) {
	doc, err := s.Load()
	if err != nil {
		return false, err
	}
	chosenPreferences := doc.Misc.Object(appPreferences)
	_, shops := chosenPreferences.Lookup(marketplaces)
	alone := shops && chosenPreferences.Len() == 1 // deft plugins marketplaces writes them
	if doc.ActiveProfile != nil || doc.ACP() || chosenPreferences != nil && !alone {
		return true, nil
	}
	chosen, err := json.Marshal(doc.Agent.Object("llm"))
	if err != nil {
		return false, err
	}
	none, err := json.Marshal(documentSchema.Defaults().Object("agent_settings").Object("llm"))
	if err != nil || string(chosen) != string(none) {
		return true, err
	}
	names, err := s.Profiles.LLMs.Names(ctx)
	return len(names) > 0, err
}

// ServiceKey names a key of a service that the server uses for the user.
type ServiceKey string

// The keys of services.
const (
	SearchKey  ServiceKey = "search_api_key"
	SandboxKey ServiceKey = "sandbox_api_key"
)

// ServiceKey returns the user's key of a service, "" if there is none, and
// schema.ErrSealed if no key opens it.
func (s *Service) ServiceKey(name ServiceKey) (llm.Secret, error) {
	m, err := s.readable(s.secrets)
	if err != nil {
		return "", err
	}
	if key := m.Text(string(name)); key != "" {
		return llm.Secret(key), nil
	}
	return "", s.opens(s.secrets, string(name))
}

// SetServiceKey sets the user's key of a service; "" removes it.
func (s *Service) SetServiceKey(ctx context.Context, name ServiceKey, key llm.Secret) error {
	return s.change(ctx, s.secrets, errSecretsBlocked, func(m *schema.Map) error {
		m.Delete(string(name))
		if key != "" {
			m.Set(string(name), key.Reveal())
		}
		return nil
	})
}
