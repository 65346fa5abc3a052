package session

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/rawjson"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/session/internal/lockorder"
	"github.com/deft-dev/deft/spec"
)

// configuration is the part of a conversation that is stored beside its events: the parts that
// it was made from, and a summary of its last state.
type configuration struct {
	m       *Manager
	id      event.ConversationID
	created time.Time
	secrets *secret.Registry
	sends   chan struct{} // holds an element while a message of the queue is sent

	mu    lockorder.Mutex[lockorder.Configuration] // guards the rest
	meta  eventstream.Meta                         // without Extra, which is rec
	rec   record
	agent *spec.Agent
	view  ConversationView
	// untitled says that the title is the first message for now: a model writes another one.
	untitled bool
	// sending is the message of the queue that is being sent; empty for none.
	sending event.ID
}

// ID returns the conversation's id.
func (c *configuration) ID() event.ConversationID { return c.id }

// Owner returns the owner of the conversation.
func (c *configuration) Owner() identity.Tenant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return identity.Tenant(c.meta.Owner)
}

// Workspace returns the directory where it works.
func (c *configuration) Workspace() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rec.Workspace.WorkingDir
}

// Untitled reports whether the title is the first message for the time being: a model writes
// another one after the first turn.
func (c *configuration) Untitled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.untitled
}

// entitled says that the title is the last one, even if that could not be stored.
func (c *configuration) entitled() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.untitled = false
}

// HasWorktree reports whether the conversation has a worktree of its own.
func (c *configuration) HasWorktree() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rec.Worktree != ""
}

// setAgent replaces the agent. The caller holds mu or is alone.
func (c *configuration) setAgent(a *spec.Agent) error {
	switch a.Kind {
	case "Agent":
	case spec.ACPKind:
		if _, err := a.ACP(); err != nil {
			return err
		}
	default:
		return fault.New(fault.Unsupported, "agents of kind "+a.Kind+" cannot run here")
	}
	sealed, err := a.JSON(schema.Writing{Mode: schema.Sealed, Keys: c.m.o.Ring})
	if err != nil {
		return fmt.Errorf("seal the agent: %w", err)
	}
	c.agent, c.rec.Agent = a, sealed
	return nil
}

// Placement returns how the conversation is isolated, as it was made or changed.
func (c *configuration) Placement() Placement {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rec.Placement
}

// MaxCost is the most that the conversation may spend, in US dollars; 0 for no limit.
func (c *configuration) MaxCost() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rec.MaxCost
}

// Asked returns what of the project the user is asked about.
func (c *configuration) Asked() Asked {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rec.Asked
}

// Note returns the note of the program that made the conversation, see [Spec].
func (c *configuration) Note() json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rec.Note
}

// Agent returns the agent of the conversation, with its secrets in the clear.
func (c *configuration) Agent() *spec.Agent {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.agent
}

// repository is the one that was cloned for the conversation.
func (c *configuration) repository() Repository {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rec.Repository
}

// Parent returns the conversation that has started this one; "" for none.
func (c *configuration) Parent() event.ConversationID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.meta.Parent
}

// SubAgent returns the type of agent of a task's conversation, "" for any other.
func (c *configuration) SubAgent() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rec.SubAgent
}

// decodeRecord reads the stored configuration of a conversation.
func decodeRecord(id event.ConversationID, meta eventstream.Meta) (record, error) {
	var r record
	if len(meta.Extra) == 0 {
		return r, errImported(id)
	}
	if err := json.Unmarshal(meta.Extra, &r); err != nil {
		return r, fault.Wrap(err, fault.Corrupt, "read the configuration of conversation "+string(id))
	}
	if len(r.Agent) == 0 {
		return r, errImported(id)
	}
	return r, nil
}

// errImported is returned for a conversation without an agent.
func errImported(id event.ConversationID) error {
	return fault.New(fault.Unsupported, "conversation "+string(id)+" has events but no agent").
		Hint("it was imported; start a new one, or give it an agent with `deft run --resume`")
}

// encodeMeta returns the configuration as it is stored. The caller holds mu or is alone.
func (c *configuration) encodeMeta() (eventstream.Meta, error) {
	meta := c.meta
	meta.Tags = maps.Clone(meta.Tags)
	var err error
	if meta.Extra, err = rawjson.Encode(c.rec); err != nil {
		return meta, fmt.Errorf("encode the configuration of conversation %s: %w", c.id, err)
	}
	return meta, nil
}
