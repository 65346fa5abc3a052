package conversation

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/session"
)

// body reads a body that must have a field. The reference treats such a field
// as a parameter: if it is missing, the violation's input is null.
func body(r *http.Request, field string) (json.RawMessage, error) {
	raw, err := rest.Raw(r)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if json.Valid(raw) && json.Unmarshal(raw, &fields) == nil || len(bytes.TrimSpace(raw)) == 0 {
		if raw, ok := fields[field]; ok {
			return raw, nil
		}
	} else if !json.Valid(raw) {
		return nil, rest.Decode(raw, &fields, "body")
	}
	wrong := schema.Missing("body", field)
	wrong[0].Input = json.RawMessage("null")
	return nil, wrong
}

// text reads a body that must have a field with a text.
func text(r *http.Request, field string) (string, error) {
	raw, err := body(r, field)
	if err != nil {
		return "", err
	}
	var s *string
	if err := rest.Decode(raw, &s, "body", field); err != nil {
		return "", err
	}
	if s == nil {
		return "", schema.Violations{{Type: "string_type", Loc: []any{"body", field}, Msg: "Input should be a valid string"}}
	}
	return *s, nil
}

func postSecrets(c *session.Conversation, r *http.Request) error {
	raw, err := body(r, "secrets")
	if err != nil {
		return err
	}
	var secrets map[string]json.RawMessage
	if err := rest.Decode(raw, &secrets, "body", "secrets"); err != nil {
		return err
	}
	return located(c.SetSecrets(r.Context(), secrets), "secrets")
}

func postPolicy(c *session.Conversation, r *http.Request) error {
	raw, err := body(r, "policy")
	if err != nil {
		return err
	}
	return located(c.SetPolicy(r.Context(), raw), "policy")
}

func postAnalyzer(c *session.Conversation, r *http.Request) error {
	raw, err := body(r, "security_analyzer")
	if err != nil {
		return err
	}
	return located(c.SetAnalyzer(r.Context(), raw), "security_analyzer")
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
	raw, err := body(r, "llm")
	if err != nil {
		return err
	}
	l, err := s.o.Launcher.LLM(r.Context(), raw)
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
