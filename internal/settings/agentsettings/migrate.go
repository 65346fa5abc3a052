package agentsettings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	s "github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// Origin is where a document comes from.
type Origin int

// A document of a request that names no version is of the present one; a
// stored one without a version is of the first.
const (
	Requested Origin = iota
	Stored
)

var switches = []string{"enable_sub_agents", "enable_switch_llm_tool"}

// refuseRemoved refuses settings that were removed
// (docs/openhands/sdk-wire-1.58.md section B.2).
func refuseRemoved(m *s.Map) error {
	var gone []string
	for _, k := range switches {
		if _, ok := m.Lookup(k); ok {
			gone = append(gone, k)
		}
	}
	if _, ok := m.Lookup("llm"); ok && m.Text("agent_kind") == "acp" {
		gone = append(gone, "llm")
	}
	if len(gone) == 0 {
		return nil
	}
	slices.Sort(gone)
	return fault.New(fault.Invalid, "Removed agent settings: "+strings.Join(gone, ", "))
}

// Validate returns agent settings in their normal form, with their secrets
// opened, and those of older versions brought up to date.
func Validate(v any, how s.Reading, from Origin) (*s.Map, error) {
	m, ok := v.(*s.Map)
	if !ok {
		return nil, s.Invalid("settings must be an object", nil)
	}
	m = m.Copy()
	steps := agentSteps
	if from == Requested && m.Get("schema_version") == nil {
		if err := refuseRemoved(m); err != nil {
			return nil, s.Invalid(err.Error(), nil)
		}
		steps = requestSteps
	}
	m, err := migrate(m, "AgentSettings", Version, steps)
	if err != nil {
		return nil, err
	}
	switch kind := m.Get("agent_kind"); kind {
	case nil, "llm", "openhands":
		m.Set("agent_kind", "openhands")
		return OpenHands.Check(m, how)
	case "acp":
		return ACP.Check(m, how)
	default:
		return nil, s.Violations{{Type: "union_tag_invalid", Loc: []any{}, Msg: fmt.Sprintf(
			"Input tag '%v' found using _agent_settings_discriminator() does not match any of the expected tags: 'openhands', 'llm', 'acp'", kind)}}
	}
}

// Schema returns the description of settings of a kind.
func Schema(m *s.Map) *s.Object {
	if m.Text("agent_kind") == "acp" {
		return ACP
	}
	return OpenHands
}

// Dump returns settings as they may leave the process.
func Dump(m *s.Map, how s.Writing) (*s.Map, error) { return Schema(m).Dump(m, how) }

// Apply returns settings changed by a JSON merge patch. Another kind of agent
// starts from the defaults of that kind, because the fields of the two have
// nothing to do with one another.
func Apply(base, diff *s.Map, how s.Reading) (*s.Map, error) {
	if diff.Len() == 0 {
		return base, nil
	}
	kind := diff.Text("agent_kind")
	if kind != "" && kind != base.Text("agent_kind") {
		return Validate(s.Merge(s.Of("agent_kind", kind), diff), how, Requested)
	}
	plain, err := Dump(base, s.Writing{Mode: s.Plain})
	if err != nil {
		return nil, err
	}
	return Validate(s.Merge(plain, diff), how, Requested)
}

// migrate brings a document to a version, step by step.
func migrate(v any, name string, current int, steps map[int]func(*s.Map)) (*s.Map, error) {
	m, ok := v.(*s.Map)
	if !ok {
		return nil, s.Invalid(name+" must be an object", nil)
	}
	m = m.Copy()
	version, err := versionOf(m, name)
	switch {
	case err != nil:
		return nil, err
	case version < 0:
		return nil, fault.New(fault.Invalid, name+" schema_version must be non-negative.")
	case version > current:
		return nil, fault.New(fault.Invalid, fmt.Sprintf("%s schema_version %d is newer than supported version %d.", name, version, current))
	}
	for ; version < current; version++ {
		if step := steps[version]; step != nil {
			step(m)
		}
		m.Set("schema_version", json.Number(fmt.Sprint(version+1)))
	}
	return m, nil
}

func versionOf(m *s.Map, name string) (int, error) {
	switch v := m.Get("schema_version").(type) {
	case nil:
		return 0, nil
	case json.Number:
		if i, err := v.Int64(); err == nil && i < 1<<31 && i > -1<<31 {
			return int(i), nil
		}
	}
	return 0, fault.New(fault.Invalid, name+" schema_version must be an integer.")
}

var agentSteps = map[int]func(*s.Map){
	0: func(m *s.Map) {
		if m.Get("agent_kind") == nil {
			m.Set("agent_kind", "openhands")
		}
	},
	1: func(m *s.Map) {
		if m.Get("agent_kind") == "llm" {
			m.Set("agent_kind", "openhands")
		}
	},
	2: func(m *s.Map) {
		change(m, "verification", func(v *s.Map) { v.Delete("confirmation_mode"); v.Delete("security_analyzer") })
	},
	3: func(m *s.Map) { change(m, "llm", spec.CanonicalizeLLM) },
	4: func(m *s.Map) {
		if c := m.Object("mcp_config"); c != nil {
			m.Set("mcp_config", serverMap(c))
		}
	},
	5: func(m *s.Map) { change(m, "llm", func(l *s.Map) { l.Delete("modify_params") }) },
	6: dropACPModel,
	7: func(m *s.Map) {
		if m.Get("agent_kind") == "acp" {
			dropSwitches(m)
		} else {
			FoldSwitches(m)
		}
	},
	8: func(m *s.Map) { dropSwitches(m); dropACPModel(m) },
}

// requestSteps are those of requests without a version: they are of the
// present version, except for what was never versioned.
var requestSteps = func() map[int]func(*s.Map) {
	steps := map[int]func(*s.Map){}
	for v, step := range agentSteps {
		if v < 7 {
			steps[v] = step
		}
	}
	return steps
}()

func change(m *s.Map, key string, f func(*s.Map)) {
	if inner := m.Object(key); inner != nil {
		inner = inner.Copy()
		f(inner)
		m.Set(key, inner)
	}
}

func dropACPModel(m *s.Map) {
	if m.Get("agent_kind") == "acp" {
		m.Delete("llm")
	}
}

func dropSwitches(m *s.Map) {
	for _, k := range switches {
		m.Delete(k)
	}
}

// FoldSwitches turns two retired switches, for sub-agents and for switching
// models, into a list of tools.
func FoldSwitches(m *s.Map) {
	sub, switching := m.Get(switches[0]) == true, m.Get(switches[1]) != false
	dropSwitches(m)
	tools, isList := m.Get("tools").([]any)
	if m.Get("tools") != nil && !isList {
		return
	}
	if isList && len(tools) == 0 { // stored before null was the default
		tools = nil
		m.Set("tools", nil)
	}
	if tools == nil && !sub && switching {
		return
	}
	if tools == nil {
		tools = spec.PresetTools(true)
		if sub {
			tools = append(tools, spec.NewTool(spec.SubAgentsTool))
		}
	}
	has := func(t any) bool { return spec.CanonicalTool(spec.ToolName(t)) == spec.SwitchLLMTool }
	switch {
	case !switching:
		tools = slices.DeleteFunc(slices.Clone(tools), has)
	case !slices.ContainsFunc(tools, has):
		tools = append(slices.Clone(tools), spec.NewTool(spec.SwitchLLMTool))
	}
	m.Set("tools", tools)
}
