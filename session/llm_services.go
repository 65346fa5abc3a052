package session

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/session/internal/lockorder"
	"github.com/deft-dev/deft/spec"
)

// models are the models of a conversation by service. A switch holds from the
// next call on.
type models struct {
	open   func(*spec.LLM) (llm.Model, error)
	budget *broker.Budget // of all of them; nil for no limit
	own    bool           // budget is not the host's itself

	mu  lockorder.Mutex[lockorder.Part]
	by  map[string]llm.Model
	ids map[string]string // under which a service is counted
}

// openModels opens the models that an agent names. The models of a guest spend its host's
// budget.
func (w *worker) openModels(a *spec.Agent, maxCost float64) (*models, error) {
	ms := &models{by: map[string]llm.Model{}, ids: map[string]string{}}
	var outer *broker.Budget
	if w.host != nil {
		outer = w.host.models.budget
	}
	switch {
	case maxCost > 0 && outer != nil:
		ms.budget, ms.own = broker.NewBudgetWithin(outer, maxCost), true
	case maxCost > 0:
		ms.budget, ms.own = broker.NewBudget(maxCost), true
	default:
		ms.budget = outer
	}
	ms.open = func(l *spec.LLM) (llm.Model, error) { return w.openModel(l, ms.budget) }
	if a.LLM != nil && a.LLM.Model == NoModel {
		return ms, nil
	}
	if err := ms.set(agent.UsageAgent, a.LLM); err != nil {
		return nil, err
	}
	return ms, ms.setCondensers(a)
}

// setCondensers gives the agent's condensers their models.
func (ms *models) setCondensers(a *spec.Agent) error {
	for i, c := range summarizing(a.Condenser) {
		if c.LLM == nil {
			continue
		}
		if err := ms.set(condenserService(i), c.LLM); err != nil {
			return err
		}
	}
	return nil
}

// openModel opens the model of an LLM.
func (w *worker) openModel(l *spec.LLM, budget *broker.Budget) (llm.Model, error) {
	m, err := w.c.m.o.Models.Open(l, ModelOptions{Retried: w.retried, Budget: budget})
	if err != nil || !l.LogCompletions {
		return m, err
	}
	return loggedModel{m, w, l}, nil
}

// spent counts the cost of earlier processes.
func (ms *models) spent(cost float64) {
	if ms.own {
		ms.budget.Spend(cost)
	}
}

// set gives a service the model of an LLM.
func (ms *models) set(service string, l *spec.LLM) error {
	m, err := ms.open(l)
	if err != nil {
		return fmt.Errorf("open the model of the %s: %w", service, err)
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	ms.by[service], ms.ids[service] = m, l.UsageID
	return nil
}

// get returns the model of a service; one without a model of its own uses the
// agent's.
func (ms *models) get(service string) llm.Model {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m := ms.by[service]; m != nil {
		return m
	}
	if m := ms.by[agent.UsageAgent]; m != nil {
		return m
	}
	return noModel{}
}

// countedAs returns the name under which a service is counted: the usage_id of
// its LLM, as in the reference. A service without an LLM of its own is counted
// under its own name, though the agent's LLM works for it.
func (ms *models) countedAs(service string) string {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return cmp.Or(ms.ids[service], service)
}

// NoModel is the name of the model of a conversation that has none yet, such as
// one that was replayed. It can be read; a run takes the model that its owner's new
// conversations have, or needs [Conversation.SwitchLLM].
const NoModel = "none"

// noModel refuses calls.
type noModel struct{}

func (noModel) Info() llm.Info { return llm.Info{Missing: "a model"} }
func (noModel) Generate(context.Context, llm.Request, func(llm.Delta)) (*llm.Response, error) {
	return nil, llm.NotSetUp("the conversation has no model")
}

// retried records the repetition of a call. The call is repeated even if that fails; the next
// append of the run fails in the same way, and ends it.
func (w *worker) retried(r controller.Retry, why error) {
	present := w.c.active.Load() // w may be starting, or closed
	if present == nil {
		return
	}
	if r.Void && r.UsageID != agent.UsageCondenser {
		present.answers.retry()
	}
	if err := present.RecordRetry(w.c.m.ctx, r, why); err != nil {
		w.c.m.o.Log.Warn("record a retry", "conversation", w.c.id, "err", err)
	}
}

// SwitchLLM gives the agent another LLM from its next call on, and its
// condenser too if that had the same. An LLM without a usage of its own is
// counted as the agent's.
func (c *Conversation) SwitchLLM(ctx context.Context, l *spec.LLM) error {
	return c.withWorker(ctx, func(w *worker) error { return w.switchTo(ctx, l) })
}

func (w *worker) switchTo(ctx context.Context, l *spec.LLM) error {
	w.c.switching.Lock() // the events are in the order of the switches
	defer w.c.switching.Unlock()
	shown, err := w.switchAgent(ctx, l)
	if err != nil {
		return err
	}
	return w.Update(ctx, keyAgent, shown)
}

// switchAgent gives the agent another LLM, stores it, and returns the agent as
// state updates show it.
func (w *worker) switchAgent(ctx context.Context, l *spec.LLM) (json.RawMessage, error) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	a, err := w.c.agent.WithLLM(l)
	if err != nil {
		return nil, err
	}
	if err := w.models.setCondensers(a); err != nil {
		return nil, err
	}
	if err := w.models.set(agent.UsageAgent, l); err != nil {
		return nil, err
	}
	w.streams.Store(l.Stream)
	if err := w.c.setAgent(a); err != nil {
		return nil, err
	}
	if err := w.c.save(ctx); err != nil {
		return nil, err
	}
	return agentUpdate(w.c.agent)
}

// SwitchProfile is SwitchLLM to the LLM of a stored profile, whose use is
// counted under the profile's name; it returns the model's name.
func (c *Conversation) SwitchProfile(ctx context.Context, name string) (string, error) {
	l, err := c.m.o.Settings.LLM(ctx, c.Owner(), name)
	if err != nil {
		return "", err
	}
	return l.Model, c.SwitchLLM(ctx, l.Clone("profile:"+name))
}

// takeModel gives a conversation whose model is not set up, such as one that was
// replayed, the model that its owner's new conversations have. Where that is not set up
// either nothing changes: the first call says so.
func (w *worker) takeModel(ctx context.Context) error {
	if w.models.get(agent.UsageAgent).Info().Missing == "" {
		return nil
	}
	l, err := w.c.m.o.Settings.DefaultLLM(ctx, w.c.Owner())
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	m, err := w.models.open(l)
	if err != nil || m.Info().Missing != "" {
		return err
	}
	return w.switchTo(ctx, l)
}
