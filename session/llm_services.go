package session

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/spec"
)

// models are the models of a conversation by service. A switch holds from the
// next call on.
type models struct {
	open   func(*spec.LLM) (llm.Model, error)
	budget *broker.Budget // of all of them; nil for no limit
	own    bool           // budget is not that of the host itself

	mu  sync.Mutex
	by  map[string]llm.Model
	ids map[string]string // under which a service is counted
}

// openModels opens the models that an agent names. Those of a guest spend its host's budget.
func (c *Conversation) openModels(a *spec.Agent, maxCost float64, host *worker) (*models, error) {
	ms := &models{by: map[string]llm.Model{}, ids: map[string]string{}}
	var outer *broker.Budget
	if host != nil {
		outer = host.models.budget
	}
	switch {
	case maxCost > 0 && outer != nil:
		ms.budget, ms.own = broker.NewBudgetWithin(outer, maxCost), true
	case maxCost > 0:
		ms.budget, ms.own = broker.NewBudget(maxCost), true
	default:
		ms.budget = outer
	}
	ms.open = func(l *spec.LLM) (llm.Model, error) { return c.openModel(l, ms.budget) }
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
func (c *Conversation) openModel(l *spec.LLM, budget *broker.Budget) (llm.Model, error) {
	m, err := c.m.o.Models.Open(l, ModelOptions{Retried: c.retried, Budget: budget})
	if err != nil || !l.LogCompletions {
		return m, err
	}
	return loggedModel{m, c, l}, nil
}

// spent counts what was spent before.
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

// retried records that a call is made again. What was done to the call stands
// if that fails; the next append of the run fails in the same way, and ends it.
func (c *Conversation) retried(r controller.Retry, why error) {
	w := c.active.Load()
	if w == nil {
		return
	}
	if r.Void && r.UsageID != agent.UsageCondenser {
		w.answers.retry()
	}
	if err := w.RecordRetry(c.m.ctx, r, why); err != nil {
		c.m.o.Log.Warn("record a retry", "conversation", c.id, "err", err)
	}
}
