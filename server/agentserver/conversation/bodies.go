package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/server/agentserver/conversation/form"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
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

func setSecrets(ctx context.Context, c *session.Conversation, req *struct {
	Secrets map[string]json.RawMessage `json:"secrets"`
},
) error {
	return located(c.SetSecrets(ctx, req.Secrets), "secrets")
}

func setPolicy(ctx context.Context, c *session.Conversation, req *struct {
	Policy json.RawMessage `json:"policy"`
},
) error {
	return located(c.SetPolicy(ctx, req.Policy), "policy")
}

func setConfirm(ctx context.Context, c *session.Conversation, req *struct {
	Confirm security.Preset `json:"confirm"`
},
) error {
	return c.SetConfirm(ctx, req.Confirm)
}

func setAnalyzer(ctx context.Context, c *session.Conversation, req *struct {
	Analyzer json.RawMessage `json:"security_analyzer"`
},
) error {
	return located(c.SetAnalyzer(ctx, req.Analyzer), "security_analyzer")
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

func postSwitchACP(_ *session.Conversation, r *http.Request) error {
	if _, err := text(r, "model"); err != nil {
		return err
	}
	return rest.Fail(http.StatusBadRequest, "switch_acp_model is only supported for ACP conversations.")
}

func postLoadPlugin(_ *session.Conversation, r *http.Request) error {
	if _, err := text(r, "plugin_ref"); err != nil {
		return err
	}
	return rest.Fail(http.StatusBadRequest, "No agent context available. Configure agent_context with registered_marketplaces to use load_plugin().")
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
