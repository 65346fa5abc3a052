package settings

import (
	"context"
	"net/http"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/rest"
	"github.com/deft-dev/deft/spec"
)

// tested is what a model has answered to a small request. The contract has no such route.
type tested struct {
	Works bool `json:"works"`
	// Kind is that of the failure, such as "auth"; Message is for people.
	Kind    *string `json:"kind"`
	Message *string `json:"message"`
}

// testModel tries the model of the settings.
func (u user) testModel(w http.ResponseWriter, r *http.Request) error {
	doc, err := u.Load()
	if err != nil {
		return err
	}
	l, err := spec.LLMFrom(doc.Agent.Object("llm"))
	if err != nil {
		return err
	}
	return u.try(r.Context(), w, l)
}

// testProfile tries the model of a profile.
func (u user) testProfile(w http.ResponseWriter, r *http.Request) error {
	name, err := profileName(r)
	if err != nil {
		return err
	}
	l, err := u.Profiles.LLMs.Load(r.Context(), name)
	if err != nil {
		return err
	}
	return u.try(r.Context(), w, l)
}

func (u user) try(ctx context.Context, w http.ResponseWriter, l *spec.LLM) error {
	err := l.Resolve(u.Profiles.Connections.Find(ctx), "")
	if err == nil {
		err = u.Check(ctx, l)
	}
	if err == nil {
		return rest.JSON(w, http.StatusOK, tested{Works: true})
	}
	kind, message := string(fault.KindOf(err)), err.Error()
	if hint := fault.HintOf(err); hint != "" {
		message += " (" + hint + ")"
	}
	return rest.JSON(w, http.StatusOK, tested{Kind: &kind, Message: &message})
}
