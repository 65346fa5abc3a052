package settings

import (
	"context"
	"encoding/json"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/launch"
	"github.com/deft-dev/deft/spec"
)

// Launched is the agent of a new conversation.
type Launched struct {
	Agent *spec.Agent
	// Profile describes the agent profile that launched it; nil for none.
	Profile json.RawMessage
	// SecretRefs are the names of secrets that the profile allows; nil for all.
	SecretRefs []string
}

// Launch makes the agent of a new conversation, for every way in. It has the errors of
// package launch, and schema.ErrSealed if no key opens a secret of the settings' MCP servers
// for a profile.
func (s *Service) Launch(ctx context.Context, src launch.Source, rt launch.Runtime) (*Launched, error) {
	var stores *launch.Stores
	if src.ProfileID != "" { // an agent and settings refer to nothing
		var err error
		if stores, err = s.launchStores(); err != nil {
			return nil, err
		}
	}
	resolved, err := launch.Resolve(ctx, src, stores)
	if err != nil {
		return nil, err
	}
	a, err := launch.Finalize(resolved, rt)
	if err != nil {
		return nil, err
	}
	out := &Launched{Agent: a}
	if p := resolved.Profile; p != nil {
		out.SecretRefs = p.SecretRefs
		out.Profile, err = json.Marshal(p)
	}
	return out, err
}

// StartAgent returns a copy of the settings' agent, as conversations start with it: with the common
// LLM if the user has chosen none, streaming where people watch. schema.ErrSealed if no key
// opens one of its secrets, such as the key of its LLM, which [Service.Load] leaves out.
func (s *Service) StartAgent() (*schema.Map, error) {
	if err := s.opens(s.settings, "agent_settings"); err != nil {
		return nil, err
	}
	doc, err := s.Load()
	if err != nil {
		return nil, err
	}
	agent := s.WithCommonLLM(doc.Agent).Copy()
	if l := agent.Object("llm"); l != nil {
		l = l.Copy()
		if s.o.Streams {
			l.Set("stream", true) // as profiles do
		}
		agent.Set("llm", l)
	}
	return agent, nil
}

// CommonModel is the name of the model of Options.CommonLLM, "" for none.
func (s *Service) CommonModel() string {
	if s.o.CommonLLM == nil {
		return ""
	}
	return s.o.CommonLLM.Text("model")
}

// WithCommonLLM returns the settings of an agent with Options.CommonLLM where no LLM was
// ever chosen.
func (s *Service) WithCommonLLM(agent *schema.Map) *schema.Map {
	had := agent.Object("llm")
	if s.o.CommonLLM == nil || had == nil || had.Text("model") != spec.LLMSchema.Defaults().Text("model") {
		return agent
	}
	for _, key := range []string{"api_key", "base_url", "provider_connection_id", "subscription_vendor"} {
		if had.Text(key) != "" {
			return agent
		}
	}
	had = had.Copy()
	for _, key := range s.o.CommonLLM.Keys() {
		had.Set(key, s.o.CommonLLM.Get(key))
	}
	agent = agent.Copy()
	agent.Set("llm", had)
	return agent
}

// DefaultLLM returns the LLM of [Service.StartAgent]. NotFound for agents without one.
func (s *Service) DefaultLLM() (*spec.LLM, error) {
	agent, err := s.StartAgent()
	if err != nil {
		return nil, err
	}
	return launch.DefaultLLM(agent)
}

// OpenLLM reads the LLM of a request, with its provider connection. keys open its sealed
// secrets; nil takes them as they are.
func (s *Service) OpenLLM(ctx context.Context, doc any, keys schema.Keys) (*spec.LLM, error) {
	m, err := spec.CheckLLM(doc, schema.Reading{Keys: keys}, "body", "llm")
	if err != nil {
		return nil, err
	}
	return m, m.Resolve(s.Profiles.Connections.Find(ctx), "")
}
