package conversation

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/state"
)

// save stores what the conversation is made with. The caller holds mu.
func (c *Conversation) save(ctx context.Context) error {
	s := stored{Config: c.cfg, Snapshot: c.snapshot, Seq: c.snapSeq, PathRules: c.pathRules}
	meta, err := s.encode(c.meta)
	if err != nil {
		return err
	}
	return c.m.o.Stream.SetMeta(context.WithoutCancel(ctx), c.id, meta)
}

// settle keeps the description of the state after a change outside of a run.
// Watchers have the event of the change. The state as a whole they get at the
// end of a run only: a client that has begun one meanwhile would take it for
// that end (docs/openhands/sdk-wire.md section 0).
func (c *Conversation) settle(w *work) {
	if !c.run.busy() {
		c.keep(w)
	}
}

// keep stores the description of the conversation as it is, so that it can be
// listed without being loaded. It does so in the background: a description
// that is missing or old is made anew when it is asked for.
func (c *Conversation) keep(w *work) {
	c.m.running.Go(func() { c.note(w) })
}

// note is the storing part of keep, where there is anything new.
func (c *Conversation) note(w *work) {
	s := w.State()
	c.mu.Lock()
	defer c.mu.Unlock()
	if seqOf(s) < c.snapSeq || seqOf(s) == c.snapSeq && c.pathRules != nil {
		return
	}
	raw, err := c.describe(s, c.created, time.Now())
	if err == nil {
		c.snap(raw, s)
		err = c.save(c.m.ctx)
	}
	if err != nil && !fault.Is(err, fault.NotFound) { // it may be deleted
		c.m.o.Log.Warn("keep the description of a conversation", "conversation", c.id, "err", err)
	}
}

// snap takes over the description of a state. The caller holds mu.
func (c *Conversation) snap(raw json.RawMessage, s *state.State) {
	c.snapshot, c.snapSeq, c.pathRules = raw, seqOf(s), field(s, keyPathRules, emptyList)
}

// changed tells who wants to know of a change.
func (c *Conversation) changed(ctx context.Context) {
	if c.m.o.Changed == nil {
		return
	}
	raw, err := c.Describe(context.WithoutCancel(ctx))
	if err != nil {
		c.m.o.Log.Warn("describe a conversation", "conversation", c.id, "err", err)
		return
	}
	c.m.o.Changed(c.id, raw)
}

// lastState is the state of a conversation that is deleted; nothing is loaded
// for it.
func (c *Conversation) lastState(ctx context.Context) *state.State {
	if w := c.open.Load(); w != nil {
		return w.Latest()
	}
	last, err := c.m.o.Stream.Last(ctx, c.id)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && c.snapshot != nil && c.snapSeq == last {
		if s, err := c.snapshotState(); err == nil {
			return s
		}
	}
	return &state.State{}
}

// Describe returns the conversation's description as it is now.
func (c *Conversation) Describe(ctx context.Context) (json.RawMessage, error) {
	info, err := c.m.o.Stream.Info(ctx, c.id)
	if err != nil {
		return nil, err
	}
	return c.describeAs(ctx, info)
}

// describeAs is Describe for who has the stream's information already.
func (c *Conversation) describeAs(ctx context.Context, info eventstream.Info) (json.RawMessage, error) {
	w := c.open.Load()
	if w == nil {
		c.mu.Lock()
		raw, seq := c.snapshot, c.snapSeq
		c.mu.Unlock()
		if raw != nil && seq == info.Events {
			return raw, nil
		}
		if info.Events == 0 {
			return c.describeState(&state.State{Status: state.Idle}, info.Updated)
		}
		var err error
		if w, err = c.begin(ctx); err != nil {
			return nil, err
		}
		c.note(w) // so that the next one need not
	}
	s := w.State()
	if seqOf(s) < info.Events { // who asks may have seen them already
		s = w.Latest()
	}
	return c.describeState(s, info.Updated)
}

func (c *Conversation) describeState(s *state.State, updated time.Time) (json.RawMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.describe(s, c.created, updated)
}

// FullState returns the full_state update as it is now. A conversation at
// rest is not read for it.
func (c *Conversation) FullState(ctx context.Context) (json.RawMessage, error) {
	if c.open.Load() == nil {
		if raw, err := c.keptState(ctx); raw != nil || err != nil {
			return raw, err
		}
	}
	w, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	if !c.run.busy() {
		c.note(w) // so that the next one need not
	}
	s := w.Latest()
	leave, err := c.m.turns.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fullState(s)
}

// keptState makes the full_state update of what was kept when the
// conversation was last at rest; nil if that has changed since.
func (c *Conversation) keptState(ctx context.Context) (json.RawMessage, error) {
	leave, err := c.m.turns.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	last, err := c.m.o.Stream.Last(ctx, c.id)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.snapshot == nil || c.snapSeq != last || c.pathRules == nil {
		return nil, nil
	}
	s := &state.State{Status: state.Idle} // of a new one
	if c.snapSeq > 0 {
		if s, err = c.snapshotState(); err != nil {
			return nil, err
		}
	}
	return c.fullState(s)
}

// snapshotState is the state that the snapshot shows. The caller holds mu.
func (c *Conversation) snapshotState() (*state.State, error) {
	var d description
	if err := json.Unmarshal(c.snapshot, &d); err != nil {
		return nil, fault.Wrap(err, fault.Corrupt, "read the description of conversation "+string(c.id))
	}
	s := &state.State{Seq: int64(c.snapSeq), Status: d.Status, Fields: map[string]json.RawMessage{
		keyPolicy: d.Policy, keyAnalyzer: d.Analyzer, keyActivated: d.ActivatedSkills, keyInvoked: d.InvokedSkills,
		"agent_state": d.AgentState,
	}}
	if c.pathRules != nil {
		s.Fields[keyPathRules] = c.pathRules
	}
	if d.LastUserMessage != nil {
		s.LastUserMessage = *d.LastUserMessage
	}
	if d.Leaf != nil {
		s.Head = *d.Leaf
	}
	if err := json.Unmarshal(d.Stats, &s.Stats); err != nil {
		return nil, fault.Wrap(err, fault.Corrupt, "read the metrics of conversation "+string(c.id))
	}
	return s, nil
}

// SetTitle renames the conversation.
func (c *Conversation) SetTitle(ctx context.Context, title string) error {
	return c.edit(ctx, func(m *eventstream.Meta) { m.Title = title })
}

// SetTags replaces the conversation's tags.
func (c *Conversation) SetTags(ctx context.Context, tags map[string]string) error {
	err := c.edit(ctx, func(m *eventstream.Meta) { m.Tags = maps.Clone(tags) })
	if w := c.open.Load(); err == nil && w != nil {
		err = w.Update(ctx, "tags", tags)
	}
	return err
}

// Patch renames the conversation and replaces its tags, as far as they are
// given, and tells who wants to know.
func (c *Conversation) Patch(ctx context.Context, title *string, tags *map[string]string) error {
	if title != nil {
		if err := c.SetTitle(ctx, *title); err != nil {
			return err
		}
	}
	if tags != nil {
		if err := c.SetTags(ctx, *tags); err != nil {
			return err
		}
	}
	c.changed(ctx)
	return nil
}

// own holds the lease of a conversation until release is called: that of its
// work, or one for the moment.
func (c *Conversation) own() (release func(), err error) {
	if c.open.Load() != nil {
		return func() {}, nil
	}
	c.opening.Lock() // who opens it must not find the lease taken
	if c.open.Load() != nil {
		c.opening.Unlock()
		return func() {}, nil
	}
	giveBack, err := c.m.lease(c.id)
	if err != nil {
		c.opening.Unlock()
		return nil, err
	}
	return func() {
		giveBack()
		c.opening.Unlock()
	}, nil
}

// edit changes what lies beside the events. Conflict if another server works on
// the conversation.
func (c *Conversation) edit(ctx context.Context, change func(*eventstream.Meta)) error {
	c.touch()
	release, err := c.own()
	if err != nil {
		return err
	}
	defer release()
	last, err := c.m.o.Stream.Last(ctx, c.id)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.meta
	change(&c.meta)
	if c.snapshot != nil { // it holds the title and the tags
		var s *state.State
		if w := c.open.Load(); w != nil {
			s = w.State()
		} else if c.snapSeq != last {
			c.snapshot, c.snapSeq, s = nil, 0, nil
		} else if s, err = c.snapshotState(); err != nil {
			c.meta = before
			return err
		}
		if s != nil {
			raw, err := c.describe(s, c.created, time.Now())
			if err != nil {
				c.meta = before
				return err
			}
			known := c.pathRules != nil || c.open.Load() != nil
			if c.snap(raw, s); !known {
				c.pathRules = nil // of an older store
			}
		}
	}
	if err := c.save(ctx); err != nil {
		c.meta = before
		return err
	}
	return nil
}

// addChild notes a conversation that was started from this one.
func (c *Conversation) addChild(ctx context.Context, id event.ConversationID) error {
	return c.edit(ctx, func(*eventstream.Meta) { c.cfg.SubConversations = append(c.cfg.SubConversations, id) })
}
