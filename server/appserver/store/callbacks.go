package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
)

// CallbackStatus is how an event callback is, in the contract's words
// (EventCallbackStatus).
type CallbackStatus string

// The states of event callbacks.
const (
	CallbackActive    CallbackStatus = "ACTIVE"
	CallbackCompleted CallbackStatus = "COMPLETED"
)

// Callback is called for the events of a conversation.
type Callback struct {
	ID           event.ConversationID // a UUID; it is locked while the callback works
	Owner        string
	Conversation event.ConversationID
	Kind         string          // of its processor
	Processor    json.RawMessage // the processor's document; stored sealed
	Status       CallbackStatus
	Seen         eventstream.Seq // the last event that it needs no more
	Created      time.Time
	Updated      time.Time
}

// CallbackResult is what came of one event.
type CallbackResult struct {
	ID           string
	Callback     event.ConversationID
	Conversation event.ConversationID
	Event        event.ID
	OK           bool
	Detail       string
	Created      time.Time
}

const callbackColumns = "id, owner, conversation, kind, processor, status, seen, created_at, updated_at"

// AddCallbacks stores callbacks. Those that are there already stay as they are.
func (s *Store) AddCallbacks(ctx context.Context, all ...Callback) error {
	if len(all) == 0 {
		return nil
	}
	return s.change(ctx, func(t tx) error {
		for _, c := range all {
			sealed, err := s.ring.Seal(c.Processor)
			if err != nil {
				return err
			}
			if _, err := t.exec("INSERT INTO app_callbacks ("+callbackColumns+") VALUES ("+marks(9)+") ON CONFLICT (id) DO NOTHING",
				string(c.ID), c.Owner, string(c.Conversation), c.Kind, sealed, string(c.Status), int64(c.Seen), micro(c.Created), micro(c.Updated)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Callback returns a callback, whoever's it is. NotFound if there is none.
func (s *Store) Callback(ctx context.Context, id event.ConversationID) (Callback, error) {
	c, err := s.callback(s.on(ctx).row("SELECT "+callbackColumns+" FROM app_callbacks WHERE id = ?", string(id)))
	if errors.Is(err, sql.ErrNoRows) {
		err = missing("event callback", string(id))
	}
	return c, failed(err)
}

// Callbacks returns the callbacks of a conversation, whoever's it is, in their order. The
// Processor is nil if no key opens it.
func (s *Store) Callbacks(ctx context.Context, conversation event.ConversationID) ([]Callback, error) {
	return s.callbacks(ctx, " WHERE conversation = ? ORDER BY created_at, id", string(conversation))
}

// ActiveCallbacks returns the next callbacks of all owners that are active, by their ids.
func (s *Store) ActiveCallbacks(ctx context.Context, after event.ConversationID, limit int) ([]Callback, error) {
	return s.callbacks(ctx, " WHERE status = ? AND id > ? ORDER BY id LIMIT ?", string(CallbackActive), string(after), limit)
}

func (s *Store) callbacks(ctx context.Context, rest string, args ...any) (all []Callback, err error) {
	rows, err := s.on(ctx).rows("SELECT "+callbackColumns+" FROM app_callbacks"+rest, args...)
	if err != nil {
		return nil, failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		c, err := s.callback(rows)
		if err != nil && !errors.Is(err, schema.ErrSealed) {
			return nil, failed(err)
		}
		all = append(all, c)
	}
	return all, failed(rows.Err())
}

func (s *Store) callback(row scanner) (c Callback, err error) {
	var id, conversation, status, sealed string
	var seen, created, updated int64
	if err := row.Scan(&id, &c.Owner, &conversation, &c.Kind, &sealed, &status, &seen, &created, &updated); err != nil {
		return Callback{}, err
	}
	c.Processor, err = s.unseal(sealed)
	c.ID, c.Conversation, c.Status, c.Seen = event.ConversationID(id), event.ConversationID(conversation), CallbackStatus(status), eventstream.Seq(seen)
	c.Created, c.Updated = at(created), at(updated)
	return c, err
}

// ErrCallbackMoved says that somebody else has processed the event meanwhile.
var ErrCallbackMoved = fault.New(fault.Conflict, "the event callback was used by somebody else, or is gone")

// SeenByCallback notes how far a callback is, which was at the event before, with what came
// of the last event; nil for nothing. Both are stored, or neither: there is one result for
// an event, ever. [ErrCallbackMoved] if the callback is elsewhere.
func (s *Store) SeenByCallback(ctx context.Context, c Callback, before eventstream.Seq, result *CallbackResult) error {
	return s.change(ctx, func(t tx) error {
		r, err := t.exec("UPDATE app_callbacks SET seen = ?, status = ?, updated_at = ? WHERE id = ? AND seen = ? AND status = ?",
			int64(c.Seen), string(c.Status), micro(c.Updated), string(c.ID), int64(before), string(CallbackActive))
		if err := affected(r, err, "event callback", string(c.ID)); fault.Is(err, fault.NotFound) {
			return ErrCallbackMoved
		} else if err != nil || result == nil {
			return err
		}
		status := "ERROR"
		if result.OK {
			status = "SUCCESS"
		}
		_, err = t.exec("INSERT INTO app_callback_results (callback, seq, id, conversation, event, status, detail, created_at) VALUES ("+marks(8)+")",
			string(c.ID), int64(c.Seen), result.ID, string(c.Conversation), string(result.Event), status, result.Detail, micro(result.Created))
		return err
	})
}

// CallbackResults returns one page of what came of the events of an owner's conversation,
// the newest first, and where the next page begins ("" on the last).
func (s *Store) CallbackResults(ctx context.Context, owner string, conversation event.ConversationID, page string, limit int) (all []CallbackResult, next string, err error) {
	before, id := parsePage(page)
	rows, err := s.on(ctx).rows(`SELECT r.id, r.callback, r.event, r.status, r.detail, r.created_at FROM app_callback_results r JOIN app_callbacks c ON c.id = r.callback
WHERE r.conversation = ? AND c.owner = ? AND (r.created_at < ? OR r.created_at = ? AND r.id <= ?) ORDER BY r.created_at DESC, r.id DESC LIMIT ?`,
		string(conversation), owner, before, before, id, limit+1)
	if err != nil {
		return nil, "", failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		r := CallbackResult{Conversation: conversation}
		var by, of, status string
		var created int64
		if err := rows.Scan(&r.ID, &by, &of, &status, &r.Detail, &created); err != nil {
			return nil, "", failed(err)
		}
		r.Callback, r.Event, r.OK, r.Created = event.ConversationID(by), event.ID(of), status == "SUCCESS", at(created)
		all = append(all, r)
	}
	if len(all) > limit {
		next = pageAt(all[limit].Created, all[limit].ID)
		all = all[:limit]
	}
	return all, next, failed(rows.Err())
}
