package profiles

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/agentsettings"
	"github.com/deft-dev/deft/settings/filestore"
	"github.com/deft-dev/deft/spec"
)

// agentVersion is the schema version of agent profiles.
const agentVersion = 4

var agentSchema = schema.Tagged{
	Key: "agent_kind", Default: "openhands", Order: []string{"openhands", "acp"},
	Of: map[string]*schema.Object{
		"openhands": spec.Reference("OpenHandsAgentProfile", schema.Object{Before: refuseSwitches, After: finishTools}, profileID,
			schema.Field{Name: "condenser", Type: agentsettings.CondenserSettings}),
		"acp": spec.Reference("ACPAgentProfile", schema.Object{}, profileID),
	},
}

// profileID is checked, and written with dashes, by [ValidateAgent].
var profileID = schema.Field{Name: "id", Type: schema.String{}, Default: func() any { return uuid.NewString() }}

func refuseSwitches(m *schema.Map) error {
	for _, k := range []string{"enable_sub_agents", "enable_switch_llm_tool"} {
		if _, ok := m.Lookup(k); ok {
			return fault.New(fault.Invalid, "Retired tool switches were removed; select tools instead.")
		}
	}
	return nil
}

func finishTools(m *schema.Map) error {
	tools, ok := m.Get("tools").([]any)
	if !ok {
		return nil
	}
	if err := spec.CheckBuiltins(tools); err != nil {
		return err
	}
	m.Set("tools", spec.MergeTools(tools))
	return nil
}

// ValidateAgent returns an agent profile in its normal form. Errors are
// schema.Violations, or of kind Unsupported for another schema version.
func ValidateAgent(m *schema.Map) (*schema.Map, error) {
	if err := filestore.CheckVersion(m, "AgentProfile", agentVersion); err != nil {
		return nil, err
	}
	m = m.Copy()
	m.Set("schema_version", schema.Count(agentVersion))
	if id, ok := m.Lookup("id"); ok {
		parsed, err := uuid.Parse(fmt.Sprint(id))
		if err != nil {
			return nil, schema.Violations{{Type: "uuid_parsing", Loc: []any{"id"}, Msg: "Input should be a valid UUID"}}
		}
		m.Set("id", parsed.String())
	}
	out, err := schema.Check(agentSchema, m, schema.Reading{})
	doc, _ := out.(*schema.Map)
	return doc, err
}

// Agents are the saved agent profiles.
type Agents struct{ folder }

// AgentSummary is an agent profile in a list. Its fields are as they are stored,
// so that a list shows broken profiles as well.
type AgentSummary struct {
	ID         *string `json:"id"`
	Name       string  `json:"name"`
	Kind       string  `json:"agent_kind"`
	Revision   any     `json:"revision"` // a number or nil
	LLM        *string `json:"llm_profile_ref"`
	MCPServers any     `json:"mcp_server_refs"` // a list or nil
}

// Load returns a profile's document, in its normal form.
func (s *Agents) Load(ctx context.Context, name string) (*schema.Map, error) {
	return locked(ctx, s.folder, func() (*schema.Map, error) { return load(s.folder, name, ValidateAgent) })
}

// Save writes a checked profile under its name. The store sets its id:
// a profile of that name keeps its id and has its revision raised, a new one
// gets another.
func (s *Agents) Save(ctx context.Context, doc *schema.Map) error {
	return s.locked(ctx, func() error {
		_, err := s.save(doc)
		return err
	})
}

func (s *Agents) save(doc *schema.Map) (*schema.Map, error) {
	name := Canonical(doc.Text("name"))
	doc = doc.Copy()
	doc.Set("name", name)
	doc.Set("id", uuid.NewString())
	if old, err := s.read(name); err == nil && old != nil {
		if id, err := uuid.Parse(old.Text("id")); err == nil {
			doc.Set("id", id.String())
			revision, _ := old.Get("revision").(json.Number)
			n, _ := revision.Int64() // 0 for anything but a number
			doc.Set("revision", schema.Count(int(n)+1))
		}
	}
	return doc, s.write(name, doc)
}

// Delete removes a profile; a missing one is no error.
func (s *Agents) Delete(ctx context.Context, name string) error {
	return s.locked(ctx, func() error { return s.remove(name) })
}

// Rename gives a profile another name; its id stays.
func (s *Agents) Rename(ctx context.Context, from, to string) error {
	return s.locked(ctx, func() error {
		if err := s.rename(from, to); err != nil {
			return err
		}
		return s.set(to, "name", Canonical(to))
	})
}

// set changes one field of a profile.
func (s *Agents) set(name, field, value string) error {
	m, err := s.existing(name)
	if err != nil {
		return err
	}
	m.Set(field, value)
	return s.write(name, m)
}

// List returns all profiles. Files that cannot be read are skipped.
func (s *Agents) List(ctx context.Context) ([]AgentSummary, error) {
	return locked(ctx, s.folder, s.list)
}

func (s *Agents) list() ([]AgentSummary, error) {
	return list(s.folder, func(name string, m *schema.Map) AgentSummary {
		one := AgentSummary{ID: m.Pointer("id"), Name: name, Kind: "openhands"}
		if kind := m.Text("agent_kind"); kind != "" {
			one.Kind = kind
		}
		if one.Kind == "openhands" {
			one.LLM = m.Pointer("llm_profile_ref")
		}
		if n, ok := m.Get("revision").(json.Number); ok {
			one.Revision = n
		}
		if refs, ok := m.Get("mcp_server_refs").([]any); ok {
			one.MCPServers = refs
		}
		return one
	})
}

// NameOf returns the name of the profile with an id, NotFound where there is
// none.
func (s *Agents) NameOf(ctx context.Context, id string) (string, error) {
	return locked(ctx, s.folder, func() (string, error) { return s.nameOf(id) })
}

func (s *Agents) nameOf(id string) (string, error) {
	list, err := s.list()
	if err != nil {
		return "", err
	}
	for _, one := range list {
		if one.ID != nil && *one.ID == id {
			return one.Name, nil
		}
	}
	return "", fault.New(fault.NotFound, fmt.Sprintf("Agent profile with id '%s' not found", id))
}

// ByID returns the profile with an id.
func (s *Agents) ByID(ctx context.Context, id string) (*schema.Map, error) {
	return locked(ctx, s.folder, func() (*schema.Map, error) {
		name, err := s.nameOf(id)
		if err != nil {
			return nil, err
		}
		return load(s.folder, name, ValidateAgent)
	})
}

// Seed is the name of the profile that is made where there is none.
const Seed = "default"

// Ensure returns the id of a profile that is to be active: active, if there is
// such a profile; else the default one's, which seed makes if it is missing; else
// the first other one's. It returns "" if there is none.
func (s *Agents) Ensure(ctx context.Context, active string, seed func() (*schema.Map, error)) (string, error) {
	return locked(ctx, s.folder, func() (string, error) {
		if active != "" {
			if _, err := s.nameOf(active); !fault.Is(err, fault.NotFound) {
				return active, err
			}
		}
		doc, err := load(s.folder, Seed, ValidateAgent)
		if fault.Is(err, fault.NotFound) {
			if doc, err = seed(); err != nil {
				return "", err
			}
			doc, err = s.save(doc)
		}
		switch {
		case err == nil:
			return doc.Text("id"), nil
		case !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.Invalid):
			return "", err
		}
		s.log.Warn("the default agent profile cannot be used", "error", err)
		list, err := s.list()
		for _, one := range list {
			if one.ID != nil && one.Name != Seed {
				return *one.ID, nil
			}
		}
		return "", err
	})
}
