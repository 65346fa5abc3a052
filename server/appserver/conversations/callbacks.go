package conversations

import (
	"context"
	"encoding/json"

	"github.com/deft-dev/deft/callback"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/server/appserver/store"
)

// TitleProcessor is the kind of processor that names a conversation. Package session does
// that for each conversation that is started without a title, so no callback is stored for it.
const TitleProcessor = "SetTitleCallbackProcessor"

// mostProcessors bounds the processors of a start request.
const mostProcessors = 20

// ProcessorKind returns the kind of a processor's document.
func ProcessorKind(document json.RawMessage) string {
	var named struct {
		Kind string `json:"kind"`
	}
	if json.Unmarshal(document, &named) != nil { // it has none
		return ""
	}
	return named.Kind
}

// CheckProcessor returns why a start request cannot have a processor: Unsupported for a kind
// that is not there, Invalid for a wrong document.
func CheckProcessor(document json.RawMessage) error {
	if ProcessorKind(document) == TitleProcessor {
		return nil
	}
	_, _, err := callback.New(document)
	return err
}

// addCallbackIDs checks the processors of a request, and gives their callbacks ids.
func addCallbackIDs(r *storedStart) error {
	if len(r.Processors) > mostProcessors {
		return fault.New(fault.Invalid, "a conversation can have twenty event callbacks")
	}
	for _, p := range r.Processors {
		if err := CheckProcessor(p); err != nil {
			return err
		}
		r.CallbackIDs = append(r.CallbackIDs, event.NewConversationID())
	}
	return nil
}

// callbacksOf are the event callbacks of a task's conversation.
func callbacksOf(t *store.Task, r storedStart) (all []store.Callback) {
	for i, p := range r.Processors {
		if kind := ProcessorKind(p); kind != TitleProcessor {
			all = append(all, store.Callback{
				ID: r.CallbackIDs[i], Owner: t.Owner, Conversation: t.Conversation, Kind: kind, Processor: p, Status: store.CallbackActive,
				Created: t.Created, Updated: t.Created,
			})
		}
	}
	return all
}

// Callbacks returns the event callbacks of a conversation.
func (s *Service) Callbacks(ctx context.Context, owner identity.Tenant, id event.ConversationID) ([]store.Callback, error) {
	if _, err := s.One(ctx, owner, id); err != nil {
		return nil, err
	}
	return s.o.Store.Callbacks(ctx, id)
}

// CallbackResults returns one page of what came of them, the newest first, and where the
// next page begins.
func (s *Service) CallbackResults(ctx context.Context, owner identity.Tenant, id event.ConversationID, page string, limit int) ([]store.CallbackResult, string, error) {
	if _, err := s.One(ctx, owner, id); err != nil {
		return nil, "", err
	}
	return s.o.Store.CallbackResults(ctx, string(owner), id, page, limit)
}
