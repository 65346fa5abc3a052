package spec

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	s "github.com/deft-dev/deft/schema"
)

// SourceSchema describes an object that says where a secret is.
var SecretSourceSchema = s.Kinds{
	Order: []string{"LookupSecret", "StaticSecret"},
	Of: map[string]*s.Object{
		"StaticSecret": {Fields: []s.Field{
			{Name: "description", Type: text},
			{Name: "value", Type: secret},
			{Name: "kind", Type: s.String{}},
		}},
		"LookupSecret": {Fields: []s.Field{
			{Name: "description", Type: text},
			{Name: "url", Type: s.String{}, Required: true},
			{Name: "headers", Type: s.Headers{}, Default: func() any { return s.NewMap() }},
			{Name: "kind", Type: s.String{}},
		}},
	},
}

var triggerSchema = s.Tagged{
	Key: "type", Order: []string{"keyword", "task", "path"},
	Of: map[string]*s.Object{"keyword": trigger("keywords"), "task": trigger("triggers"), "path": trigger("paths")},
}

func trigger(list string) *s.Object {
	return &s.Object{Fields: []s.Field{{Name: "type", Type: s.String{}}, {Name: list, Type: names, Required: true}}}
}

// SkillSchema describes one skill that is given inline.
var SkillSchema = &s.Object{
	Name: "Skill", Before: prepareSkill,
	Fields: []s.Field{
		{Name: "name", Type: s.String{}, Required: true},
		{Name: "content", Type: s.String{}, Required: true},
		{Name: "trigger", Type: s.Opt(triggerSchema)},
		{Name: "source", Type: text},
		{Name: "mcp_tools", Type: s.Opt(MCPServers)},
		{Name: "inputs", Type: s.List{Of: &s.Object{Fields: []s.Field{
			{Name: "name", Type: s.String{}, Required: true}, {Name: "description", Type: s.String{}, Required: true},
		}}}, Default: []any{}},
		{Name: "is_agentskills_format", Type: s.Bool{}, Default: false},
		{Name: "version", Type: s.String{}, Default: "1.0.0"},
		{Name: "description", Type: text},
		{Name: "license", Type: text},
		{Name: "compatibility", Type: text},
		{Name: "metadata", Type: s.Opt(s.Dict{Of: s.String{}})},
		{Name: "allowed_tools", Type: s.Opt(names)},
		{Name: "disable_model_invocation", Type: s.Bool{}, Default: false},
		{Name: "resources", Type: s.Opt(&s.Object{Fields: []s.Field{
			{Name: "skill_root", Type: s.String{}, Required: true},
			{Name: "scripts", Type: names, Default: []any{}},
			{Name: "references", Type: names, Default: []any{}},
			{Name: "assets", Type: names, Default: []any{}},
		}})},
	},
}

// prepareSkill takes allowed_tools as one text, and metadata of any values.
func prepareSkill(m *s.Map) error {
	if t, ok := m.Get("allowed_tools").(string); ok {
		list := []any{}
		for w := range strings.FieldsSeq(t) {
			list = append(list, w)
		}
		m.Set("allowed_tools", list)
	}
	if given, ok := m.Get("allowed_tools").([]any); ok {
		list := make([]any, len(given))
		for i, one := range given {
			list[i] = fmt.Sprint(one)
		}
		m.Set("allowed_tools", list)
	}
	if meta := m.Object("metadata"); meta != nil {
		out := s.NewMap()
		for _, k := range meta.Keys() {
			if v, ok := meta.Get(k).(string); ok {
				out.Set(k, v)
			} else {
				out.Set(k, fmt.Sprint(meta.Get(k)))
			}
		}
		m.Set("metadata", out)
	}
	return nil
}

var marketplace = &s.Object{
	Fields: []s.Field{
		{Name: "name", Type: s.String{}, Required: true},
		{Name: "source", Type: s.String{}, Required: true},
		{Name: "ref", Type: text},
		{Name: "repo_path", Type: text},
		{Name: "auto_load", Type: s.Either{s.Bool{}, names}, Default: false},
	},
}

// ContextSchema describes what an agent is told beside its task.
var ContextSchema = &s.Object{
	Name: "AgentContext", After: finishContext,
	Fields: []s.Field{
		{Name: "skills", Type: s.List{Of: SkillSchema}, Default: []any{}},
		{Name: "system_message_suffix", Type: text},
		{Name: "user_message_suffix", Type: text},
		{Name: "load_user_skills", Type: s.Bool{}, Default: false},
		{Name: "load_public_skills", Type: s.Bool{}, Default: false},
		{Name: "marketplace_path", Type: text, Default: "marketplaces/default.json"},
		{Name: "registered_marketplaces", Type: s.List{Of: marketplace}, Default: []any{}},
		{Name: "load_project_skills", Type: s.Bool{}, Default: false},
		{Name: "load_memory", Type: s.Bool{}, Default: false, Page: &s.Page{
			Label: "Persistent memory", Prominence: "major",
			Description: "Show the agent what it has noted in earlier conversations, for you and for the project.",
		}},
		{Name: "memory_context", Type: text, Hidden: true},
		{Name: "disabled_skills", Type: names, Default: []any{}},
		{Name: "secrets", Type: s.Opt(s.Sources{Source: SecretSourceSchema})},
		{Name: "current_datetime", Type: text, Default: func() any { return Now() }},
	},
}

// Now is the present time as the wire writes it.
func Now() string { return time.Now().Format("2006-01-02T15:04:05.000000Z07:00") }

// finishContext refuses two skills of one name and leaves out disabled ones.
func finishContext(m *s.Map) error {
	off := map[any]bool{}
	disabled, _ := m.Get("disabled_skills").([]any)
	for _, name := range disabled {
		off[name] = true
	}
	seen, kept := map[string]bool{}, []any{}
	skills, _ := m.Get("skills").([]any)
	for _, e := range skills {
		skill, ok := e.(*s.Map)
		if !ok {
			continue
		}
		name := skill.Text("name")
		if seen[name] {
			return fault.New(fault.Invalid, "Duplicate skill name found: "+name)
		}
		seen[name] = true
		if !off[name] {
			kept = append(kept, e)
		}
	}
	m.Set("skills", kept)
	return nil
}

// Context is what an agent is told beside its task.
type Context struct {
	Skills                 []json.RawMessage `json:"skills"` // each as SkillSchema has it
	SystemMessageSuffix    *string           `json:"system_message_suffix"`
	UserMessageSuffix      *string           `json:"user_message_suffix"`
	LoadUserSkills         bool              `json:"load_user_skills"`
	LoadPublicSkills       bool              `json:"load_public_skills"`
	MarketplacePath        *string           `json:"marketplace_path"`
	RegisteredMarketplaces []json.RawMessage `json:"registered_marketplaces"`
	LoadProjectSkills      bool              `json:"load_project_skills"`
	LoadMemory             bool              `json:"load_memory"`
	DisabledSkills         []string          `json:"disabled_skills"`
	// Secrets has a text, in the clear, or a *schema.Map as SourceSchema has it
	// for each name. It is nil where the wire has null.
	Secrets *s.Map `json:"secrets"`
	// CurrentDatetime is nil for contexts that are not told the time.
	CurrentDatetime *string `json:"current_datetime"`
}
