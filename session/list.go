package session

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/realpath"
	"github.com/deft-dev/deft/state"
)

// Page is one page of descriptions, and whose they are. NextID is empty on the last one.
type Page struct {
	Items  []json.RawMessage
	IDs    []event.ConversationID
	NextID string
}

// List returns descriptions of conversations. It loads no conversation at rest.
func (m *Manager) List(ctx context.Context, q eventstream.ListQuery) (Page, error) {
	page, err := m.o.Store.List(ctx, q)
	if err != nil {
		return Page{}, err
	}
	out := Page{NextID: page.NextID, Items: make([]json.RawMessage, 0, len(page.Infos))}
	for _, info := range page.Infos {
		raw, err := m.summary(ctx, info, true)
		if err != nil {
			// One that cannot be read must not hide the others.
			if ctx.Err() != nil {
				return Page{}, err
			}
			m.o.Log.Warn("describe a conversation", "conversation", info.ID, "err", err)
			continue
		}
		out.Items, out.IDs = append(out.Items, raw), append(out.IDs, info.ID)
	}
	return out, nil
}

// Summary returns the description of one conversation, with its runtime.
// NotFound if there is none.
func (m *Manager) Summary(ctx context.Context, id event.ConversationID) (json.RawMessage, error) {
	info, err := m.o.Store.Info(ctx, id)
	if err != nil {
		return nil, err
	}
	raw, err := m.summary(ctx, info, false)
	if err != nil {
		return nil, err
	}
	m.republishIfPolled(id)
	return raw, nil
}

// summary describes a conversation: from its live state, from the stored
// summary, or by loading it. One that another process works on is described by
// its last summary, with the present status.
func (m *Manager) summary(ctx context.Context, info eventstream.Info, listed bool) (json.RawMessage, error) {
	c := m.peek(info.ID)
	atRest := c == nil || c.active.Load() == nil
	if atRest && info.Meta.Summary != nil && info.Meta.SummaryAt == info.Events {
		return info.Meta.Summary, nil
	}
	if c == nil {
		var err error
		if c, err = m.Get(ctx, info.ID); err != nil {
			return nil, err
		}
	}
	s, err := c.stateAt(ctx, info)
	switch {
	case err == nil && listed:
		return c.describeListed(s, info.Updated)
	case err == nil:
		return c.describe(s, info.Updated, true)
	case !fault.Is(err, fault.Conflict) || info.Meta.Summary == nil:
		return nil, err
	}
	raw, unreadable := m.o.View.WithStatus(info.Meta.Summary, state.Status(info.Status))
	if unreadable != nil {
		return nil, err
	}
	return raw, nil
}

// Exists reports whether there is a conversation.
func (m *Manager) Exists(ctx context.Context, id event.ConversationID) (bool, error) {
	_, err := m.o.Store.Info(ctx, id)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// WorkingIn returns the conversations that work in a directory, around it or below it
// now, in any process: they run or wait for a confirmation, and are locked. A running one
// without lock was interrupted.
func (m *Manager) WorkingIn(ctx context.Context, dir string) ([]eventstream.Info, error) {
	var found []eventstream.Info
	for _, status := range []state.Status{state.Running, state.Confirming} {
		q := eventstream.ListQuery{Status: string(status), Damaged: func(event.ConversationID, error) {}} // is no reason not to work here
		for {
			page, err := m.o.Store.List(ctx, q)
			if err != nil {
				return nil, fmt.Errorf("find who works in %s: %w", dir, err)
			}
			for _, info := range page.Infos {
				other := info.Meta.WorkingDir
				if other == "" || !realpath.Inside(dir, other) && !realpath.Inside(other, dir) {
					continue
				}
				held, err := m.o.Lock.Held(info.ID)
				if err != nil {
					return nil, err
				}
				if held {
					found = append(found, info)
				}
			}
			if q.PageID = page.NextID; q.PageID == "" {
				break
			}
		}
	}
	return found, nil
}

// Untitled reports whether the title of a conversation that is open here is its first message
// for the time being.
func (m *Manager) Untitled(id event.ConversationID) bool {
	c := m.peek(id)
	return c != nil && c.Untitled()
}

// Placement is [Conversation.Placement] without loading or using the conversation.
// NotFound if there is none.
func (m *Manager) Placement(ctx context.Context, id event.ConversationID) (Placement, error) {
	if c := m.peek(id); c != nil {
		return c.Placement(), nil
	}
	info, err := m.o.Store.Info(ctx, id)
	if err != nil {
		return Placement{}, err
	}
	var p Placement
	if len(info.Meta.Extra) == 0 { // imported
		return p, nil
	}
	err = json.Unmarshal(info.Meta.Extra, &p)
	return p, fault.Wrap(err, fault.Corrupt, "read the configuration of conversation "+string(id))
}
