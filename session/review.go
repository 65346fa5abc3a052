package session

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/rawjson"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/state"
	"github.com/deft-dev/deft/tool"
)

// review judges the actions of a conversation by the policy and the analyser
// that hold at the time.
type review struct {
	c *Conversation
	w *worker
	// The analyzer as it was connected for a document.
	of       connectedFor
	analyzer security.Analyzer
}

// connectedFor are the documents from which an analyzer was made.
type connectedFor struct{ shown, sealed string }

// judge implements the Review of a controller.
func (r *review) judge(ctx context.Context, batch []*event.ActionEvent) ([]event.Event, bool) {
	s := r.w.State()
	policy, err := security.ParsePolicy(r.c.policy(s))
	if err != nil { // it was checked when it was set: refuse by default
		r.c.m.o.Log.Error("read the confirmation policy", "conversation", r.c.id, "err", err)
		policy = security.AlwaysConfirm{}
	}
	analyzer, err := r.connected(s)
	if err != nil {
		r.c.m.o.Log.Error("read the security analyser", "conversation", r.c.id, "err", err)
		return nil, true
	}
	ev, wait := security.Review(ctx, analyzer, policy, batch)
	if wait {
		if asked := r.w.uncovered(batch); len(asked) < len(batch) {
			_, wait = security.Review(ctx, analyzer, policy, asked)
		}
	}
	wait = wait || slices.ContainsFunc(batch, func(a *event.ActionEvent) bool { _, own := a.Action.(tool.Asking); return own })
	if ev == nil {
		return nil, wait
	}
	return []event.Event{ev}, wait
}

func (c *configuration) policy(s *state.State) json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return rawjson.Or(s.Fields[keyPolicy], c.rec.Policy)
}

func (c *configuration) analyzer(s *state.State) json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return rawjson.Or(rawjson.Or(s.Fields[keyAnalyzer], c.rec.Analyzer), null)
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

// object returns the fields of a JSON object; none for another value, which its parser
// refuses.
func object(raw json.RawMessage) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil
	}
	return fields
}
