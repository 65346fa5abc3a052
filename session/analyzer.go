package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/rawjson"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/state"
)

// AnalyzerClients are resources with clients for the services of security analyzers. Without
// them, such an analyzer rates every action UNKNOWN.
type AnalyzerClients interface {
	AnalyzerClients() security.Clients // nil for none
}

// guardrailService is the service that the model of a ToolShield analyzer is.
const guardrailService = "security_analyzer"

// normalAnalyzer checks an analyzer and returns its normal form, without keys of services; null
// for none.
func normalAnalyzer(raw json.RawMessage) (json.RawMessage, error) {
	raw, err := checkedLLMs(rawjson.Or(raw, null), 0)
	if err != nil {
		return nil, err
	}
	a, err := security.ParseAnalyzer(raw)
	if err != nil || a == nil {
		return null, err
	}
	return json.Marshal(a)
}

// analyzersDeep bounds analyzers in analyzers; security bounds them as well.
const analyzersDeep = 16

// checkedLLMs checks the LLMs that an analyzer names, and takes their secrets
// out.
func checkedLLMs(raw json.RawMessage, depth int) (json.RawMessage, error) {
	fields := object(raw)
	if len(fields) == 0 || depth > analyzersDeep {
		return raw, nil
	}
	if llm, ok := fields["llm"]; ok && string(llm) != "null" {
		l, err := spec.DecodeLLM(llm, schema.Reading{}, "body", keyAnalyzer, "llm")
		if err != nil {
			return nil, err
		}
		if fields["llm"], err = l.JSON(schema.Writing{Mode: schema.Nulled}); err != nil {
			return nil, err
		}
	}
	var inner []json.RawMessage
	if json.Unmarshal(fields["analyzers"], &inner) == nil && len(inner) > 0 {
		for i := range inner {
			var err error
			if inner[i], err = checkedLLMs(inner[i], depth+1); err != nil {
				return nil, err
			}
		}
		list, err := json.Marshal(inner)
		if err != nil {
			return nil, err
		}
		fields["analyzers"] = list
	}
	return json.Marshal(fields)
}

// setAnalyzer checks an analyzer, keeps the keys of its services in the configuration, sealed, and
// returns the form that is shown. The caller holds mu or is alone.
func (c *configuration) setAnalyzer(raw json.RawMessage) (shown json.RawMessage, err error) {
	raw = rawjson.Or(raw, null)
	if shown, err = normalAnalyzer(raw); err != nil {
		return nil, err
	}
	a, err := security.ParseAnalyzer(raw)
	if err != nil || len(security.Keys(a)) == 0 {
		c.rec.SealedAnalyzer = ""
		return shown, err
	}
	if c.rec.SealedAnalyzer, err = c.m.o.Ring.Seal(raw); err != nil {
		return nil, fault.Wrap(err, fault.Unsupported, "seal the keys of the security analyzer")
	}
	return shown, nil
}

// unmaskedAnalyzer returns the analyzer that is shown as shown, with the keys of its services.
func (c *configuration) unmaskedAnalyzer(shown json.RawMessage) (json.RawMessage, error) {
	c.mu.Lock()
	sealed := c.rec.SealedAnalyzer
	c.mu.Unlock()
	if sealed == "" {
		return shown, nil
	}
	raw, err := c.m.o.Ring.Open(sealed)
	if err != nil {
		return nil, fmt.Errorf("open the keys of the security analyzer: %w", err)
	}
	if again, err := normalAnalyzer(raw); err != nil || !bytes.Equal(again, shown) { // it is another one since an undo
		return shown, nil //nolint:nilerr // the one in the events counts
	}
	return raw, nil
}

// connected returns the analyzer in force, with the clients of its services.
func (r *review) connected(s *state.State) (security.Analyzer, error) {
	shown := r.c.analyzer(s)
	r.c.mu.Lock()
	of := connectedFor{string(shown), r.c.rec.SealedAnalyzer}
	r.c.mu.Unlock()
	if r.of == of {
		return r.analyzer, nil
	}
	raw, err := r.c.unmaskedAnalyzer(shown)
	if err != nil {
		return nil, err
	}
	a, err := security.ParseAnalyzer(raw)
	if err != nil {
		return nil, err
	}
	r.c.secrets.TrackKeys(security.Keys(a)...)
	guardrails := 0
	a = security.Connect(a, func(s security.Service) security.Rater {
		if shield, ok := s.Config().(security.ToolShield); ok {
			guardrails++
			return r.guardrail(shield, fmt.Sprintf("%s-%d", guardrailService, guardrails))
		}
		has, ok := r.w.res.(AnalyzerClients)
		if !ok || has.AnalyzerClients() == nil {
			return nil
		}
		return func(ctx context.Context, a *event.ActionEvent) (security.Assessment, error) {
			return has.AnalyzerClients().Rate(ctx, s, r.about(a))
		}
	})
	r.of, r.analyzer = of, a
	return a, nil
}

// about is what a service learns about an action.
func (r *review) about(a *event.ActionEvent) security.Case {
	return security.Case{Conversation: r.c.id, Action: a, History: r.w.State().View, Mask: r.c.secrets.Mask}
}

// guardrail returns the rater of a second model, which is opened at the first action.
func (r *review) guardrail(shield security.ToolShield, service string) security.Rater {
	err := r.openGuardrail(shield, service)
	return func(ctx context.Context, a *event.ActionEvent) (security.Assessment, error) {
		if err != nil {
			return security.Assessment{}, err
		}
		return shield.Rate(ctx, r.about(a), func(ctx context.Context, system, question string) (string, error) {
			return r.w.askService(ctx, service, system, question)
		})
	}
}

func (r *review) openGuardrail(shield security.ToolShield, service string) error {
	raw, err := json.Marshal(shield.LLM)
	if err != nil {
		return err
	}
	l, err := spec.DecodeLLM(raw, schema.Reading{}, keyAnalyzer, "llm")
	if err != nil {
		return err
	}
	return r.w.models.set(service, l)
}
