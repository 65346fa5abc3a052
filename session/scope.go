package session

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/session/internal/history"
)

// Scope is the part of a Manager's conversations that a client may use. To it, the
// others do not exist. It is safe for concurrent use.
type Scope struct {
	m       *Manager
	owner   identity.Tenant
	members Members
}

// Members are the conversations of a Scope.
type Members interface {
	// Contains reports whether a conversation is one of them.
	Contains(ctx context.Context, id event.ConversationID) (bool, error)
	// List returns all of them: there are few.
	List(ctx context.Context) ([]event.ConversationID, error)
	// Admit is called before a conversation of the scope is made, and completes its
	// specification. If it fails, the conversation is not made.
	Admit(ctx context.Context, s *Spec) error
	// CheckSecrets refuses secrets that a client of the scope may not give a conversation. They
	// are as in [Spec.Secrets].
	CheckSecrets(ctx context.Context, sources map[string]json.RawMessage) error
}

// All returns the scope of all conversations, for a server with one user.
func (m *Manager) All() *Scope { return &Scope{m: m} }

// Scope returns the scope of an owner's conversations that are among some; nil for
// all of the owner's.
func (m *Manager) Scope(owner identity.Tenant, members Members) *Scope {
	return &Scope{m, owner, members}
}

// check returns an error of kind NotFound for a conversation that exists outside the
// scope.
func (s *Scope) check(ctx context.Context, id event.ConversationID) error {
	in, err := s.contains(ctx, id)
	if err == nil && !in {
		err = fault.New(fault.NotFound, "conversation "+string(id)+" does not exist")
	}
	return err
}

func (s *Scope) contains(ctx context.Context, id event.ConversationID) (bool, error) {
	if s.owner == "" {
		return true, nil
	}
	if s.members != nil {
		if in, err := s.members.Contains(ctx, id); err != nil || !in {
			return false, err
		}
	}
	if c := s.m.peek(id); c != nil {
		return c.Owner() == s.owner, nil
	}
	info, err := s.m.o.Store.Info(ctx, id)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil && identity.Tenant(info.Meta.Owner) == s.owner, err
}

// narrow limits a query to the scope.
func (s *Scope) narrow(ctx context.Context, q eventstream.ListQuery) (_ eventstream.ListQuery, err error) {
	if s.owner == "" {
		return q, nil
	}
	q.Owner = string(s.owner)
	if s.members == nil {
		return q, nil
	}
	in, err := s.members.List(ctx)
	if q.Only != nil {
		in = slices.DeleteFunc(slices.Clone(in), func(id event.ConversationID) bool { return !slices.Contains(q.Only, id) })
	}
	if q.Only = in; in == nil {
		q.Only = []event.ConversationID{}
	}
	return q, err
}

// Create is [Manager.Create]. The conversation is the scope's owner's; the id of one
// outside the scope is a Conflict.
func (s *Scope) Create(ctx context.Context, spec Spec) (c *Conversation, made bool, err error) {
	if s.owner == "" {
		return s.m.Create(ctx, spec)
	}
	if spec.ID == "" {
		spec.ID = event.NewConversationID()
	} else if exists, err := s.m.Exists(ctx, spec.ID); err != nil {
		return nil, false, err
	} else if exists {
		if in, err := s.contains(ctx, spec.ID); err != nil || !in {
			return nil, false, orConflict(err, spec.ID)
		}
	}
	if spec.Parent != "" {
		if in, err := s.contains(ctx, spec.Parent); err != nil || !in {
			return nil, false, orNotFound(err, spec.Parent)
		}
	}
	spec.Owner = s.owner
	if s.members != nil {
		if err := s.checkSecrets(ctx, &spec); err != nil {
			return nil, false, err
		}
		if err := s.members.Admit(ctx, &spec); err != nil {
			return nil, false, err
		}
	}
	return s.m.Create(ctx, spec)
}

// checkSecrets checks the secrets of a new conversation and of its agent.
func (s *Scope) checkSecrets(ctx context.Context, spec *Spec) error {
	if err := s.members.CheckSecrets(ctx, spec.Secrets); err != nil {
		return err
	}
	if spec.Agent == nil || spec.Agent.Context == nil || spec.Agent.Context.Secrets.Len() == 0 {
		return nil
	}
	raw, err := json.Marshal(spec.Agent.Context.Secrets)
	if err != nil {
		return err
	}
	var sources map[string]json.RawMessage
	if err := json.Unmarshal(raw, &sources); err != nil {
		return err
	}
	return s.members.CheckSecrets(ctx, sources)
}

// SetSecrets is [Conversation.SetSecrets], with secrets that the scope's clients may give.
func (s *Scope) SetSecrets(ctx context.Context, c *Conversation, sources map[string]json.RawMessage) error {
	if s.members != nil {
		if err := s.members.CheckSecrets(ctx, sources); err != nil {
			return err
		}
	}
	return c.SetSecrets(ctx, sources)
}

func orConflict(err error, id event.ConversationID) error {
	if err == nil {
		err = fault.New(fault.Conflict, "the id "+string(id)+" is taken")
	}
	return err
}

func orNotFound(err error, id event.ConversationID) error {
	if err == nil {
		err = fault.New(fault.NotFound, "conversation "+string(id)+" does not exist")
	}
	return err
}

// Fork is [Branches.Fork]; the fork belongs to the scope, too.
func (s *Scope) Fork(ctx context.Context, c *Conversation, o ForkOptions) (*Conversation, error) {
	if s.members == nil {
		return c.Branches().Fork(ctx, o)
	}
	if o.ID == "" {
		o.ID = event.NewConversationID()
	} else if exists, err := s.m.Exists(ctx, o.ID); err != nil {
		return nil, err
	} else if exists {
		return nil, errTaken(o.ID)
	}
	spec := Spec{ID: o.ID}
	spec.Workspace.WorkingDir = c.Workspace()
	if err := s.members.Admit(ctx, &spec); err != nil {
		return nil, err
	}
	return c.Branches().Fork(ctx, o)
}

// Get is [Manager.Get].
func (s *Scope) Get(ctx context.Context, id event.ConversationID) (*Conversation, error) {
	if err := s.check(ctx, id); err != nil {
		return nil, err
	}
	return s.m.Get(ctx, id)
}

// Exists is [Manager.Exists].
func (s *Scope) Exists(ctx context.Context, id event.ConversationID) (bool, error) {
	if s.owner == "" {
		return s.m.Exists(ctx, id)
	}
	return s.contains(ctx, id)
}

// Placement is [Manager.Placement].
func (s *Scope) Placement(ctx context.Context, id event.ConversationID) (Placement, error) {
	if err := s.check(ctx, id); err != nil {
		return Placement{}, err
	}
	return s.m.Placement(ctx, id)
}

// Archived is [Manager.Archived].
func (s *Scope) Archived(ctx context.Context, id event.ConversationID) (bool, error) {
	if err := s.check(ctx, id); err != nil {
		return false, err
	}
	return s.m.Archived(ctx, id)
}

// Release is [Manager.Release].
func (s *Scope) Release(ctx context.Context, id event.ConversationID, end func(context.Context) error) error {
	if err := s.check(ctx, id); err != nil {
		return err
	}
	return s.m.Release(ctx, id, end)
}

// Summary is [Manager.Summary].
func (s *Scope) Summary(ctx context.Context, id event.ConversationID) (json.RawMessage, error) {
	if err := s.check(ctx, id); err != nil {
		return nil, err
	}
	return s.m.Summary(ctx, id)
}

// Delete is [Manager.Delete].
func (s *Scope) Delete(ctx context.Context, id event.ConversationID) (left, err error) {
	if err := s.check(ctx, id); err != nil {
		return nil, err
	}
	return s.m.Delete(ctx, id)
}

// Events returns the store, to read the events of a conversation without loading it.
// NotFound if the conversation is not in the scope; one that does not exist may be the
// store's error instead.
func (s *Scope) Events(ctx context.Context, id event.ConversationID) (eventstream.Stream, error) {
	if err := s.check(ctx, id); err != nil {
		return nil, err
	}
	return s.m.Store(), nil
}

// EventPlace is where an event is in its conversation.
type EventPlace struct {
	At     eventstream.Seq
	Active []eventstream.Segment // the parts with the branch of HEAD, in order
}

// EventPlace finds an event. NotFound if the conversation has none with this id.
func (s *Scope) EventPlace(ctx context.Context, id event.ConversationID, ev event.ID) (EventPlace, error) {
	store, err := s.Events(ctx, id)
	if err != nil {
		return EventPlace{}, err
	}
	rec, err := store.Get(ctx, id, ev)
	if err != nil {
		return EventPlace{}, err
	}
	active, err := history.Active(ctx, store, id)
	return EventPlace{rec.Seq, active}, err
}

// EventsListed is [Manager.EventsListed].
func (s *Scope) EventsListed(id event.ConversationID) { s.m.EventsListed(id) }

// List is [Manager.List].
func (s *Scope) List(ctx context.Context, q eventstream.ListQuery) (Page, error) {
	q, err := s.narrow(ctx, q)
	if err != nil {
		return Page{}, err
	}
	return s.m.List(ctx, q)
}

// Infos returns a page of the store's records of conversations, without their
// descriptions.
func (s *Scope) Infos(ctx context.Context, q eventstream.ListQuery) (eventstream.ListPage, error) {
	q, err := s.narrow(ctx, q)
	if err != nil {
		return eventstream.ListPage{}, err
	}
	return s.m.o.Store.List(ctx, q)
}

// Count returns how many conversations a query selects.
func (s *Scope) Count(ctx context.Context, q eventstream.ListQuery) (int, error) {
	q, err := s.narrow(ctx, q)
	if err != nil {
		return 0, err
	}
	return s.m.o.Store.CountConversations(ctx, q)
}

// AtCapacity is [Manager.AtCapacity].
func (s *Scope) AtCapacity() bool { return s.m.AtCapacity() }
