package session

import (
	"encoding/json"
	"fmt"
	"path"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/state"
)

// Info describes a conversation, in OpenHands' JSON: ConversationInfo
// (docs/openhands/sdk-wire.md section 5.2). Absent values are null, and so are
// secrets.
type Info struct {
	ID event.ConversationID `json:"id"`
	Common
	PersistenceDir     string            `json:"persistence_dir"`
	Status             state.Status      `json:"execution_status"`
	ActivatedSkills    json.RawMessage   `json:"activated_knowledge_skills"`
	InvokedSkills      json.RawMessage   `json:"invoked_skills"`
	BlockedActions     json.RawMessage   `json:"blocked_actions"`
	BlockedMessages    json.RawMessage   `json:"blocked_messages"`
	LastUserMessage    *event.ID         `json:"last_user_message_id"`
	Leaf               *event.ID         `json:"leaf_event_id"`
	Stats              json.RawMessage   `json:"stats"`
	Secrets            json.RawMessage   `json:"secret_registry"`
	AgentState         json.RawMessage   `json:"agent_state"`
	Title              *string           `json:"title"`
	Metrics            json.RawMessage   `json:"metrics"`
	Created            string            `json:"created_at"`
	Updated            string            `json:"updated_at"`
	ForkOf             *string           `json:"forked_from_conversation_id"`
	ForkedAt           *string           `json:"forked_from_event_id"`
	Parent             *string           `json:"parent_conversation_id"`
	Children           []string          `json:"sub_conversation_ids"`
	Tags               map[string]string `json:"tags"`
	CurrentModel       *string           `json:"current_model_id"`
	AvailableModels    []string          `json:"available_models"`
	RuntimeModelSwitch bool              `json:"supports_runtime_model_switch"`
	Profile            json.RawMessage   `json:"launched_agent_profile"`
	Agent              json.RawMessage   `json:"agent"`
	ClientTools        []json.RawMessage `json:"client_tools"`
	ToolModules        map[string]string `json:"tool_module_qualnames"`
	// Runtime is null in the answers to requests that change a conversation.
	Runtime json.RawMessage `json:"runtime_info"`
}

// FullState is the value of a full_state update: no nulls, secrets masked
// (docs/openhands/sdk-wire-1.58.md section A).
type FullState struct {
	ID    event.ConversationID `json:"id"`
	Agent json.RawMessage      `json:"agent"`
	Common
	PersistenceDir  string            `json:"persistence_dir"`
	Status          state.Status      `json:"execution_status"`
	ActivatedSkills json.RawMessage   `json:"activated_knowledge_skills"`
	PathRules       json.RawMessage   `json:"activated_path_rules"`
	InvokedSkills   json.RawMessage   `json:"invoked_skills"`
	BlockedActions  json.RawMessage   `json:"blocked_actions"`
	BlockedMessages json.RawMessage   `json:"blocked_messages"`
	LastUserMessage *event.ID         `json:"last_user_message_id,omitempty"`
	Leaf            *event.ID         `json:"leaf_event_id,omitempty"`
	HeadIsEmpty     bool              `json:"head_is_empty"`
	Stats           json.RawMessage   `json:"stats"`
	Secrets         json.RawMessage   `json:"secret_registry"`
	Tags            map[string]string `json:"tags"`
	AgentState      json.RawMessage   `json:"agent_state"`
}

var (
	emptyList   = json.RawMessage("[]")
	emptyObject = json.RawMessage("{}")
	null        = json.RawMessage("null")
	noStats     = json.RawMessage(`{"usage_to_metrics":{}}`)
)

// RuntimeAvailable is the runtime_info of a conversation that can run.
var RuntimeAvailable = json.RawMessage(`{"runtime_status":"available","can_resume":true,"runtime_error":null}`)

// RuntimeArchived is the runtime_info of a conversation that was archived.
var RuntimeArchived = json.RawMessage(`{"runtime_status":"missing","can_resume":false,"runtime_error":{"code":"archived","message":"the conversation was archived; its history is read-only"}}`)

// utc is how descriptions write a time.
func utc(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// persistenceDir is the directory that clients are given as a conversation's.
func (o *Options) persistenceDir(id event.ConversationID) string { return path.Join(o.Dir, id.Hex()) }

// field returns a state field, or def.
func field(s *state.State, key string, def json.RawMessage) json.RawMessage {
	if raw, ok := s.Fields[key]; ok {
		return raw
	}
	return def
}

func orNull[T ~string](s T) *T {
	if s == "" {
		return nil
	}
	return &s
}

func orDefault(raw, def json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return def
	}
	return raw
}

// common is what all descriptions show of the setup in a state.
func (c *Conversation) common(s *state.State) Common {
	out := c.rec.Common
	out.Policy, out.Analyzer = field(s, keyPolicy, out.Policy), noNull(field(s, keyAnalyzer, out.Analyzer))
	return out
}

// describe makes the description of a conversation in a state. The caller holds
// mu or is alone.
func (c *Conversation) describe(s *state.State, updated time.Time) (*Info, error) {
	stats, err := c.statsOf(s)
	if err != nil {
		return nil, err
	}
	secrets, err := c.secrets.AppendJSON(nil, secret.Null, nil)
	if err != nil {
		return nil, fmt.Errorf("show secrets: %w", err)
	}
	d := &Info{
		ID: c.id, Common: c.common(s), PersistenceDir: c.m.o.persistenceDir(c.id), Status: s.Status,
		ActivatedSkills: field(s, keyActivated, emptyList), InvokedSkills: field(s, keyInvoked, emptyList),
		BlockedActions: emptyObject, BlockedMessages: emptyObject,
		LastUserMessage: orNull(s.LastUserMessage), Leaf: orNull(s.Head), Stats: stats,
		Secrets: secrets, AgentState: field(s, "agent_state", emptyObject),
		Title: orNull(c.meta.Title), Metrics: null, Created: utc(c.created), Updated: utc(updated),
		ForkOf: orNull(string(c.meta.ForkOf)), ForkedAt: orNull(string(c.rec.ForkedAt)), Parent: orNull(string(c.meta.Parent)),
		Children: []string{}, Tags: c.meta.Tags, AvailableModels: []string{},
		Profile: c.rec.Profile, Agent: c.shown.info, ClientTools: c.rec.ClientTools, ToolModules: c.rec.ToolModules,
	}
	d.Analyzer, d.HookConfig = orDefault(d.Analyzer, null), orDefault(d.HookConfig, null)
	for _, id := range c.rec.Children {
		d.Children = append(d.Children, string(id))
	}
	if d.Tags == nil {
		d.Tags = map[string]string{}
	}
	if d.ClientTools == nil {
		d.ClientTools = []json.RawMessage{}
	}
	if d.ToolModules == nil {
		d.ToolModules = map[string]string{}
	}
	return d, nil
}

// encode returns the JSON of a description; runtime is its runtime_info.
func (d *Info) encode(runtime json.RawMessage) (json.RawMessage, error) {
	d.Runtime = runtime
	raw, err := encodeDocument(*d)
	if err != nil {
		return nil, fmt.Errorf("describe conversation %s: %w", d.ID, err)
	}
	return raw, nil
}

// fullState makes the full_state update of a conversation in a state. The
// caller holds mu.
func (c *Conversation) fullState(s *state.State) (json.RawMessage, error) {
	stats, err := c.statsOf(s)
	if err != nil {
		return nil, err
	}
	secrets, err := c.secrets.AppendJSON(nil, secret.Event, nil)
	if err != nil {
		return nil, fmt.Errorf("show secrets: %w", err)
	}
	agent, err := c.agentState()
	if err != nil {
		return nil, err
	}
	v := FullState{
		ID: c.id, Agent: agent, Common: c.common(s), PersistenceDir: c.m.o.persistenceDir(c.id), Status: s.Status,
		ActivatedSkills: field(s, keyActivated, emptyList), PathRules: field(s, keyPathRules, emptyList),
		InvokedSkills: field(s, keyInvoked, emptyList), BlockedActions: emptyObject, BlockedMessages: emptyObject,
		LastUserMessage: orNull(s.LastUserMessage), Leaf: orNull(s.Head), HeadIsEmpty: s.Head == "" && s.Seq > 0,
		Stats: stats, Secrets: secrets, Tags: c.meta.Tags, AgentState: field(s, "agent_state", emptyObject),
	}
	v.HookConfig = noNull(v.HookConfig)
	if v.Tags == nil {
		v.Tags = map[string]string{}
	}
	value, err := encodeDocument(v)
	if err == nil {
		ev := &event.ConversationStateUpdateEvent{Base: event.NewBase(event.SourceEnvironment), Key: "full_state", Value: value}
		ev.Timestamp = event.Now()
		value, err = event.Marshal(ev)
	}
	if err != nil {
		return nil, fmt.Errorf("show the state of conversation %s: %w", c.id, err)
	}
	return value, nil
}

// withoutSkills is the agent as descriptions show it: clients ask for inline
// skills by themselves (docs/openhands/sdk-wire.md section 4).
func withoutSkills(a *spec.Agent) (json.RawMessage, error) {
	if a.Context != nil && len(a.Context.Skills) > 0 {
		about := a.Doc().Object("agent_context").Copy()
		about.Set("skills", []any{})
		var err error
		if a, err = a.With("agent_context", about); err != nil {
			return nil, err
		}
	}
	return a.JSON(schema.Writing{Mode: schema.Nulled})
}

func noNull(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// statsOf returns the stats of a state, which several documents show. The
// caller holds mu.
func (c *Conversation) statsOf(s *state.State) (json.RawMessage, error) {
	if len(s.Stats.UsageToMetrics) == 0 {
		return noStats, nil
	}
	if c.stats.raw != nil && c.stats.seq == seqOf(s) {
		return c.stats.raw, nil
	}
	raw, err := marshal(s.Stats)
	if err != nil {
		return nil, fmt.Errorf("encode stats: %w", err)
	}
	c.stats = shownStats{seqOf(s), raw}
	return raw, nil
}

// seqOf is the Seq of the last event of a state.
func seqOf(s *state.State) eventstream.Seq { return eventstream.Seq(s.Seq) }
