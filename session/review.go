package session

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/state"
)

// review judges the actions of a conversation by the policy and the analyser
// that hold at the time.
type review struct {
	c *Conversation
	w *worker
}

// judge implements the Review of a controller.
func (r *review) judge(ctx context.Context, batch []*event.ActionEvent) ([]event.Event, bool) {
	s := r.w.State()
	policy, err := security.ParsePolicy(r.c.policy(s))
	if err != nil { // it was checked when it was set: refuse by default
		r.c.m.o.Log.Error("read the confirmation policy", "conversation", r.c.id, "err", err)
		policy = security.AlwaysConfirm{}
	}
	analyzer, err := security.ParseAnalyzer(r.c.analyzer(s))
	if err != nil {
		r.c.m.o.Log.Error("read the security analyser", "conversation", r.c.id, "err", err)
		return nil, true
	}
	ev, wait := security.Review(ctx, analyzer, policy, batch)
	if ev == nil {
		return nil, wait
	}
	return []event.Event{ev}, wait
}

func (c *configuration) policy(s *state.State) json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return field(s, keyPolicy, c.rec.Policy)
}

func (c *configuration) analyzer(s *state.State) json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return orDefault(field(s, keyAnalyzer, c.rec.Analyzer), null)
}

// clearRisk removes the model's own rating from an action where no analyzer has
// asked for it (docs/openhands/sdk-wire-1.58.md section A).
func (c *configuration) clearRisk(s *state.State, ev event.Event) {
	if a, ok := ev.(*event.ActionEvent); ok && bytes.Equal(c.analyzer(s), null) {
		a.SecurityRisk = event.RiskUnknown
	}
}

// normalPolicy checks a policy and returns its normal form.
func normalPolicy(raw json.RawMessage) (json.RawMessage, error) {
	p, err := security.ParsePolicy(raw)
	if err != nil {
		return nil, err
	}
	return json.Marshal(p)
}

// normalAnalyzer checks an analyser and returns its normal form, without keys of services; null
// for none.
func normalAnalyzer(raw json.RawMessage) (json.RawMessage, error) {
	raw, err := checkedLLMs(orDefault(raw, null), 0)
	if err != nil {
		return nil, err
	}
	a, err := security.ParseAnalyzer(raw)
	if err != nil || a == nil {
		return null, err
	}
	return json.Marshal(a)
}

// analyzersDeep bounds analysers in analysers; security bounds them as well.
const analyzersDeep = 16

// checkedLLMs checks the LLMs that an analyser names, and takes their secrets
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

// object returns the fields of a JSON object; none for another value, which its parser
// refuses.
func object(raw json.RawMessage) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil
	}
	return fields
}
