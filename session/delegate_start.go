package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
)

// Bounds on conversations that agents start: each could start further ones.
const (
	maxGenerations = 3  // below a conversation that no agent has started
	maxStarted     = 30 // by one conversation
)

// StartedBy starts a conversation for the action of an agent. It has the action's id: asked again
// for the same one, it is returned. Where there is no repository on this machine it works in the
// same directory. Limit beyond what agents may start.
func (g Delegation) StartedBy(ctx context.Context, action event.ID, a *event.StartChildConversationAction) (*Conversation, error) {
	id, ok := event.ParseConversationID(string(action))
	if !ok {
		return nil, fault.New(fault.Invalid, "the action "+string(action)+" has an id that no conversation can have")
	}
	child, err := g.c.m.Get(ctx, id)
	if err == nil || !fault.Is(err, fault.NotFound) {
		return child, err
	}
	if g.c.m.o.HoldQueues {
		return nil, fault.New(fault.Unsupported, "this program ends with its agent, and would end the conversation too").Hint("use the tool task")
	}
	if err := g.checkStart(ctx); err != nil {
		return nil, err
	}
	inside, err := g.c.WorkspaceInside()
	if err != nil {
		return nil, err
	}
	o := ChildOptions{ID: id, Task: a.Task, Worktree: a.Isolation != "shared" && !inside}
	if a.Title != nil {
		o.Title = strings.TrimSpace(*a.Title)
	}
	o.Title = TitleFrom(g.c.secrets.Mask(cmp.Or(o.Title, a.Task)))
	if o.MaxCost, err = g.share(ctx); err != nil {
		return nil, err
	}
	child, err = g.Start(ctx, o)
	if err != nil {
		return nil, errors.Join(err, g.give(ctx, -o.MaxCost))
	}
	return child, nil
}

// share takes half of the money that the conversation may still spend, for one that its agent starts:
// else an agent could multiply its limit. 0 is for no limit.
func (g Delegation) share(ctx context.Context) (float64, error) {
	s, err := g.c.State(ctx)
	if err != nil {
		return 0, err
	}
	g.c.mu.Lock()
	limit, given := g.c.rec.MaxCost, g.c.rec.Given
	g.c.mu.Unlock()
	if limit <= 0 {
		return 0, nil
	}
	half := (limit - given - s.Stats.Cost()) / 2
	if half <= 0 {
		return 0, fault.New(fault.Limit, fmt.Sprintf("of the limit of %s nothing is left for another conversation", llm.Dollars(limit)))
	}
	return half, g.give(ctx, half)
}

// give counts money that conversations which the agent has started may spend.
func (g Delegation) give(ctx context.Context, dollars float64) error {
	if dollars == 0 {
		return nil
	}
	if err := g.c.edit(ctx, func(*eventstream.Meta) { g.c.rec.Given += dollars }); err != nil {
		return err
	}
	if w := g.c.active.Load(); w != nil {
		w.models.spent(dollars)
	}
	return nil
}

// checkStart holds the bounds on conversations that agents start.
func (g Delegation) checkStart(ctx context.Context) error {
	g.c.mu.Lock()
	children, at := len(g.c.rec.Children), g.c.meta.Parent
	g.c.mu.Unlock()
	if children >= maxStarted {
		return fault.New(fault.Limit, fmt.Sprintf("this conversation has started %d others, and may start no more", children))
	}
	for n := 0; at != ""; n++ {
		if n == maxGenerations-1 {
			return fault.New(fault.Limit, fmt.Sprintf("this conversation was started by another one, and that again: %d generations are the most", maxGenerations)).
				Hint("do the work here")
		}
		info, err := g.c.m.o.Store.Info(ctx, at)
		if fault.Is(err, fault.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		at = info.Meta.Parent
	}
	return nil
}
