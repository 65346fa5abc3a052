// Package conversations is what the App Server does with conversations: it starts them
// in tasks that survive a restart, lists and describes them, and sends them messages.
// Conversations themselves are package session's.
//
// # Usage
//
//	s := conversations.New(conversations.Options{Sessions: manager, Sandboxes: sandboxes, Store: store, Jobs: jobs, …})
//	task, err := s.Start(ctx, owner, request) // and returns at once
//	task, err = s.Wait(ctx, owner, task.ID)   // until it is READY or has failed
//
// # Concurrency
//
// A Service is safe for concurrent use. Start tasks and replays are jobs (package job):
// another server continues them when theirs ends.
//
// # Failure
//
// A task that cannot be finished is in the state ERROR with a detail for its user; the
// conversation, if it was made already, stays. Conversations of other owners do not
// exist (NotFound).
package conversations

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/gitfetch"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/internal/objectstore"
	"github.com/deft-dev/deft/job"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/appserver/callbacks"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/skill"
)

// Settings are what an owner has saved, as far as starts of conversations need it.
type Settings interface {
	// Launch returns what a conversation is made from: the agent, with the rest of what
	// the settings say. model and profile take the place of those of the settings, ""
	// for not; suffix goes to the end of the system prompt.
	Launch(ctx context.Context, owner identity.Tenant, model, profile, suffix string) (*session.Spec, error)
	// Strategy returns how the owner's settings place conversations that name no sandbox;
	// "" where they say nothing.
	Strategy(ctx context.Context, owner identity.Tenant) (sandboxes.Strategy, error)
	// Repository returns where a repository is cloned from, with the token of its
	// provider. NotFound if there is no such provider.
	Repository(ctx context.Context, owner identity.Tenant, provider, repository string) (gitfetch.Source, error)
	// Organisation returns the skills of the organisation that a repository belongs to, and the
	// reasons why there are not all of them.
	Organisation(ctx context.Context, owner identity.Tenant, provider, repository string) (found []skill.Skill, warnings []string)
	// Host returns where pull requests of a repository are opened, and its full name
	// there. Auth if there is no token for it.
	Host(ctx context.Context, owner identity.Tenant, provider, repository string) (host forge.Host, name string, err error)
}

// Options say what a Service works with. All but Warm, Strategy, Local and Demo are required.
type Options struct {
	Sessions  *session.Manager
	Sandboxes *sandboxes.Service
	// Warm are sandboxes that wait for conversations; nil for none.
	Warm     *sandboxes.Warm
	Store    *store.Store
	Settings Settings
	// Files has what conversations replay, until they are through.
	Files objectstore.Store
	// Jobs does start tasks and replays.
	Jobs *job.Engine
	// Callbacks calls the event callbacks of conversations.
	Callbacks *callbacks.Service
	// Strategy places conversations that name no sandbox, unless their owner has chosen
	// another one.
	Strategy sandboxes.Strategy
	// MaxRuns bounds what an owner may have at work when a conversation or a replay
	// starts; 0 for no bound. A message to a conversation that exists is not refused.
	MaxRuns int
	// Local lets conversations work in directories of this machine; nil for not.
	Local *Local
	// Demo is the recorded session that can be replayed; nil for none.
	Demo *Demo
	// Link returns the address of a conversation for people.
	Link func(id event.ConversationID) string
	Log  *slog.Logger
}

// Service is what the App Server does with conversations.
type Service struct {
	o Options

	reviving sync.Mutex // one sandbox at a time
}

// New returns a service, whose kinds of jobs it registers.
func New(o Options) *Service {
	s := &Service{o: o}
	o.Jobs.Register(s.startKind())
	o.Jobs.Register(s.replayKind())
	return s
}

// Scope returns the conversations of an owner.
func (s *Service) Scope(owner identity.Tenant) *session.Scope {
	return s.o.Sessions.Scope(owner, nil)
}

// Info is a conversation as the App Server describes it.
type Info struct {
	eventstream.Info
	store.Conversation // zero for one that was made in another way, as by deft run
	// In is the sandbox, nil if it is gone, or if no key opens its session key: then Sealed
	// says what to do.
	In     *store.Sandbox
	Sealed error
	// Directory is the directory of this machine where it works, or can go on that `deft run`
	// has made; empty for all others.
	Directory string
	Details   Details
	Metrics   *Metrics // nil: nothing was used
	Subs      []event.ConversationID
	// Untitled says that the title is the first message until a model has written one. Lists
	// leave it out.
	Untitled bool
}

// Details are what the summary of a conversation says.
type Details struct {
	Agent struct {
		Kind   string  `json:"kind"`
		Server *string `json:"acp_server"` // of an agent that is another program
		LLM    struct {
			Model string `json:"model"`
		} `json:"llm"`
	} `json:"agent"`
	Status  string          `json:"execution_status"`
	Stats   stats           `json:"stats"`
	Profile json.RawMessage `json:"launched_agent_profile"`
	Subs    []string        `json:"sub_conversation_ids"`
}

// Get returns conversations of an owner by their ids, nil for ids without one.
func (s *Service) Get(ctx context.Context, owner identity.Tenant, ids ...event.ConversationID) ([]*Info, error) {
	var page eventstream.ListPage
	untitled := make([]bool, len(ids))
	for i, id := range ids {
		untitled[i] = s.o.Sessions.Untitled(id) // before its title is read, which may be another one then
	}
	if len(ids) > 0 {
		var err error
		if page, err = s.Scope(owner).Infos(ctx, eventstream.ListQuery{Only: ids, Limit: len(ids)}); err != nil {
			return nil, err
		}
	}
	found, err := s.describe(ctx, owner, page.Infos)
	if err != nil {
		return nil, err
	}
	by := make(map[event.ConversationID]*Info, len(found))
	for i := range found {
		by[found[i].Info.ID] = &found[i]
	}
	out := make([]*Info, len(ids))
	for i, id := range ids {
		if out[i] = by[id]; out[i] != nil {
			out[i].Untitled = untitled[i]
		}
	}
	return out, nil
}

// One is Get for one conversation, to work with. NotFound if it does not exist,
// [schema.ErrSealed] if no key opens the session key of its sandbox.
func (s *Service) One(ctx context.Context, owner identity.Tenant, id event.ConversationID) (*Info, error) {
	found, err := s.Get(ctx, owner, id)
	if err == nil && found[0] == nil {
		err = fault.New(fault.NotFound, "conversation "+string(id)+" does not exist")
	}
	if err != nil {
		return nil, err
	}
	return found[0], found[0].Sealed
}

// List returns one page of an owner's conversations, and where the next one begins.
func (s *Service) List(ctx context.Context, owner identity.Tenant, q eventstream.ListQuery) ([]Info, string, error) {
	q.Damaged = s.damaged
	page, err := s.Scope(owner).Infos(ctx, q)
	if err != nil {
		return nil, "", err
	}
	out, err := s.describe(ctx, owner, page.Infos)
	return out, page.NextID, err
}

func (s *Service) damaged(id event.ConversationID, err error) {
	s.o.Log.Warn("a conversation is damaged and not listed", "conversation", id, "err", err)
}

// Count returns how many conversations of an owner a query selects.
func (s *Service) Count(ctx context.Context, owner identity.Tenant, q eventstream.ListQuery) (int, error) {
	return s.Scope(owner).Count(ctx, q)
}

// describe adds to what the event store says of conversations.
func (s *Service) describe(ctx context.Context, owner identity.Tenant, infos []eventstream.Info) ([]Info, error) {
	ids := make([]event.ConversationID, len(infos))
	for i := range infos {
		ids[i] = infos[i].ID
	}
	rows, err := s.o.Store.Conversations(ctx, string(owner), ids...)
	if err != nil {
		return nil, err
	}
	known, sealed := map[string]*store.Sandbox{"": nil}, map[string]error{}
	out := make([]Info, len(infos))
	for i, info := range infos {
		one := Info{Info: info, Conversation: rows[info.ID]}
		in, seen := known[one.Conversation.Sandbox]
		if !seen {
			b, err := s.o.Sandboxes.Get(ctx, owner, one.Conversation.Sandbox)
			switch {
			case err == nil:
				in = &b
			case errors.Is(err, schema.ErrSealed):
				s.o.Log.Warn("a sandbox cannot be used", "sandbox", one.Conversation.Sandbox, "err", err)
				sealed[one.Conversation.Sandbox] = err
			case !fault.Is(err, fault.NotFound):
				return nil, err
			}
			known[one.Conversation.Sandbox] = in
		}
		one.In, one.Sealed = in, sealed[one.Conversation.Sandbox]
		one.Directory = s.directoryOf(owner, &one)
		if raw := info.Meta.Summary; len(raw) > 0 {
			if err := json.Unmarshal(raw, &one.Details); err != nil { // what it does not say is left out
				s.o.Log.Warn("the summary of a conversation cannot be read", "conversation", info.ID, "err", err)
			}
		}
		one.Metrics = one.Details.Stats.total()
		for _, sub := range one.Details.Subs {
			if id, ok := event.ParseConversationID(sub); ok {
				one.Subs = append(one.Subs, id)
			}
		}
		one.Details.Status = cmp.Or(info.Status, one.Details.Status)
		out[i] = one
	}
	return out, nil
}

// Open returns a conversation to look at. A paused sandbox is resumed; one that is gone
// stays so, and with it the files.
func (s *Service) Open(ctx context.Context, owner identity.Tenant, id event.ConversationID) (*session.Conversation, error) {
	c, err := s.Scope(owner).Get(ctx, id)
	if err != nil {
		return nil, s.unlessRecorded(ctx, id, err)
	}
	info, err := s.One(ctx, owner, id)
	if err == nil && info.In != nil && s.o.Sandboxes.StatusOf(ctx, *info.In) == sandboxes.Paused {
		err = s.o.Sandboxes.Resume(ctx, owner, info.In.ID)
	}
	return c, err
}

// Change is what a user changes about a conversation; nil leaves it as it is.
type Change struct {
	Title                        *string
	Public                       *bool
	Repository, Branch, Provider *string
	Tags                         *map[string]string // all that it is to have
}

// Bounds of tags. Keys are as in the agent-server contract.
const (
	mostTags   = 50
	longestTag = 256 // characters
)

var tagKey = lazyregexp.New(`^[a-z0-9]{1,64}$`)

func checkTags(tags map[string]string) error {
	if len(tags) > mostTags {
		return fault.New(fault.Invalid, fmt.Sprintf("a conversation can have %d tags at most", mostTags))
	}
	for key, value := range tags {
		if !tagKey().MatchString(key) {
			return fault.New(fault.Invalid, fmt.Sprintf("%q cannot be a tag: it must be of lower-case letters and digits", key))
		}
		if utf8.RuneCountInString(value) > longestTag {
			return fault.New(fault.Invalid, fmt.Sprintf("the value of the tag %s is longer than %d characters", key, longestTag))
		}
	}
	return nil
}

// Patch changes a conversation. Tags that cannot be are Invalid.
func (s *Service) Patch(ctx context.Context, owner identity.Tenant, id event.ConversationID, ch Change) (*Info, error) {
	if ch.Tags != nil {
		if err := checkTags(*ch.Tags); err != nil {
			return nil, err
		}
	}
	if ch.Title != nil {
		title := strings.TrimSpace(*ch.Title)
		ch.Title = &title
	}
	info, err := s.One(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	if ch.Title != nil || ch.Tags != nil {
		mine, err := s.isOwn(ctx, id)
		if err != nil {
			return nil, err
		}
		if mine {
			var c *session.Conversation
			if c, err = s.Scope(owner).Get(ctx, id); err == nil {
				err = c.Patch(ctx, ch.Title, ch.Tags)
			}
		} else {
			err = s.patchRecorded(ctx, info.Info, ch)
		}
		if err != nil {
			return nil, err
		}
	}
	if ch.Public != nil || ch.Repository != nil || ch.Branch != nil || ch.Provider != nil {
		if err := s.o.Store.ChangeConversation(ctx, string(owner), id, func(row *store.Conversation) {
			if row.Created.IsZero() {
				row.AgentType, row.Created = "default", info.Info.Created
			}
			for to, from := range map[*string]*string{&row.Repository: ch.Repository, &row.Branch: ch.Branch, &row.Provider: ch.Provider} {
				if from != nil {
					*to = *from
				}
			}
			if ch.Public != nil {
				row.Public = *ch.Public
			}
		}); err != nil {
			return nil, err
		}
	}
	return s.One(ctx, owner, id)
}

// Delete deletes a conversation with its events and its sub-conversations, and its sandbox
// if no other conversation is in it.
func (s *Service) Delete(ctx context.Context, owner identity.Tenant, id event.ConversationID) error {
	info, err := s.One(ctx, owner, id)
	if fault.Is(err, fault.NotFound) {
		return s.forget(ctx, owner, id, err)
	}
	if err != nil {
		return err
	}
	for _, sub := range info.Subs { // no list shows them without it
		if err := s.Delete(ctx, owner, sub); err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	mine, err := s.isOwn(ctx, id)
	if err != nil {
		return err
	}
	if mine {
		err = s.deleteOwn(ctx, s.Scope(owner), id)
	} else { // nothing of it can run
		err = s.o.Sessions.Store().Delete(ctx, id)
	}
	if err != nil {
		return err
	}
	if err := s.o.Store.DeleteConversation(ctx, string(owner), id); err != nil {
		return err
	}
	if info.Conversation.Sandbox == "" {
		return nil
	}
	others, err := s.o.Store.InSandbox(ctx, info.Conversation.Sandbox)
	if err != nil || len(others) > 0 {
		return err
	}
	if info.In != nil {
		err = s.o.Sandboxes.Delete(ctx, owner, info.In.ID)
	}
	return errors.Join(err, s.o.Sandboxes.Forget(ctx, info.Conversation.Sandbox))
}

// deleteOwn stops and deletes a conversation that this server made.
func (s *Service) deleteOwn(ctx context.Context, scope *session.Scope, id event.ConversationID) error {
	c, err := scope.Get(ctx, id)
	if err != nil {
		return err
	}
	if err := c.Interrupt(ctx); err != nil {
		return err
	}
	if err := c.Wait(ctx); err != nil {
		return err
	}
	left, err := scope.Delete(ctx, id)
	if err == nil && left != nil {
		s.o.Log.Warn("a part of a deleted conversation is left", "conversation", id, "err", left)
	}
	return err
}

// forget deletes what is left of a conversation that could not be started. It returns
// missing if there is nothing.
func (s *Service) forget(ctx context.Context, owner identity.Tenant, id event.ConversationID, missing error) error {
	all, _, err := s.o.Store.Tasks(ctx, store.TaskQuery{Owner: string(owner), Conversation: id, Limit: 1})
	switch {
	case err != nil:
		return err
	case len(all) == 0:
		return missing
	case !all[0].Status.Ended():
		return fault.New(fault.Conflict, "the conversation is being started").Hint("delete it when it runs")
	}
	if err := s.o.Store.DeleteConversation(ctx, string(owner), id); err != nil {
		return err
	}
	req, err := stored(all[0])
	if err != nil {
		return err
	}
	if all[0].Sandbox == "" || req.SandboxID != "" {
		return nil // none, or one that its user has named
	}
	others, err := s.o.Store.InSandbox(ctx, all[0].Sandbox)
	if err != nil || len(others) > 0 {
		return err
	}
	if err := s.o.Sandboxes.Delete(ctx, owner, all[0].Sandbox); !fault.Is(err, fault.NotFound) {
		return err
	}
	return nil
}

// Public returns a conversation that everybody with its link may read, and its owner.
func (s *Service) Public(ctx context.Context, id event.ConversationID) (*Info, error) {
	row, err := s.o.Store.PublicConversation(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.One(ctx, identity.Tenant(row.Owner), id)
}

// now is the time of a change of a task.
func now() time.Time { return time.Now().UTC() }

var errStopped = errors.New("the server stops")
