package runcommand

import (
	"context"
	"fmt"
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
	named   map[string]int // how many of a name there are
}

// begin shows the work of sub-agents from now on, until end is called.
func (a *subAgents) begin(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ctx, a.watched, a.named = ctx, map[event.ConversationID]bool{}, map[string]int{}
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
	name := a.name(child.SubAgent())
	a.wg.Go(func() { v.follow(ctx, child, name, last+1) })
}

// name tells sub-agents of one type apart by numbers, from the second one on.
func (a *subAgents) name(of string) string {
	a.named[of]++
	if n := a.named[of]; n > 1 {
		return fmt.Sprintf("%s %d", of, n)
	}
	return of
}

// follow shows the actions of a sub-agent from an event on.
func (v *View) follow(ctx context.Context, child *session.Conversation, name string, from eventstream.Seq) {
	for rec, err := range child.Stream().Follow(ctx, child.ID(), from) {
		if err != nil {
			return // the run has ended, or its own events say why
		}
		if ev, err := rec.Event(); err == nil {
			v.printer.SubAgent(name, ev)
		}
	}
}
