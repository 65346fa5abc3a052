// Package listing reads stored conversations without loading or running them: their
// descriptions, which are running, and their cost; for `deft conversations list`, `deft
// llm cost` and the completion of shells.
//
// # Usage
//
//	n, err := listing.List(ctx, store, locks, listing.Query{Limit: 20}, show)
//	bill, err := listing.Cost(ctx, store)
//
// # Concurrency
//
// All functions are safe for concurrent use as far as the store is.
//
// # Failure
//
// A damaged record does not hide the others: they are returned, with an error of
// kind Corrupt at the end.
package listing

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/internal/realpath"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/state"
)

// Interrupted is the status of a conversation that was running when its process
// ended. It is not stored: no process has locked the conversation.
const Interrupted = "interrupted"

// Store is the part of [eventstream.Stream] that is read.
type Store interface {
	List(ctx context.Context, q eventstream.ListQuery) (eventstream.ListPage, error)
	Search(ctx context.Context, id event.ConversationID, q eventstream.Query) (eventstream.Page, error)
}

// Locks says which conversations processes work on. See package
// session/conversationlock.
type Locks interface {
	Held(id event.ConversationID) (bool, error)
}

// Conversation is a stored conversation.
type Conversation struct {
	ID      event.ConversationID `json:"id"`
	Created time.Time            `json:"created_at"`
	Updated time.Time            `json:"updated_at"`
	Status  string               `json:"status"` // of package state, or [Interrupted]
	Events  int64                `json:"events"`
	Model   string               `json:"model,omitempty"` // of its agent; "" if unknown
	// CostUSD is the cost of the calls of known price; Unpriced counts the others.
	CostUSD  float64 `json:"cost_usd"`
	Unpriced int     `json:"unpriced_calls"`
	// NoCall says that no call is known, as before the first answer.
	NoCall    bool                 `json:"-"`
	Title     string               `json:"title"`
	Workspace string               `json:"workspace"`
	ForkOf    event.ConversationID `json:"fork_of,omitempty"`
	// Parent is the conversation that has started it, as for a sub-agent; Children are the
	// conversations that it has started.
	Parent   event.ConversationID   `json:"parent,omitempty"`
	Children []event.ConversationID `json:"-"`
}

// Describe returns a conversation as it is listed.
func Describe(i eventstream.Info, locks Locks) (Conversation, error) {
	status, err := statusOf(i, locks)
	priced, unpriced := callsOf(i.Meta.Summary)
	return Conversation{
		ID: i.ID, Created: i.Created, Updated: i.Updated, Status: status, Events: int64(i.Events), Model: modelOf(i), CostUSD: i.Cost,
		Unpriced: unpriced, NoCall: priced+unpriced == 0 && i.Cost == 0, Title: i.Meta.Title, Workspace: i.Meta.WorkingDir, ForkOf: i.Meta.ForkOf,
		Parent: i.Meta.Parent, Children: childrenOf(i),
	}, err
}

// Cost shows the conversation's cost; "-" where no call is known.
func (c Conversation) Cost() string {
	switch {
	case c.NoCall:
		return "-"
	case c.Unpriced == 0:
		return llm.Dollars(c.CostUSD)
	case c.CostUSD == 0:
		return "unknown"
	}
	return llm.Dollars(c.CostUSD) + " + unknown"
}

// callsOf counts the calls of known and of unknown price in the summary of a conversation.
func callsOf(summary json.RawMessage) (priced, unpriced int) {
	var s struct {
		Stats struct {
			Services map[string]*llm.Metrics `json:"usage_to_metrics"`
		} `json:"stats"`
	}
	if json.Unmarshal(summary, &s) != nil { // imported from elsewhere
		return 0, 0
	}
	for _, m := range s.Stats.Services {
		if m == nil {
			continue
		}
		priced += len(m.Costs)
		switch {
		case len(m.TokenUsages) > 0:
			unpriced += max(0, len(m.TokenUsages)-len(m.Costs))
		case m.AccumulatedTokenUsage != nil && m.AccumulatedTokenUsage.PromptTokens > 0 && m.AccumulatedCost == 0:
			unpriced++ // its single calls were not kept
		}
	}
	return priced, unpriced
}

// statusOf is the status of a conversation as it is shown.
func statusOf(i eventstream.Info, locks Locks) (string, error) {
	status := cmp.Or(i.Status, string(state.Idle))
	if status != string(state.Running) {
		return status, nil
	}
	held, err := locks.Held(i.ID)
	if err != nil || held {
		return status, err
	}
	return Interrupted, nil
}

// modelOf is the model of a conversation's agent; "" if there is none, or if the
// summary does not name it.
func modelOf(i eventstream.Info) string {
	for _, raw := range []json.RawMessage{i.Meta.Extra, i.Meta.Summary} {
		var made struct {
			Agent struct {
				LLM struct {
					Model string `json:"model"`
				} `json:"llm"`
			} `json:"agent"`
		}
		if json.Unmarshal(raw, &made) == nil && made.Agent.LLM.Model != "" && made.Agent.LLM.Model != session.NoModel {
			return made.Agent.LLM.Model
		}
	}
	return ""
}

// childrenOf are the conversations that another one has started.
func childrenOf(i eventstream.Info) []event.ConversationID {
	for _, raw := range []json.RawMessage{i.Meta.Extra, i.Meta.Summary} { // lists have the summary alone
		var made struct {
			Children []event.ConversationID `json:"sub_conversation_ids"`
		}
		if json.Unmarshal(raw, &made) == nil && len(made.Children) > 0 {
			return made.Children
		}
	}
	return nil
}

// Query selects conversations.
type Query struct {
	Status string // conversations of this status only; "" for all
	Limit  int    // at most so many; 0 for all
	// WithoutParent selects conversations that no other conversation has started.
	WithoutParent bool
	// Dir selects the conversations of a directory and of the directories around and below
	// it, and conversations without a directory; "" for all.
	Dir string
	// Damaged is called for each damaged record, which is left out; id is "" if it
	// cannot be read. May be nil.
	Damaged func(id event.ConversationID, err error)
}

// List hands the conversations of a query to show, the last changed ones first, and
// returns how many there were. It ends with show's first error, and after all others
// with the error of the last damaged record.
func List(ctx context.Context, s Store, locks Locks, q Query, show func(Conversation) error) (n int, err error) {
	var damaged error
	stored := eventstream.ListQuery{ByUpdated: true, WithoutParent: q.WithoutParent, Status: q.Status, Damaged: func(id event.ConversationID, err error) {
		damaged = err
		if q.Damaged != nil {
			q.Damaged(id, err)
		}
	}}
	if q.Status == Interrupted {
		stored.Status = string(state.Running)
	}
	for {
		page, err := s.List(ctx, stored)
		if err != nil {
			return n, fmt.Errorf("list conversations: %w", err)
		}
		for _, i := range page.Infos {
			c, err := Describe(i, locks)
			switch {
			case err != nil:
				return n, errors.Join(err, damaged)
			case q.Status != "" && c.Status != q.Status || !q.in(c.Workspace):
				continue
			case q.Limit > 0 && n == q.Limit:
				return n, damaged
			}
			n++
			if err := show(c); err != nil {
				return n, errors.Join(err, damaged)
			}
		}
		if stored.PageID = page.NextID; stored.PageID == "" {
			return n, damaged
		}
	}
}

// in reports whether a conversation of a workspace belongs to the directory of the query.
func (q Query) in(workspace string) bool {
	return q.Dir == "" || workspace == "" || realpath.Inside(workspace, q.Dir) || realpath.Inside(q.Dir, workspace)
}

// Age says how long ago something was.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d d ago", int(d.Hours())/24)
}
