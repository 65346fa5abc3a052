package runcommand

import (
	"context"
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/session"
)

// subAgents shows the work of sub-agents, a line for each action. The zero value shows nothing.
type subAgents struct {
	mu      sync.Mutex
	ctx     context.Context // of the run; nil before it and after it
	wg      sync.WaitGroup
	watched map[event.ConversationID]bool
}

// begin shows the work of sub-agents from now on, until end is called.
func (a *subAgents) begin(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ctx, a.watched = ctx, map[event.ConversationID]bool{}
	return func() {
		a.mu.Lock()
		a.ctx = nil
		a.mu.Unlock()
		cancel()
		a.wg.Wait()
	}
}

// Assigned shows the work of a sub-agent that is given a task.
func (v *View) Assigned(child *session.Conversation) {
	a := &v.agents
	a.mu.Lock()
	defer a.mu.Unlock()
	if v.printer == nil || a.ctx == nil || a.watched[child.ID()] {
		return
	}
	ctx := a.ctx
	last, err := child.Stream().Last(ctx, child.ID())
	if err != nil {
		return // its result tells enough
	}
	a.watched[child.ID()] = true
	a.wg.Go(func() { v.follow(ctx, child, last+1) })
}

// follow shows the actions of a sub-agent from an event on.
func (v *View) follow(ctx context.Context, child *session.Conversation, from eventstream.Seq) {
	for rec, err := range child.Stream().Follow(ctx, child.ID(), from) {
		if err != nil {
			return // the run has ended, or its own events say why
		}
		if ev, err := rec.Event(); err == nil {
			v.printer.SubAgent(child.SubAgent(), ev)
		}
	}
}
