package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// ErrArchived is returned where a conversation that was archived would have to work.
var ErrArchived = fault.New(fault.Gone, "Conversation runtime was archived; its history is read-only")

func (c *configuration) archived() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.rec.Archived.IsZero()
}

// Archived reports whether a conversation was archived, without loading or using it.
// NotFound if there is none.
func (m *Manager) Archived(ctx context.Context, id event.ConversationID) (bool, error) {
	if c := m.peek(id); c != nil {
		return c.archived(), nil
	}
	info, err := m.o.Store.Info(ctx, id)
	if err != nil {
		return false, err
	}
	var r struct{ Archived time.Time }
	if len(info.Meta.Extra) == 0 { // imported
		return false, nil
	}
	err = json.Unmarshal(info.Meta.Extra, &r)
	return !r.Archived.IsZero(), fault.Wrap(err, fault.Corrupt, "read the configuration of conversation "+string(id))
}

// ArchiveUnused archives the conversations of some placements that have not changed since
// a time and do not work, and returns how many. The error joins the errors of
// conversations that could not be archived.
func (m *Manager) ArchiveUnused(ctx context.Context, since time.Time, wanted func(Placement) bool) (n int, err error) {
	var errs []error
	for q := (eventstream.ListQuery{UpdatedBefore: since, ByUpdated: true, Ascending: true}); ; {
		page, err := m.o.Store.List(ctx, q)
		if err != nil {
			return n, errors.Join(append(errs, fmt.Errorf("find conversations that are not used any more: %w", err))...)
		}
		for _, info := range page.Infos {
			p, err := m.Placement(ctx, info.ID)
			was := false
			if err == nil {
				was, err = m.Archived(ctx, info.ID)
			}
			if err == nil && !was && wanted(p) {
				was, err = m.archive(ctx, info.ID, since)
				if was {
					n++
				}
			}
			if err != nil && !fault.Is(err, fault.NotFound) { // it was deleted meanwhile
				errs = append(errs, fmt.Errorf("archive conversation %s: %w", info.ID, err))
			}
		}
		if q.PageID = page.NextID; q.PageID == "" {
			return n, errors.Join(errs...)
		}
	}
}

// archive removes the sandbox of a conversation, and the worktree that was made for it.
// Its events stay; it does not work again. It does nothing if the conversation is in use or
// has changed since a time.
func (m *Manager) archive(ctx context.Context, id event.ConversationID, since time.Time) (done bool, err error) {
	c, err := m.Get(ctx, id)
	if err != nil {
		return false, err
	}
	if c.busy() {
		return false, nil
	}
	info, err := m.o.Store.Info(ctx, id)
	if err == nil {
		_, err = c.stateAt(ctx, info) // it is read from the summary from now on
	}
	if err != nil {
		return false, err
	}
	e := m.hold(id)
	defer func() { m.release(id, e, e.c) }()
	if err := c.close(ctx, false); errors.Is(err, ErrRunning) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	release, err := c.own(ctx)
	if errors.Is(err, ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer release()
	if info, err = m.o.Store.Info(ctx, id); err != nil {
		return false, err
	}
	if e.c != c || c.active.Load() != nil || !info.Updated.Before(since) {
		return false, nil
	}
	s, err := c.stateAtRest(info.Events)
	if err != nil || s == nil {
		return false, err
	}
	limited, cancel := context.WithTimeout(ctx, removeTimeout)
	err = m.o.Builder.Remove(limited, id)
	cancel()
	if err != nil {
		return false, err
	}
	if err := c.retire(ctx, info, func() error { return c.summarize(s, info.Updated) }); err != nil {
		return false, err
	}
	m.notPaused(id)
	c.mu.Lock()
	worktree := c.rec.Worktree
	c.mu.Unlock()
	return true, m.removeWorktree(ctx, worktree, id)
}

// retire stores that the conversation was archived, with its last description.
func (c *configuration) retire(ctx context.Context, info eventstream.Info, summarize func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	meta, rec := c.meta, c.rec
	c.rec.Archived = time.Now().UTC()
	err := summarize()
	if err == nil {
		c.meta.SummaryAt = info.Events
		err = c.save(ctx)
	}
	if err != nil {
		c.meta, c.rec = meta, rec
	}
	return err
}
