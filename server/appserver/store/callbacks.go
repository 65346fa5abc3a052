package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/job"
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
	ID           event.ConversationID // a UUID, the id of its job
	Owner        string
	Conversation event.ConversationID
	Kind         string          // of its processor
	Processor    json.RawMessage // the processor's document; stored sealed
	Status       CallbackStatus
	Seen         eventstream.Seq // the last event that it needs no more
	Created      time.Time
	Updated      time.Time
}

// CallbackResult is the result for one event.
type CallbackResult struct {
	ID           string
	Callback     event.ConversationID
	Conversation event.ConversationID
	Event        event.ID
	OK           bool
	Detail       string
	Created      time.Time
}

// CallbackProgress is the progress of the job of a callback.
type CallbackProgress struct {
	Kind string          `json:"kind"` // of its processor
	Seen eventstream.Seq `json:"seen"`
	// Tried is how often the processor was called for the next event.
	Tried int `json:"tried,omitempty"`
}

// CallbackOf returns the callback that a job calls. The Processor is nil if no key opens it.
func CallbackOf(j job.Job) (Callback, error) {
	var p CallbackProgress
	if err := json.Unmarshal(j.Progress, &p); err != nil {
		return Callback{}, fault.Wrap(err, fault.Corrupt, "read the event callback "+j.ID)
	}
	c := Callback{
		ID: event.ConversationID(j.ID), Owner: string(j.Owner), Conversation: j.Subject, Kind: p.Kind, Processor: j.Args, Status: CallbackActive,
		Seen: p.Seen, Created: j.Created, Updated: j.Updated,
	}
	if j.State.Ended() {
		c.Status = CallbackCompleted
	}
	return c, nil
}

// Callbacks returns the callbacks of a conversation, whoever's it is, in their order.
func (s *Store) Callbacks(ctx context.Context, conversation event.ConversationID) ([]Callback, error) {
	return s.callbacks(ctx, " WHERE subject = ? AND kind = ? ORDER BY created_at, id", string(conversation), CallbackKind)
}

// ActiveCallbacks returns the next callbacks of all owners that are active, by their ids.
func (s *Store) ActiveCallbacks(ctx context.Context, after event.ConversationID, limit int) ([]Callback, error) {
	return s.callbacks(ctx, " WHERE kind = ? AND "+unfinished+" AND id > ? ORDER BY id LIMIT ?", CallbackKind, string(after), limit)
}

func (s *Store) callbacks(ctx context.Context, rest string, args ...any) ([]Callback, error) {
	found, err := s.jobs(ctx, rest, args...)
	if err != nil {
		return nil, err
	}
	return mapped(found, CallbackOf)
}

// SaveCallback stores the job of a callback with the result of the event that it has seen
// last; nil for none. Both are stored, or neither: an event has one result, ever.
// [job.ErrLost] as of [Store.SaveJob].
func (s *Store) SaveCallback(ctx context.Context, j job.Job, seen eventstream.Seq, result *CallbackResult) error {
	return s.change(ctx, func(t tx) error {
		if _, err := t.saveJob(j); err != nil || result == nil {
			return err
		}
		status := "ERROR"
		if result.OK {
			status = "SUCCESS"
		}
		_, err := t.exec("INSERT INTO app_callback_results (callback, seq, id, conversation, event, status, detail, created_at) VALUES ("+marks(8)+")",
			j.ID, int64(seen), result.ID, string(j.Subject), string(result.Event), status, result.Detail, micro(result.Created))
		return err
	})
}

// CallbackResults returns one page of the results for the events of an owner's
// conversation, the newest first, and where the next page begins ("" on the last).
func (s *Store) CallbackResults(ctx context.Context, owner string, conversation event.ConversationID, page string, limit int) (_ []CallbackResult, next string, err error) {
	before, id := parsePage(page)
	read := func(row scanner) (CallbackResult, error) {
		r, status := CallbackResult{Conversation: conversation}, ""
		err := row.Scan(&r.ID, &r.Callback, &r.Event, &status, &r.Detail, stored{&r.Created})
		r.OK = status == "SUCCESS"
		return r, err
	}
	found, err := all(s.on(ctx), read, `SELECT r.id, r.callback, r.event, r.status, r.detail, r.created_at FROM app_callback_results r JOIN app_jobs c ON c.id = r.callback
WHERE r.conversation = ? AND c.owner = ? AND (r.created_at < ? OR r.created_at = ? AND r.id <= ?) ORDER BY r.created_at DESC, r.id DESC LIMIT ?`,
		string(conversation), owner, before, before, id, limit+1)
	found, next = paged(found, limit, func(r CallbackResult) (time.Time, string) { return r.Created, r.ID })
	return found, next, err
}
