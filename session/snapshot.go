package session

import (
	"encoding/json"
	"path"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/state"
)

// Snapshot is a conversation at one moment. It shares memory with the conversation: a
// [View] must neither change it nor keep it.
type Snapshot struct {
	ID event.ConversationID
	// Setup has the policy and the analyser that are in force.
	Setup
	Agent   *spec.Agent
	Profile json.RawMessage
	Secrets *secret.Registry
	Dir     string // of the conversation, below [Options.Dir]
	Title   string
	Tags    map[string]string
	// Parent started the conversation, and Children were started by it.
	Parent   event.ConversationID
	Children []event.ConversationID
	// ForkOf is the conversation of which this one is a fork, at the event ForkedAt.
	ForkOf           event.ConversationID
	ForkedAt         event.ID
	Created, Updated time.Time
	Archived         bool
	State            *state.State
}

// View makes the documents in which clients see conversations. A description is stored
// with its conversation, as its summary.
type View interface {
	// Open returns the view of one conversation.
	Open() ConversationView
	// State returns the state that a description shows.
	State(description json.RawMessage) (*state.State, error)
	// WithStatus returns a description with another status, unless that is empty.
	WithStatus(description json.RawMessage, s state.Status) (json.RawMessage, error)
}

// ConversationView makes the documents of one conversation, one at a time.
type ConversationView interface {
	// Describe returns the description. With runtime it says whether the conversation can
	// still work.
	Describe(s *Snapshot, runtime bool) (json.RawMessage, error)
	// FullState returns the event that is published when the state has changed.
	FullState(s *Snapshot) (json.RawMessage, error)
}

// snapshot returns the conversation in a state. The caller holds mu or is alone.
func (c *configuration) snapshot(s *state.State, updated time.Time) *Snapshot {
	out := &Snapshot{
		ID: c.id, Setup: c.rec.Setup, Agent: c.agent, Profile: c.rec.Profile, Secrets: c.secrets,
		Dir: path.Join(c.m.o.Dir, c.id.Hex()), Title: c.meta.Title, Tags: c.meta.Tags,
		Parent: c.meta.Parent, Children: c.rec.Children, ForkOf: c.meta.ForkOf, ForkedAt: c.rec.ForkedAt,
		Created: c.created, Updated: updated, Archived: !c.rec.Archived.IsZero(), State: s,
	}
	out.Policy, out.Analyzer = field(s, keyPolicy, out.Policy), noNull(field(s, keyAnalyzer, out.Analyzer))
	return out
}

// describe returns the description of the conversation in a state.
func (c *configuration) describe(s *state.State, updated time.Time, runtime bool) (json.RawMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.view.Describe(c.snapshot(s, updated), runtime)
}

// fullState returns the document that is published for a state.
func (c *configuration) fullState(s *state.State) (json.RawMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.view.FullState(c.snapshot(s, time.Time{}))
}

// summaryState returns the state that the summary shows. The caller holds mu.
func (c *configuration) summaryState() (*state.State, error) {
	s, err := c.m.o.View.State(c.meta.Summary)
	if err != nil {
		return nil, err
	}
	s.Seq = int64(c.meta.SummaryAt)
	s.Fields[keyPathRules] = orDefault(c.rec.PathRules, emptyList)
	return s, nil
}

var (
	emptyList = json.RawMessage("[]")
	null      = json.RawMessage("null")
)

// field returns a state field, or def.
func field(s *state.State, key string, def json.RawMessage) json.RawMessage {
	if raw, ok := s.Fields[key]; ok {
		return raw
	}
	return def
}

func orDefault(raw, def json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return def
	}
	return raw
}

func noNull(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}
