package session

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/memory"
	"github.com/deft-dev/deft/session/internal/lockorder"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/state"
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
	if a.Kind == spec.ACPKind { // it has models of its own
		ms.by[agent.UsageAgent], ms.ids[agent.UsageAgent] = othersModel{}, spec.ACPModel
		return ms, nil
	}
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
	for i, c := range a.Condenser.Asking() {
		if c.LLM == nil {
			continue
		}
		if err := ms.set(memory.ServiceOf(i), c.LLM); err != nil {
			return err
		}
	}
	return nil
}

// openModel opens the model of an LLM.
func (w *worker) openModel(l *spec.LLM, budget *broker.Budget) (llm.Model, error) {
	m, err := w.c.m.o.Models.Open(l, ModelOptions{Retried: w.retried, Budget: budget, NoImages: w.takesNoImages, OnNoImages: w.noteNoImages})
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

// othersModel is the model of an agent that is another program: only that can call it.
type othersModel struct{}

func (othersModel) Info() llm.Info { return llm.Info{Name: spec.ACPModel} }
func (othersModel) Generate(context.Context, llm.Request, func(llm.Delta)) (*llm.Response, error) {
	return nil, fault.New(fault.Unsupported, "the agent is another program, and Deft has no model of its own in this conversation")
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

// takesNoImages reports whether a model was found to take no images, in this process or an earlier
// one.
func (w *worker) takesNoImages(model string) bool {
	present := w.c.active.Load() // w may be starting, or closed
	return present != nil && slices.Contains(names(present.State(), keyNoImages), model)
}

// noteNoImages records that a model was found to take no images.
func (w *worker) noteNoImages(model string) {
	present := w.c.active.Load()
	if present == nil || w.takesNoImages(model) {
		return
	}
	if err := present.Update(w.c.m.ctx, keyNoImages, append(names(present.State(), keyNoImages), model)); err != nil {
		w.c.m.o.Log.Warn("record that a model takes no images", "conversation", w.c.id, "err", err)
	}
}

// SwitchLLM gives the agent another LLM from its next call on, and its
// condenser too if that had the same. An LLM without a usage of its own is
// counted as the agent's.
func (c *Conversation) SwitchLLM(ctx context.Context, l *spec.LLM) error {
	return c.withWorker(ctx, func(w *worker) error { return w.switchTo(ctx, l) })
}

func (w *worker) switchTo(ctx context.Context, l *spec.LLM) error {
	if w.c.Agent().Kind == spec.ACPKind {
		return fault.New(fault.Invalid, "the agent is another program, which chooses its own model").Hint("use switch_acp_model")
	}
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

// programAgent is an agent that is another program, which chooses its model itself.
type programAgent interface {
	SetModel(ctx context.Context, model string) error
}

// SwitchProgramModel has an agent that is another program use another of its models. Invalid for
// another agent, and for a model that the program does not have.
func (c *Conversation) SwitchProgramModel(ctx context.Context, model string) error {
	return c.withWorker(ctx, func(w *worker) error {
		program, ok := w.res.Agent().(programAgent)
		if !ok {
			return fault.New(fault.Invalid, "the agent of the conversation is not an ACP agent")
		}
		c.switching.Lock()
		defer c.switching.Unlock()
		if err := program.SetModel(ctx, model); err != nil {
			return err
		}
		c.mu.Lock()
		a, err := c.agent.With("acp_model", model)
		if err == nil {
			err = c.setAgent(a)
		}
		if err == nil {
			err = c.save(ctx)
		}
		var shown json.RawMessage
		if err == nil {
			shown, err = agentUpdate(a)
		}
		c.mu.Unlock()
		if err != nil {
			return err
		}
		return w.Update(ctx, keyAgent, shown)
	})
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
// replayed, or whose model has failed, the model of its owner as it is now. Where that is not
// set up either nothing changes: the first call says so.
func (w *worker) takeModel(ctx context.Context) error {
	if w.models.get(agent.UsageAgent).Info().Missing == "" {
		if failed, err := w.modelFailed(ctx); !failed || err != nil {
			return err
		}
	}
	l, err := w.ownersModel(ctx)
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
	w.c.mu.Lock()
	present := w.c.agent
	w.c.mu.Unlock()
	next, err := present.WithLLM(l)
	if err != nil {
		return err
	}
	if same, err := sameDocument(present, next); same || err != nil {
		return err
	}
	return w.switchTo(ctx, l)
}

// modelFailed reports whether the last run has ended because of a model that the conversation has
// from its owner's settings.
func (w *worker) modelFailed(ctx context.Context) (bool, error) {
	w.c.mu.Lock()
	owners := w.c.rec.OwnersModel
	w.c.mu.Unlock()
	if !owners || w.Latest().Status != state.Errored {
		return false, nil
	}
	rec, err := latest(ctx, w.c, (&event.ConversationErrorEvent{}).Kind())
	if err != nil || rec.Seq == 0 {
		return false, err
	}
	ev, err := rec.Event()
	e, ok := ev.(*event.ConversationErrorEvent)
	return ok && strings.HasPrefix(e.Code, "LLM"), err
}

// ownersModel returns the model of the conversation's profile, or else of its owner's settings.
func (w *worker) ownersModel(ctx context.Context) (*spec.LLM, error) {
	w.c.mu.Lock()
	present := w.c.agent.LLM
	w.c.mu.Unlock()
	if present != nil {
		if name, ok := strings.CutPrefix(present.UsageID, "profile:"); ok {
			l, err := w.c.m.o.Settings.LLM(ctx, w.c.Owner(), name)
			if !fault.Is(err, fault.NotFound) {
				if err != nil {
					return nil, err
				}
				return l.Clone(present.UsageID), nil
			}
		}
	}
	return w.c.m.o.Settings.DefaultLLM(ctx, w.c.Owner())
}
