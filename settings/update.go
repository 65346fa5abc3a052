package settings

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/agentsettings"
)

// Diff is a change of settings. Objects are merged into the stored ones; null in
// an object removes a key. Pointers that are set are written, nil as null.
type Diff struct {
	Agent, Conversation, Misc *schema.Map // nil for no change
	ActiveProfile             **string
	ActiveAgentProfile        **string
	ActiveMetaProfile         **string
	// Servers returns the MCP servers that take the place of the present ones, all of
	// them in the clear; nil for no change beside Agent's.
	Servers func(present *schema.Map) (*schema.Map, error)
}

// ErrInvalid is the error of settings that do not fit. It has no details, which
// might quote a secret.
var ErrInvalid error = fault.New(fault.Invalid, "Settings validation failed")

// InvalidError is an ErrInvalid that names the mistakes.
type InvalidError struct {
	// Fields are paths in the settings: "agent_settings.llm.model". They have no values, but the
	// choices that there are.
	Fields []string
}

// Error implements error, in the words of [ErrInvalid].
func (e *InvalidError) Error() string { return ErrInvalid.Error() }

// Unwrap returns [ErrInvalid].
func (e *InvalidError) Unwrap() error { return ErrInvalid }

// invalid is the error of a document of the settings.
func invalid(document string, err error) error {
	e := &InvalidError{}
	if found, ok := errors.AsType[schema.Violations](err); ok {
		for _, v := range found {
			path := []string{document}
			for i, part := range v.Loc {
				if i == 0 && (part == "openhands" || part == "acp") { // the kind of agent is no field
					continue
				}
				path = append(path, fmt.Sprint(part))
			}
			field := strings.Join(path, ".")
			if len(v.Choices) > 0 {
				field += " (one of " + strings.Join(v.Choices, ", ") + ")"
			}
			e.Fields = append(e.Fields, field)
		}
	}
	return e
}

// Update applies a change. Profiles that it names must exist (NotFound); an
// active LLM profile becomes the agent's LLM, unless the change has one of its
// own.
func (s *Service) Update(ctx context.Context, d Diff) (*Document, error) {
	if err := s.targets(ctx, d); err != nil {
		return nil, err
	}
	model, err := s.activeLLM(ctx, d)
	if err != nil {
		return nil, err
	}
	return s.Change(ctx, func(doc *Document) error { return s.apply(doc, withLLM(doc, d, model)) })
}

// Tried returns the document that [Service.Update] would store, and stores nothing.
func (s *Service) Tried(d Diff) (*Document, error) {
	doc, err := s.Load()
	if err != nil {
		return nil, err
	}
	return doc, s.apply(doc, d)
}

// targets refuses pointers that name nothing.
func (s *Service) targets(ctx context.Context, d Diff) error {
	if p := d.ActiveAgentProfile; p != nil && *p != nil {
		if _, err := s.Profiles.Agents.NameOf(ctx, **p); err != nil {
			return err
		}
	}
	if p := d.ActiveMetaProfile; p != nil && *p != nil {
		if _, err := s.Profiles.Metas.Load(ctx, **p); err != nil {
			return err
		}
	}
	return nil
}

// activeLLM returns the LLM of a profile that becomes active, nil for none.
func (s *Service) activeLLM(ctx context.Context, d Diff) (*schema.Map, error) {
	if d.ActiveProfile == nil || *d.ActiveProfile == nil {
		return nil, nil
	}
	if _, own := d.Agent.Lookup("llm"); own {
		return nil, nil
	}
	l, err := s.Profiles.LLMs.Load(ctx, **d.ActiveProfile)
	if err != nil {
		return nil, err
	}
	return l.Doc()
}

func withLLM(doc *Document, d Diff, model *schema.Map) Diff {
	kind := d.Agent.Text("agent_kind")
	if kind == "" {
		kind = doc.Agent.Text("agent_kind")
	}
	if model == nil || kind == "acp" {
		return d
	}
	agent := schema.NewMap()
	if d.Agent != nil {
		agent = d.Agent.Copy()
	}
	agent.Set("llm", model)
	d.Agent = agent
	return d
}

// withServers turns Servers into a merge patch, which removes all others.
func withServers(doc *Document, d Diff) (Diff, error) {
	if d.Servers == nil {
		return d, nil
	}
	present, err := agentsettings.Dump(doc.Agent, schema.Writing{Mode: schema.Plain})
	if err != nil {
		return d, err
	}
	old := present.Object("mcp_config")
	next, err := d.Servers(old)
	if err != nil {
		return d, err
	}
	agent := schema.NewMap()
	if d.Agent != nil {
		agent = d.Agent.Copy()
	}
	agent.Set("mcp_config", replacement(old, next))
	d.Agent = agent
	return d, nil
}

// withAddresses puts the stored addresses of servers in place of addresses that clients send back
// as they are shown, with masks.
func withAddresses(old, patch *schema.Map) *schema.Map {
	servers := patch.Object("mcp_config")
	for _, key := range servers.Keys() {
		next := servers.Object(key)
		if url := schema.Unmasked(next.Text("url"), old.Object(key).Text("url")); next != nil && url != next.Text("url") {
			next = next.Copy()
			next.Set("url", url)
			servers = servers.Copy()
			servers.Set(key, next)
			patch = patch.Copy()
			patch.Set("mcp_config", servers)
		}
	}
	return patch
}

// replacement is the merge patch that makes next of old.
func replacement(old, next *schema.Map) *schema.Map {
	patch := next.Copy()
	for _, key := range old.Keys() {
		now, ok := next.Lookup(key)
		was, both := old.Get(key).(*schema.Map)
		is, _ := now.(*schema.Map)
		switch {
		case !ok:
			patch.Set(key, nil)
		case both && is != nil:
			patch.Set(key, replacement(was, is))
		}
	}
	return patch
}

// apply changes settings in memory: all of it or nothing.
func (s *Service) apply(doc *Document, d Diff) error {
	agent, conversation := doc.Agent, doc.Conversation
	d, err := withServers(doc, d)
	if err != nil {
		return err
	}
	if d.Agent != nil {
		d.Agent = withAddresses(doc.Agent.Object("mcp_config"), d.Agent)
		if agent, err = agentsettings.Apply(agent, d.Agent, schema.Reading{Keys: s.keys}); err != nil {
			return invalid("agent_settings", err)
		}
	}
	if d.Conversation != nil {
		if conversation, err = agentsettings.Conversation.Check(schema.MergeFields(conversation, d.Conversation), schema.Reading{}); err != nil {
			return invalid("conversation_settings", err)
		}
	}
	doc.Agent, doc.Conversation = agent, conversation
	if d.Misc != nil {
		doc.Misc = schema.MergeFields(doc.Misc, d.Misc)
	}
	if d.ActiveProfile != nil {
		doc.ActiveProfile = *d.ActiveProfile
	}
	if d.ActiveAgentProfile != nil {
		doc.ActiveAgentProfile = *d.ActiveAgentProfile
	}
	if d.ActiveMetaProfile != nil {
		doc.route(*d.ActiveMetaProfile)
	}
	if doc.ACP() {
		doc.ActiveMetaProfile = nil
	}
	return nil
}

// route makes a meta-profile the active one, also in the agent's settings, which
// give the agent its routing tool. ACP agents have none.
func (d *Document) route(name *string) {
	if d.ACP() {
		d.ActiveMetaProfile = nil
		return
	}
	d.ActiveMetaProfile = name
	agent := d.Agent.Copy()
	agent.Set("active_meta_profile", nullable(name))
	agent.Set("enable_classify_and_switch_llm_tool", name != nil)
	d.Agent = agent
}

// ChangeServer changes one of the MCP servers by a merge patch, nil deletes
// it. exists says whether there must be such a server or must not.
func (s *Service) ChangeServer(ctx context.Context, key string, patch *schema.Map, exists bool) (*Document, error) {
	return s.Change(ctx, func(doc *Document) error {
		_, there := doc.Agent.Object("mcp_config").Lookup(key)
		switch {
		case exists && !there:
			return fault.New(fault.NotFound, "MCP server '"+key+"' was not found")
		case !exists && there:
			return fault.New(fault.Conflict, "MCP server '"+key+"' already exists")
		}
		var change any
		if patch != nil {
			change = patch
		}
		return s.apply(doc, Diff{Agent: schema.Of("mcp_config", schema.Of(key, change))})
	})
}
