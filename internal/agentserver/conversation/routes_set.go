package conversation

import (
	"encoding/json"
	"net/http"

	"github.com/deft-dev/deft/internal/agentserver/rest"
)

// body reads a body that must have a field.
func body(r *http.Request, field string) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := rest.Body(r, &fields); err != nil {
		return nil, err
	}
	raw, ok := fields[field]
	if !ok {
		return nil, rest.Missing("body", field)
	}
	return raw, nil
}

func postSecrets(c *Conversation, r *http.Request) error {
	raw, err := body(r, "secrets")
	if err != nil {
		return err
	}
	var secrets map[string]json.RawMessage
	if err := rest.Decode(raw, &secrets, "body", "secrets"); err != nil {
		return err
	}
	return c.SetSecrets(r.Context(), secrets)
}

func postPolicy(c *Conversation, r *http.Request) error {
	raw, err := body(r, "policy")
	if err != nil {
		return err
	}
	return c.SetPolicy(r.Context(), raw)
}

func postAnalyzer(c *Conversation, r *http.Request) error {
	raw, err := body(r, "security_analyzer")
	if err != nil {
		return err
	}
	return c.SetAnalyzer(r.Context(), raw)
}

func postSwitchProfile(c *Conversation, r *http.Request) error {
	raw, err := body(r, "profile_name")
	if err != nil {
		return err
	}
	var name string
	if err := rest.Decode(raw, &name, "body", "profile_name"); err != nil {
		return err
	}
	_, err = c.SwitchProfile(r.Context(), name)
	return err
}

func postSwitchLLM(c *Conversation, r *http.Request) error {
	raw, err := body(r, "llm")
	if err != nil {
		return err
	}
	l, err := c.m.o.LLM(r.Context(), raw)
	if err != nil {
		return err
	}
	return c.SwitchLLM(r.Context(), l)
}

func postSwitchACP(_ *Conversation, r *http.Request) error {
	if _, err := body(r, "model"); err != nil {
		return err
	}
	return rest.Fail(http.StatusBadRequest, "Conversation does not use an ACP agent")
}

func postLoadPlugin(_ *Conversation, r *http.Request) error {
	raw, err := body(r, "plugin_ref")
	if err != nil {
		return err
	}
	var name string
	if err := rest.Decode(raw, &name, "body", "plugin_ref"); err != nil {
		return err
	}
	return rest.Fail(http.StatusNotFound, "Plugin '"+name+"' not found")
}
