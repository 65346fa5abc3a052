package security

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// Service is an analyzer that asks a service: another model, or a server over HTTP. Its
// configuration is a [GraySwan], an [Invariant], an [HTTP] or a [ToolShield]. [Connect] gives it
// the service. An action that the service does not rate, for whatever reason, is UNKNOWN.
type Service struct {
	kind   string
	config config
	rate   Rater
}

// config is the configuration of a service, with its keys.
type config interface {
	// masked returns it without keys, as it is shown and stored.
	masked() any
	keys() []string
}

// Rater rates one action.
type Rater func(ctx context.Context, a *event.ActionEvent) (Assessment, error)

// Clients ask services.
type Clients interface {
	// Rate has a service rate an action. Unsupported for a kind of service that they do
	// not know.
	Rate(ctx context.Context, s Service, c Case) (Assessment, error)
}

// Case is an action with all that a service learns about it.
type Case struct {
	Conversation event.ConversationID
	Action       *event.ActionEvent
	// History is what the model has seen before the action.
	History []event.Event
	// Mask hides secrets in a text; nil if there are none.
	Mask func(string) string
}

// Text is a text of the case without secrets.
func (c Case) Text(s string) string {
	if c.Mask == nil {
		return s
	}
	return c.Mask(s)
}

// Connect returns an analyzer whose services are asked by the raters that to returns for them.
func Connect(a Analyzer, to func(Service) Rater) Analyzer {
	switch a := a.(type) {
	case Service:
		a.rate = to(a)
		return a
	case Ensemble:
		members := make([]Analyzer, len(a.Analyzers))
		for i, one := range a.Analyzers {
			members[i] = Connect(one, to)
		}
		a.Analyzers = members
		return a
	}
	return a
}

// Name implements [Analyzer].
func (s Service) Name() string { return s.kind }

// Config returns the configuration, with its keys.
func (s Service) Config() any { return s.config }

// errNoClient is the error of a service that nothing connects.
var errNoClient = fault.New(fault.Unsupported, "this program has no client for the service")

// Assess implements [Analyzer]. The error is in the details.
func (s Service) Assess(ctx context.Context, a *event.ActionEvent) (Assessment, error) {
	var got Assessment
	var err error = errNoClient
	if s.rate != nil {
		got, err = s.rate(ctx, a)
	}
	if err == nil {
		return got, nil
	}
	text := s.kind + ": " + err.Error()
	if hint := fault.HintOf(err); hint != "" {
		text += " (" + hint + ")"
	}
	return Assessment{Risk: event.RiskUnknown, Details: map[string]any{"error": text}, Failed: true}, nil
}

// MarshalJSON implements [Analyzer].
func (s Service) MarshalJSON() ([]byte, error) {
	kind, err := json.Marshal(s.kind)
	if err != nil {
		return nil, err
	}
	fields, err := json.Marshal(s.config.masked())
	if err != nil {
		return nil, err
	}
	out := append([]byte(nil), fields[:len(fields)-1]...)
	return append(append(append(out, `,"kind":`...), kind...), '}'), nil
}

// Keys returns the keys of an analyzer's services, which must not be shown.
func Keys(a Analyzer) (all []string) {
	Connect(a, func(s Service) Rater {
		all = append(all, s.config.keys()...)
		return nil
	})
	return all
}

// hasService reports whether an analyzer asks a service.
func hasService(a Analyzer) (has bool) {
	Connect(a, func(Service) Rater {
		has = true
		return nil
	})
	return has
}

// wrongType names the field that has the wrong type, without its value.
func wrongType(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fault.New(fault.Invalid, wrong.Field+": Input should be a valid "+wrong.Type.String())
	}
	return fault.New(fault.Invalid, "not JSON")
}
