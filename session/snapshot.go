package session

import (
	"encoding/json"
	"path"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/rawjson"
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
	// Title is "" until a model was asked for it, but in lists, which have the first message
	// instead: clients ask again soon for a title that is missing, and seldom for one that is
	// there (docs/app-server.md).
	Title string
	Tags  map[string]string
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
	if c.rec.ProjectHooks != nil {
		if config, err := c.rec.hooks(); err == nil {
			out.HookConfig, _ = json.Marshal(config) // it was decoded from JSON
		}
	}
	out.Policy, out.Analyzer = rawjson.Or(s.Fields[keyPolicy], out.Policy), rawjson.NoNull(rawjson.Or(s.Fields[keyAnalyzer], out.Analyzer))
	return out
}

// describe returns the description of the conversation in a state.
func (c *configuration) describe(s *state.State, updated time.Time, runtime bool) (json.RawMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.snapshot(s, updated)
	if c.untitled {
		now.Title = ""
	}
	return c.view.Describe(now, runtime)
}

// describeListed returns the description that a list has.
func (c *configuration) describeListed(s *state.State, updated time.Time) (json.RawMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.view.Describe(c.snapshot(s, updated), true)
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
	s.Fields[keyPathRules] = rawjson.Or(c.rec.PathRules, emptyList)
	return s, nil
}

var (
	emptyList = json.RawMessage("[]")
	null      = json.RawMessage("null")
)
