// Package view makes the JSON in which clients of OpenHands see a conversation: the
// description (ConversationInfo) and the full_state update.
//
// # Usage
//
//	m, err := session.Open(session.Options{View: view.OpenHands{}, …})
//
// # Concurrency
//
// [OpenHands] may be used from any goroutine; the view of one conversation by one at a
// time.
//
// # Failure
//
// Errors name the conversation. A description that cannot be read is of kind Corrupt.
package view

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/internal/rawjson"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/state"
)

// Keys of state updates (docs/openhands/sdk-wire.md section 7.2).
const (
	keyPolicy     = "confirmation_policy"
	keyAnalyzer   = "security_analyzer"
	keyActivated  = "activated_knowledge_skills"
	keyPathRules  = "activated_path_rules"
	keyInvoked    = "invoked_skills"
	keyAgentState = "agent_state"
)

// OpenHands is the view of clients of OpenHands' agent server. It implements [session.View].
type OpenHands struct{}

var _ session.View = OpenHands{}

// Open implements [session.View].
func (OpenHands) Open() session.ConversationView { return &conversation{} }

// State implements [session.View].
func (OpenHands) State(description json.RawMessage) (*state.State, error) {
	var d Info
	if err := json.Unmarshal(description, &d); err != nil {
		return nil, fault.Wrap(err, fault.Corrupt, "read the description of a conversation")
	}
	s := &state.State{Status: d.Status, Fields: map[string]json.RawMessage{
		keyPolicy: d.Policy, keyAnalyzer: rawjson.Or(d.Analyzer, null), keyActivated: d.ActivatedSkills, keyInvoked: d.InvokedSkills,
		keyAgentState: d.AgentState,
	}}
	if d.LastUserMessage != nil {
		s.LastUserMessage = *d.LastUserMessage
	}
	if d.Leaf != nil {
		s.Head = *d.Leaf
	}
	if err := json.Unmarshal(d.Stats, &s.Stats); err != nil {
		return nil, fault.Wrap(err, fault.Corrupt, "read the metrics of conversation "+string(d.ID))
	}
	return s, nil
}

// WithStatus implements [session.View].
func (OpenHands) WithStatus(description json.RawMessage, s state.Status) (json.RawMessage, error) {
	var d Info
	if err := json.Unmarshal(description, &d); err != nil {
		return nil, fault.Wrap(err, fault.Corrupt, "read the description of a conversation")
	}
	if d.Runtime = RuntimeAvailable; s != "" {
		d.Status = s
	}
	return d.encode()
}

// conversation is the view of one conversation. It keeps the parts that many documents
// show. It implements [session.ConversationView].
type conversation struct {
	of        *spec.Agent     // whose forms the next two are
	described json.RawMessage // in descriptions
	published json.RawMessage // in full states; nil before it is needed
	statsAt   int64           // the Seq of stats
	stats     json.RawMessage
}

// Info describes a conversation, in OpenHands' JSON: ConversationInfo
// (docs/openhands/sdk-wire.md section 5.2). Absent values are null, and so are
// secrets.
type Info struct {
	ID event.ConversationID `json:"id"`
	session.Common
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
	AvailableModels    []json.RawMessage `json:"available_models"`
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
	session.Common
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

// utc formats a time for descriptions.
func utc(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// Describe implements [session.ConversationView].
func (c *conversation) Describe(s *session.Snapshot, runtime bool) (json.RawMessage, error) {
	stats, err := c.statsOf(s.State)
	if err != nil {
		return nil, err
	}
	secrets, err := s.Secrets.AppendJSON(nil, secret.Null, nil)
	if err != nil {
		return nil, fmt.Errorf("show secrets: %w", err)
	}
	if err := c.take(s.Agent); err != nil {
		return nil, err
	}
	st := s.State
	d := &Info{
		ID: s.ID, Common: s.Common, PersistenceDir: s.Dir, Status: st.Status,
		ActivatedSkills: rawjson.Or(st.Fields[keyActivated], emptyList), InvokedSkills: rawjson.Or(st.Fields[keyInvoked], emptyList),
		BlockedActions: emptyObject, BlockedMessages: emptyObject,
		LastUserMessage: optional.Of(st.LastUserMessage), Leaf: optional.Of(st.Head), Stats: stats,
		Secrets: secrets, AgentState: rawjson.Or(st.Fields[keyAgentState], emptyObject),
		Title: optional.Of(s.Title), Metrics: null, Created: utc(s.Created), Updated: utc(s.Updated),
		ForkOf: optional.Of(string(s.ForkOf)), ForkedAt: optional.Of(string(s.ForkedAt)), Parent: optional.Of(string(s.Parent)),
		Children: []string{}, Tags: s.Tags, AvailableModels: []json.RawMessage{},
		Profile: s.Profile, Agent: c.described, ClientTools: s.ClientTools, ToolModules: s.ToolModules, Runtime: null,
	}
	d.addProgram(st)
	if runtime {
		d.Runtime = runtimeInfo(s.Archived)
	}
	d.Analyzer, d.HookConfig = rawjson.Or(d.Analyzer, null), rawjson.Or(d.HookConfig, null)
	for _, id := range s.Children {
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
	return d.encode()
}

// addProgram adds the models of an agent that is another program, as far as that has told them.
func (d *Info) addProgram(st *state.State) {
	var told struct {
		Model    string            `json:"acp_current_model_id"`
		Models   []json.RawMessage `json:"acp_available_models"`
		Switches bool              `json:"acp_supports_runtime_model_switch"`
	}
	if !st.Field(keyAgentState, &told) {
		return
	}
	d.CurrentModel, d.RuntimeModelSwitch = optional.Of(told.Model), told.Switches
	d.AvailableModels = append(d.AvailableModels, told.Models...)
}

func (d *Info) encode() (json.RawMessage, error) {
	raw, err := rawjson.Encode(*d)
	if err != nil {
		return nil, fmt.Errorf("describe conversation %s: %w", d.ID, err)
	}
	return raw, nil
}

// FullState implements [session.ConversationView].
func (c *conversation) FullState(s *session.Snapshot) (json.RawMessage, error) {
	stats, err := c.statsOf(s.State)
	if err != nil {
		return nil, err
	}
	secrets, err := s.Secrets.AppendJSON(nil, secret.Event, nil)
	if err != nil {
		return nil, fmt.Errorf("show secrets: %w", err)
	}
	agent, err := c.publishedAgent(s.Agent)
	if err != nil {
		return nil, err
	}
	st := s.State
	v := FullState{
		ID: s.ID, Agent: agent, Common: s.Common, PersistenceDir: s.Dir, Status: st.Status,
		ActivatedSkills: rawjson.Or(st.Fields[keyActivated], emptyList), PathRules: rawjson.Or(st.Fields[keyPathRules], emptyList),
		InvokedSkills: rawjson.Or(st.Fields[keyInvoked], emptyList), BlockedActions: emptyObject, BlockedMessages: emptyObject,
		LastUserMessage: optional.Of(st.LastUserMessage), Leaf: optional.Of(st.Head), HeadIsEmpty: st.Head == "" && st.Seq > 0,
		Stats: stats, Secrets: secrets, Tags: s.Tags, AgentState: rawjson.Or(st.Fields[keyAgentState], emptyObject),
	}
	v.HookConfig = rawjson.NoNull(v.HookConfig)
	if v.Tags == nil {
		v.Tags = map[string]string{}
	}
	value, err := rawjson.Encode(v)
	if err == nil {
		ev := &event.ConversationStateUpdateEvent{Base: event.NewBase(event.SourceEnvironment), Key: "full_state", Value: value}
		ev.Timestamp = event.Now()
		value, err = event.Marshal(ev)
	}
	if err != nil {
		return nil, fmt.Errorf("show the state of conversation %s: %w", s.ID, err)
	}
	return value, nil
}

// take makes the form of an agent that descriptions show. Clients ask for inline skills
// by themselves (docs/openhands/sdk-wire.md section 4).
func (c *conversation) take(a *spec.Agent) error {
	if c.of == a {
		return nil
	}
	short := a
	if a.Context != nil && len(a.Context.Skills) > 0 {
		about := a.Doc().Object("agent_context").Copy()
		about.Set("skills", []any{})
		var err error
		if short, err = a.With("agent_context", about); err != nil {
			return fmt.Errorf("show the agent: %w", err)
		}
	}
	raw, err := short.JSON(schema.Writing{Mode: schema.Nulled})
	if err != nil {
		return fmt.Errorf("show the agent: %w", err)
	}
	c.of, c.described, c.published = a, raw, nil
	return nil
}

// publishedAgent returns the form of an agent that full states show.
func (c *conversation) publishedAgent(a *spec.Agent) (json.RawMessage, error) {
	if err := c.take(a); err != nil {
		return nil, err
	}
	if c.published == nil {
		raw, err := a.JSON(schema.Writing{Mode: schema.Masked, NoNulls: true})
		if err != nil {
			return nil, fmt.Errorf("show the agent: %w", err)
		}
		c.published = raw
	}
	return c.published, nil
}

// statsOf returns the stats of a state.
func (c *conversation) statsOf(s *state.State) (json.RawMessage, error) {
	if len(s.Stats.UsageToMetrics) == 0 {
		return noStats, nil
	}
	if c.stats != nil && c.statsAt == s.Seq {
		return c.stats, nil
	}
	raw, err := rawjson.Marshal(s.Stats)
	if err != nil {
		return nil, fmt.Errorf("encode stats: %w", err)
	}
	c.statsAt, c.stats = s.Seq, raw
	return raw, nil
}

func runtimeInfo(archived bool) json.RawMessage {
	if archived {
		return RuntimeArchived
	}
	return RuntimeAvailable
}
