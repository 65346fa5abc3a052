package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/confirmation"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/server/agentserver/conversation/form"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/spec"
)

// parameter reads a value that a body must have. The reference treats such a
// field as a parameter: if it is missing, the violation's input is null.
func parameter(r *http.Request, name string, t schema.Type) (any, error) {
	doc, _, err := rest.Document(r)
	if err != nil {
		return nil, err
	}
	m, _ := doc.(*schema.Map)
	v, ok := m.Lookup(name)
	if !ok {
		wrong := schema.Missing("body", name)
		wrong[0].Input = json.RawMessage("null")
		return nil, wrong
	}
	return schema.Check(t, v, schema.Reading{}, "body", name)
}

// text is a parameter that is a text.
func text(r *http.Request, name string) (string, error) {
	v, err := parameter(r, name, schema.String{})
	s, _ := v.(string)
	return s, err
}

func (s *Service) setSecrets(ctx context.Context, c *session.Conversation, req *struct {
	Secrets map[string]json.RawMessage `json:"secrets"`
},
) error {
	return located(s.o.Sessions.SetSecrets(ctx, c, req.Secrets), "secrets")
}

func setPolicy(ctx context.Context, c *session.Conversation, req *struct {
	Policy json.RawMessage `json:"policy"`
},
) error {
	return located(c.Confirmation().SetPolicy(ctx, req.Policy), "policy")
}

// getLimits is Deft's own: the contract has no limit on what a conversation may cost.
func (s *Service) getLimits(r *http.Request) (any, error) {
	c, err := s.conversation(r)
	if err != nil {
		return nil, err
	}
	return c.Limits(), nil
}

func setLimits(ctx context.Context, c *session.Conversation, req *session.Limits) error {
	return c.SetLimits(ctx, *req)
}

func answer(ctx context.Context, c *session.Conversation, req *struct {
	Answers map[event.ID]confirmation.Answer `json:"answers"`
},
) error {
	return c.Confirmation().Answer(ctx, req.Answers)
}

func setConfirm(ctx context.Context, c *session.Conversation, req *struct {
	Confirm security.Preset `json:"confirm"`
},
) error {
	return c.Confirmation().SetPreset(ctx, req.Confirm)
}

func setAnalyzer(ctx context.Context, c *session.Conversation, req *struct {
	Analyzer json.RawMessage `json:"security_analyzer"`
},
) error {
	return located(c.Confirmation().SetAnalyzer(ctx, req.Analyzer), "security_analyzer")
}

func postSwitchProfile(c *session.Conversation, r *http.Request) error {
	name, err := text(r, "profile_name")
	if err != nil {
		return err
	}
	_, err = c.SwitchProfile(r.Context(), name)
	var v schema.Violations
	if fault.Is(err, fault.Invalid) && !errors.As(err, &v) {
		return rest.Fail(http.StatusBadRequest, err.Error())
	}
	return err
}

func (s *Service) postSwitchLLM(c *session.Conversation, r *http.Request) error {
	doc, err := parameter(r, "llm", schema.Any{})
	if err != nil {
		return err
	}
	l, err := s.o.Settings.OpenLLM(r.Context(), doc, s.o.Sealed)
	if err != nil {
		return err
	}
	return c.SwitchLLM(r.Context(), l)
}

func postSwitchACP(c *session.Conversation, r *http.Request) error {
	model, err := text(r, "model")
	if err != nil {
		return err
	}
	if c.Agent().Kind != spec.ACPKind {
		return rest.Fail(http.StatusBadRequest, "switch_acp_model is only supported for ACP conversations.")
	}
	if model == "" {
		return rest.Fail(http.StatusBadRequest, "The model must not be empty.")
	}
	err = c.SwitchProgramModel(r.Context(), model)
	if _, refused := errors.AsType[*agent.Failure](err); refused {
		return rest.Fail(http.StatusBadRequest, err.Error())
	}
	return err
}

// postLoadPlugin loads a plugin of the marketplaces that the agent's context registers.
func (s *Service) postLoadPlugin(c *session.Conversation, r *http.Request) error {
	ref, err := text(r, "plugin_ref")
	if err != nil {
		return err
	}
	loaded, err := s.marketplacePlugin(r.Context(), c.Agent(), ref)
	switch {
	case r.Context().Err() != nil:
		return r.Context().Err()
	case fault.Is(err, fault.NotFound):
		return rest.Fail(http.StatusNotFound, fault.Text(err))
	case err != nil:
		return rest.Fail(http.StatusBadRequest, fault.Text(err))
	}
	return c.AddPlugins(r.Context(), loaded)
}

// marketplacePlugin fetches a plugin that is named as NAME or NAME@MARKETPLACE.
func (s *Service) marketplacePlugin(ctx context.Context, a *spec.Agent, ref string) ([]plugin.Plugin, error) {
	switch {
	case ref == "" || ref[0] == '@' || ref[len(ref)-1] == '@':
		return nil, fault.New(fault.Invalid, "Plugin reference must use 'plugin-name@marketplace-name'")
	case a.Context == nil:
		return nil, fault.New(fault.Invalid, "No agent context available. Configure agent_context with registered_marketplaces to use load_plugin().")
	case len(a.Context.RegisteredMarketplaces) == 0:
		return nil, fault.New(fault.Invalid, "No marketplaces registered. Configure registered_marketplaces in AgentContext to use load_plugin().")
	}
	all, err := plugin.ReadRegistrations(a.Context.RegisteredMarketplaces)
	if err != nil {
		return nil, err
	}
	from, err := s.o.Plugins.Resolve(ctx, all, ref)
	if err != nil {
		return nil, err
	}
	return s.o.Plugins.Load(ctx, []plugin.Source{from})
}

func startGoal(ctx context.Context, c *session.Conversation, req *struct {
	Objective     string `json:"objective"`
	MaxIterations int    `json:"max_iterations"`
},
) error {
	objective := strings.TrimSpace(req.Objective)
	if objective == "" {
		return rest.Fail(http.StatusBadRequest, "Goal objective must not be empty.")
	}
	return c.Goal().Start(ctx, objective, req.MaxIterations)
}

func (s *Service) postTitle(r *http.Request) (any, error) {
	var req struct {
		MaxLength int `json:"max_length"`
	}
	if err := rest.ReadOptional(r, form.Title, &req); err != nil {
		return nil, err
	}
	c, err := s.conversation(r)
	if err != nil {
		return nil, err
	}
	title, err := c.Assistant().GenerateTitle(r.Context(), req.MaxLength)
	return map[string]string{"title": title}, worded(err)
}
