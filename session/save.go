package session

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/rawjson"
	"github.com/deft-dev/deft/state"
)

// save stores the configuration. The caller holds mu.
func (c *configuration) save(ctx context.Context) error {
	meta, err := c.encodeMeta()
	if err != nil {
		return err
	}
	return c.m.o.Store.SetMeta(context.WithoutCancel(ctx), c.id, meta)
}

// saveIfIdle saves the summary after a change outside of a run. Watchers have
// the event of the change. The whole state they get at the end of a run only: a
// client that has started a run meanwhile would take it for that end
// (docs/openhands/sdk-wire.md section 0).
func (w *worker) saveIfIdle() {
	if !w.c.busy() {
		w.saveSummaryLater()
	}
}

// saveSummaryLater saves the summary in the background: one that is missing or
// old is made when it is asked for.
func (w *worker) saveSummaryLater() {
	w.c.m.running.Go(func() { w.saveSummary() })
}

// saveSummary stores the description of the conversation as it is, unless it
// is stored, so that the conversation can be listed without being loaded.
func (w *worker) saveSummary() {
	s := w.State()
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	if seqOf(s) < w.c.meta.SummaryAt || seqOf(s) == w.c.meta.SummaryAt && w.c.meta.Summary != nil {
		return
	}
	err := w.c.summarize(s, time.Now())
	if err == nil {
		err = w.c.save(w.c.m.ctx)
	}
	if err != nil && !fault.Is(err, fault.NotFound) { // it may be deleted
		w.c.m.o.Log.Warn("save the summary of a conversation", "conversation", w.c.id, "err", err)
	}
}

// summarize makes the summary of a state. The caller holds mu or is alone.
func (c *configuration) summarize(s *state.State, updated time.Time) error {
	raw, err := c.view.Describe(c.snapshot(s, updated), true)
	if err != nil {
		return err
	}
	c.meta.Summary, c.meta.SummaryAt = raw, seqOf(s)
	c.rec.PathRules = rawjson.Or(s.Fields[keyPathRules], emptyList)
	return nil
}

// lastState is the state of a conversation that is being deleted; nothing is
// loaded for it.
func (c *Conversation) lastState(ctx context.Context) *state.State {
	if w := c.active.Load(); w != nil {
		return w.Latest()
	}
	last, err := c.m.o.Store.Last(ctx, c.id)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && c.meta.Summary != nil && c.meta.SummaryAt == last {
		if s, err := c.summaryState(); err == nil {
			return s
		}
	}
	return &state.State{}
}

// Describe returns the description of the conversation as it is now, without its runtime.
func (c *Conversation) Describe(ctx context.Context) (json.RawMessage, error) {
	info, err := c.m.o.Store.Info(ctx, c.id)
	if err != nil {
		return nil, err
	}
	s, err := c.stateAt(ctx, info)
	if err != nil {
		return nil, err
	}
	return c.describe(s, info.Updated, false)
}

// stateAt returns the state of a conversation about which the store says info.
// One at rest is read from its summary, if that is new enough.
func (c *Conversation) stateAt(ctx context.Context, info eventstream.Info) (*state.State, error) {
	w := c.active.Load()
	if w == nil {
		s, err := c.stateAtRest(info.Events)
		if s != nil || err != nil {
			return s, err
		}
		if w, err = c.work(ctx); err != nil {
			return nil, err
		}
		w.saveSummary() // so that the next one is new enough
	}
	s := w.State()
	if seqOf(s) < info.Events { // the caller may have seen them already
		s = w.Latest()
	}
	return s, nil
}

// stateAtRest is the state of a conversation that has so many events and is not
// active, as its summary shows it; nil if the summary is older.
func (c *configuration) stateAtRest(events eventstream.Seq) (*state.State, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.meta.Summary != nil && c.meta.SummaryAt == events && events > 0:
		return c.summaryState()
	case events == 0:
		return &state.State{Status: state.Idle}, nil
	}
	return nil, nil
}

// FullState returns the full state as it is now. The events of a conversation at rest are
// not read for it.
func (c *Conversation) FullState(ctx context.Context) (json.RawMessage, error) {
	s, err := c.currentState(ctx)
	if err != nil {
		return nil, err
	}
	release, err := c.m.cpu.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return c.fullState(s)
}

// currentState returns the state with all events that are stored.
func (c *Conversation) currentState(ctx context.Context) (*state.State, error) {
	if c.active.Load() == nil {
		last, err := c.m.o.Store.Last(ctx, c.id)
		if err != nil {
			return nil, err
		}
		if s, err := c.stateAtRest(last); s != nil || err != nil {
			return s, err
		}
	}
	w, err := c.work(ctx)
	if err != nil {
		return nil, err
	}
	if !c.busy() {
		w.saveSummary() // so that the next one need not read the events
	}
	return w.Latest(), nil
}

// Patch renames the conversation and replaces its tags, as far as they are
// given, and notifies the observer.
func (c *Conversation) Patch(ctx context.Context, title *string, tags *map[string]string) error {
	if title != nil || tags != nil {
		err := c.edit(ctx, func(m *eventstream.Meta) {
			if title != nil {
				m.Title, c.untitled = *title, false
			}
			if tags != nil {
				m.Tags = maps.Clone(*tags)
			}
		})
		if w := c.active.Load(); err == nil && tags != nil && w != nil {
			err = w.Update(ctx, "tags", *tags)
		}
		if err != nil {
			return err
		}
	}
	c.publish.changed(ctx)
	return nil
}

// own holds the lock of a conversation until release is called: its worker's, or one for the
// moment.
func (c *Conversation) own(ctx context.Context) (release func(), err error) {
	if c.active.Load() != nil {
		return func() {}, nil
	}
	c.opening.Lock() // a worker that starts must not find the lock taken
	if c.active.Load() != nil {
		c.opening.Unlock()
		return func() {}, nil
	}
	unlock, err := c.m.lock(ctx, c.id)
	if err != nil {
		c.opening.Unlock()
		return nil, err
	}
	return func() {
		unlock()
		c.opening.Unlock()
	}, nil
}

// edit changes the configuration, and the summary with it. Conflict
// if another process works on the conversation.
func (c *Conversation) edit(ctx context.Context, change func(*eventstream.Meta)) error {
	c.use.touch()
	release, err := c.own(ctx)
	if err != nil {
		return err
	}
	defer release()
	last, err := c.m.o.Store.Last(ctx, c.id)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	meta, rec, untitled := c.meta, c.rec, c.untitled
	if err = c.editSummary(last, change); err == nil {
		err = c.save(ctx)
	}
	if err != nil {
		c.meta, c.rec, c.untitled = meta, rec, untitled
	}
	return err
}

// editSummary changes the configuration and makes a new summary of
// the state that the old one shows; an outdated one is dropped. The caller
// holds mu.
func (c *Conversation) editSummary(last eventstream.Seq, change func(*eventstream.Meta)) error {
	var s *state.State
	switch w := c.active.Load(); {
	case c.meta.Summary == nil:
	case w != nil:
		s = w.State()
	case c.meta.SummaryAt == last:
		var err error
		if s, err = c.summaryState(); err != nil {
			return err
		}
	}
	change(&c.meta)
	if s == nil {
		c.meta.Summary, c.meta.SummaryAt = nil, 0
		return nil
	}
	return c.summarize(s, time.Now())
}

// addChild stores that a conversation was started from this one, unless it is known.
func (c *Conversation) addChild(ctx context.Context, id event.ConversationID) error {
	c.mu.Lock()
	known := slices.Contains(c.rec.Children, id)
	c.mu.Unlock()
	if known {
		return nil
	}
	return c.edit(ctx, func(*eventstream.Meta) { c.rec.Children = append(c.rec.Children, id) })
}

// seqOf is the Seq of the last event of a state.
func seqOf(s *state.State) eventstream.Seq { return eventstream.Seq(s.Seq) }
