package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/session/internal/lockorder"
	"github.com/deft-dev/deft/state"
)

// A sub-agent's conversation is a guest of its parent's worker: it works with the parent's
// resources (the sandbox, the MCP servers) and has none of its own. So a sandbox has one
// owner, the holder of the parent's lock. The parent's worker starts before a guest's and ends
// after it.

// guests are the guests of a worker.
type guests struct {
	mu     lockorder.Mutex[lockorder.Part]
	in     map[*Conversation]struct{}
	closed bool
}

// errHostClosed is returned to a guest whose host is being closed; a new one can be opened.
var errHostClosed = fault.New(fault.Conflict, "the conversation that gave the task is being closed")

func (g *guests) add(c *Conversation) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return errHostClosed
	}
	if g.in == nil {
		g.in = map[*Conversation]struct{}{}
	}
	g.in[c] = struct{}{}
	return nil
}

func (g *guests) remove(c *Conversation) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.in, c)
}

func (g *guests) all() []*Conversation {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make([]*Conversation, 0, len(g.in))
	for c := range g.in {
		out = append(out, c)
	}
	return out
}

// busy reports whether a run of a guest is at work.
func (g *guests) busy() bool {
	for _, c := range g.all() {
		if c.busy() {
			return true
		}
	}
	return false
}

// refuse says whether add fails.
func (g *guests) refuse(closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = closed
}

// parentID returns the conversation whose guest this one is; "" for an ordinary one.
func (c *configuration) parentID() event.ConversationID {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rec.SubAgent == "" {
		return ""
	}
	return c.meta.Parent
}

// hostWorker starts the worker whose guest the conversation is. Nil for an ordinary one,
// and for a sub-agent whose parent was deleted, which works with resources of its own.
func (c *Conversation) hostWorker(ctx context.Context) (*worker, error) {
	id := c.parentID()
	if id == "" {
		return nil, nil
	}
	p, err := c.m.Get(ctx, id)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err == nil {
		var w *worker
		if w, err = p.work(ctx); err == nil {
			return w, nil
		}
	}
	if errors.Is(err, ErrArchived) || errors.Is(err, ErrLocked) {
		return nil, err
	}
	return nil, fmt.Errorf("open the conversation that gave the task: %w", err)
}

// stopRuns interrupts the runs of a conversation and its guests, and returns when none is at
// work.
func stopRuns(ctx context.Context, c *Conversation) error {
	all := []*Conversation{c}
	if w := c.active.Load(); w != nil {
		all = append(all, w.guests.all()...)
	}
	var errs []error
	for _, one := range all {
		if !one.busy() {
			continue
		}
		err := one.Interrupt(ctx)
		if err == nil {
			err = one.Wait(ctx)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// closeController ends the controller, and before it the workers of guests.
// [ErrRunning], and nothing changes, while a run is at work.
func (w *worker) closeController(ctx context.Context) error {
	if w.Busy() || w.guests.busy() {
		return ErrRunning
	}
	w.guests.refuse(true)
	for _, g := range w.guests.all() {
		if err := g.close(ctx, true); err != nil {
			w.guests.refuse(false)
			return err
		}
	}
	err := w.Controller.Close()
	if err != nil {
		w.guests.refuse(false)
	}
	return err
}

// leave ends the worker's stay as a guest.
func (w *worker) leave() {
	if w.host != nil {
		w.host.guests.remove(w.c)
	}
}

// countEarlier counts the spending of earlier processes: for the conversation's own limit,
// and for its host's as far as the host does not know it.
func (w *worker) countEarlier(ctx context.Context) error {
	s := w.State()
	w.c.mu.Lock()
	given := w.c.rec.Given
	w.c.mu.Unlock()
	w.models.spent(s.Stats.Cost() + given)
	if w.host == nil {
		return nil
	}
	known := w.host.State().Stats.UsageToMetrics[taskUsage(w.c.id)].AccumulatedCost
	if b := w.host.models.budget; b != nil {
		b.Spend(max(0, s.Stats.Cost()-known))
	}
	return w.countInHost(ctx)
}

// taskUsage is the name under which a parent counts a sub-agent's usage.
func taskUsage(id event.ConversationID) string { return state.TaskPrefix + string(id) }

// countInHost records a guest's usage in its parent.
func (w *worker) countInHost(ctx context.Context) error {
	stats := w.Latest().Stats
	if w.host == nil || len(stats.UsageToMetrics) == 0 {
		return nil
	}
	if err := w.host.CountAs(ctx, taskUsage(w.c.id), stats.Sum(agent.UsageAgent)); err != nil {
		return fmt.Errorf("record what a sub-agent has used: %w", err)
	}
	return nil
}

// hostBusy reports whether the parent waits for this sub-agent, and has a permit to run.
func (w *worker) hostBusy() bool { return w.host != nil && w.host.Busy() }
