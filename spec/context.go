package spec

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	s "github.com/deft-dev/deft/schema"
)

// SecretSourceSchema describes an object that says where a secret is.
var SecretSourceSchema = Define("SecretSource", s.Tagged{
	Key:   "kind",
	Order: []string{"LookupSecret", "StaticSecret"},
	Of: map[string]*s.Object{
		"StaticSecret": Reference("StaticSecret", s.Object{}),
		"LookupSecret": Reference("LookupSecret", s.Object{}, s.Field{Name: "headers", Type: s.Headers}),
	},
})

// SecretSources describes the secrets of a request by their names: texts, and
// sources, also a value without a kind.
var SecretSources = func() s.Sources {
	k := SecretSourceSchema
	k.Default, k.Mark = "StaticSecret", "value"
	return s.Sources{Source: k}
}()

// SkillSchema describes one skill that is given inline.
var SkillSchema = Reference("Skill", s.Object{Before: prepareSkill})

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

// ContextSchema describes an agent's input beside its task.
var ContextSchema = Reference("AgentContext", s.Object{After: finishContext},
	s.Field{Name: "memory_context", Hidden: true},
	s.Field{Name: "secrets", Type: s.Opt(s.Sources{Source: SecretSourceSchema})},
	s.Field{Name: "current_datetime", Default: func() any { return Now() }},
)

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

// Context is an agent's input beside its task.
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
	// Secrets has a text, in the clear, or a *schema.Map as SecretSourceSchema has it
	// for each name. It is nil where the wire has null.
	Secrets *s.Map `json:"secrets"`
	// CurrentDatetime is nil for contexts without the time.
	CurrentDatetime *string `json:"current_datetime"`
}
