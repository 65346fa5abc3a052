package conversation

import (
	"context"
	"encoding/json"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// Page is one page of descriptions. NextID is empty on the last one.
type Page struct {
	Items  []json.RawMessage
	NextID string
}

// List returns descriptions of conversations, without loading those that are
// at rest.
func (m *Manager) List(ctx context.Context, q eventstream.ListQuery) (Page, error) {
	page, err := m.o.Stream.List(ctx, q)
	if err != nil {
		return Page{}, err
	}
	out := Page{NextID: page.NextID, Items: make([]json.RawMessage, 0, len(page.Infos))}
	for _, info := range page.Infos {
		raw, err := m.summary(ctx, info)
		if err != nil {
			// One that cannot be read must not hide the others.
			if ctx.Err() != nil {
				return Page{}, err
			}
			m.o.Log.Warn("describe a conversation", "conversation", info.ID, "err", err)
			continue
		}
		out.Items = append(out.Items, raw)
	}
	return out, nil
}

// Count returns how many conversations have a status; any for "".
func (m *Manager) Count(ctx context.Context, status string) (int, error) {
	n := 0
	q := eventstream.ListQuery{Status: status, Limit: 1000}
	for {
		page, err := m.o.Stream.List(ctx, q)
		if err != nil {
			return 0, err
		}
		n += len(page.Infos)
		if q.PageID = page.NextID; q.PageID == "" {
			return n, nil
		}
	}
}

// Summary returns the description of one conversation. NotFound if there is
// none.
func (m *Manager) Summary(ctx context.Context, id event.ConversationID) (json.RawMessage, error) {
	info, err := m.o.Stream.Info(ctx, id)
	if err != nil {
		return nil, err
	}
	raw, err := m.summary(ctx, info)
	if err != nil {
		return nil, err
	}
	m.nudge(id)
	return raw, nil
}

// summary describes a conversation; one that another server works on as it was
// kept last, with the status that it has now.
func (m *Manager) summary(ctx context.Context, info eventstream.Info) (json.RawMessage, error) {
	raw, err := m.describe(ctx, info)
	if !fault.Is(err, fault.Conflict) {
		return raw, err
	}
	s, serr := decodeStored(info.ID, info.Meta)
	if serr != nil || s.Snapshot == nil {
		return nil, err
	}
	var d map[string]json.RawMessage
	if json.Unmarshal(withRuntime(s.Snapshot), &d) != nil {
		return nil, err
	}
	if info.Status != "" {
		if d["execution_status"], serr = json.Marshal(info.Status); serr != nil {
			return nil, err
		}
	}
	return json.Marshal(d)
}

// describe describes a conversation: from its live state, or from what was
// kept when it was last at rest, or by loading it.
func (m *Manager) describe(ctx context.Context, info eventstream.Info) (json.RawMessage, error) {
	if c := m.peek(info.ID); c != nil {
		raw, err := c.describeAs(ctx, info)
		return withRuntime(raw), err
	}
	if seq, snapshot, ok := kept(info.Meta.Extra); ok && seq == info.Events {
		return withRuntime(snapshot), nil
	}
	s, err := decodeStored(info.ID, info.Meta)
	if err != nil {
		return nil, err
	}
	if s.Snapshot != nil && s.Seq == info.Events {
		return withRuntime(s.Snapshot), nil
	}
	c, err := m.Get(ctx, info.ID)
	if err != nil {
		return nil, err
	}
	raw, err := c.describeAs(ctx, info)
	return withRuntime(raw), err
}

// Exists reports whether there is a conversation.
func (m *Manager) Exists(ctx context.Context, id event.ConversationID) (bool, error) {
	_, err := m.o.Stream.Info(ctx, id)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}
