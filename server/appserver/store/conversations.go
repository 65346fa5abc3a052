package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// Conversation is the App Server's record of a conversation beside its events.
type Conversation struct {
	ID         event.ConversationID
	Owner      string
	Sandbox    string
	Repository string // "" for none
	Branch     string
	Provider   string // of the repository: github, gitlab …
	Trigger    string // the contract's ConversationTrigger: gui, resolver …
	Model      string // "" for the settings' own
	AgentType  string // default or plan
	Public     bool   // everybody with the link may read it
	PRNumbers  []int
	PRURLs     map[int]string // by number, of those that it has opened
	Created    time.Time
}

const conversationColumns = "id, owner, sandbox, repository, branch, provider, started_by, model, agent_type, public, pr_numbers, created_at, pr_urls"

// SaveConversation stores a conversation, or replaces its record.
func (s *Store) SaveConversation(ctx context.Context, c Conversation) error {
	defer s.members.changed()
	return s.on(ctx).saveConversation(c)
}

// ChangeConversation stores change's result for a conversation of an owner; it gets one
// that has an owner and an id only, where nothing is stored of it. Changes at the same time
// come one after the other, each with the result of the one before.
func (s *Store) ChangeConversation(ctx context.Context, owner string, id event.ConversationID, change func(*Conversation)) error {
	defer s.members.changed()
	return s.change(ctx, func(t tx) error {
		if err := t.lockOwner(owner); err != nil {
			return err
		}
		c, err := conversation(t.row("SELECT "+conversationColumns+" FROM app_conversations WHERE id = ? AND owner = ?", string(id), owner))
		if errors.Is(err, sql.ErrNoRows) {
			c, err = Conversation{ID: id, Owner: owner}, nil
		}
		if err != nil {
			return err
		}
		change(&c)
		return t.saveConversation(c)
	})
}

func (t tx) saveConversation(c Conversation) error {
	numbers, err := json.Marshal(append([]int{}, c.PRNumbers...))
	if err != nil {
		return err
	}
	urls, err := json.Marshal(c.PRURLs)
	if err != nil {
		return err
	}
	r, err := t.exec("INSERT INTO app_conversations ("+conversationColumns+") VALUES ("+marks(13)+`)
ON CONFLICT (id) DO UPDATE SET sandbox = excluded.sandbox, repository = excluded.repository, branch = excluded.branch, provider = excluded.provider,
  started_by = excluded.started_by, model = excluded.model, agent_type = excluded.agent_type, public = excluded.public, pr_numbers = excluded.pr_numbers, pr_urls = excluded.pr_urls
WHERE app_conversations.owner = excluded.owner`,
		string(c.ID), c.Owner, c.Sandbox, c.Repository, c.Branch, c.Provider, c.Trigger, c.Model, c.AgentType, flag(c.Public), string(numbers), micro(c.Created), string(urls))
	if err := affected(r, err, "conversation", string(c.ID)); fault.Is(err, fault.NotFound) {
		return fault.New(fault.Conflict, "the id "+string(c.ID)+" is taken")
	} else if err != nil {
		return err
	}
	return nil
}

// Conversations returns the records of conversations of an owner, by id. Conversations
// that the App Server did not make are left out.
func (s *Store) Conversations(ctx context.Context, owner string, ids ...event.ConversationID) (map[event.ConversationID]Conversation, error) {
	out := make(map[event.ConversationID]Conversation, len(ids))
	for some := range slices.Chunk(ids, 100) {
		in, args := oneOf(some)
		found, err := all(s.on(ctx), conversation, "SELECT "+conversationColumns+" FROM app_conversations WHERE owner = ? AND id "+in, append([]any{owner}, args...)...)
		if err != nil {
			return nil, err
		}
		for _, c := range found {
			out[c.ID] = c
		}
	}
	return out, nil
}

// PublicConversation returns a conversation that everybody with its link may read.
// NotFound if it does not exist or is not public.
func (s *Store) PublicConversation(ctx context.Context, id event.ConversationID) (Conversation, error) {
	return one(s.on(ctx), conversation, missing("public conversation", string(id)), "SELECT "+conversationColumns+" FROM app_conversations WHERE id = ? AND public = 1", string(id))
}

// member is a conversation in a sandbox of an owner.
type member struct {
	owner, sandbox string
	id             event.ConversationID
}

// IsMember reports whether a conversation is in a sandbox, and both are an owner's.
func (s *Store) IsMember(ctx context.Context, owner, sandbox string, id event.ConversationID) (bool, error) {
	m := member{owner, sandbox, id}
	_, ok, changes := s.members.get(m)
	if ok {
		return true, nil
	}
	var one int
	err := s.on(ctx).row("SELECT 1 FROM app_conversations WHERE id = ? AND owner = ? AND sandbox = ?", string(id), owner, sandbox).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err == nil {
		s.members.put(m, struct{}{}, changes)
	}
	return err == nil, failed(err)
}

// InSandbox returns the conversations of a sandbox, the oldest first.
func (s *Store) InSandbox(ctx context.Context, sandbox string) ([]event.ConversationID, error) {
	return all(s.on(ctx), value[event.ConversationID], "SELECT id FROM app_conversations WHERE sandbox = ? ORDER BY created_at, id", sandbox)
}

// DeleteConversation deletes the record of a conversation, with its start tasks,
// messages and event callbacks. It is no error if there is nothing.
func (s *Store) DeleteConversation(ctx context.Context, owner string, id event.ConversationID) error {
	defer s.members.changed()
	return s.change(ctx, func(t tx) error {
		_, err := t.exec("DELETE FROM app_conversations WHERE id = ? AND owner = ?", string(id), owner)
		if err == nil {
			_, err = t.exec("DELETE FROM app_pending_messages WHERE task IN (SELECT id FROM app_jobs WHERE subject = ? AND owner = ?)", string(id), owner)
		}
		if err == nil {
			_, err = t.exec("DELETE FROM app_callback_results WHERE callback IN (SELECT id FROM app_jobs WHERE subject = ? AND owner = ?)", string(id), owner)
		}
		if err == nil {
			_, err = t.exec("DELETE FROM app_jobs WHERE subject = ? AND owner = ?", string(id), owner)
		}
		return err
	})
}

func conversation(row scanner) (c Conversation, err error) {
	var numbers, urls []byte
	if err := row.Scan(&c.ID, &c.Owner, &c.Sandbox, &c.Repository, &c.Branch, &c.Provider, &c.Trigger, &c.Model, &c.AgentType, &c.Public, &numbers, stored{&c.Created}, &urls); err != nil {
		return Conversation{}, err
	}
	if err := errors.Join(json.Unmarshal(numbers, &c.PRNumbers), json.Unmarshal(urls, &c.PRURLs)); err != nil {
		return Conversation{}, fault.Wrap(err, fault.Corrupt, "read the pull requests of conversation "+string(c.ID))
	}
	return c, nil
}
