package conversation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/state"
)

// description is ConversationInfo, the answer of the REST routes
// (docs/openhands/sdk-wire.md section 5.2). Absent values are null; secrets are
// null.
type description struct {
	ID                 event.ConversationID `json:"id"`
	Workspace          Workspace            `json:"workspace"`
	PersistenceDir     string               `json:"persistence_dir"`
	MaxIterations      int                  `json:"max_iterations"`
	StuckDetection     bool                 `json:"stuck_detection"`
	Status             state.Status         `json:"execution_status"`
	Policy             json.RawMessage      `json:"confirmation_policy"`
	Analyzer           json.RawMessage      `json:"security_analyzer"`
	ActivatedSkills    json.RawMessage      `json:"activated_knowledge_skills"`
	InvokedSkills      json.RawMessage      `json:"invoked_skills"`
	BlockedActions     json.RawMessage      `json:"blocked_actions"`
	BlockedMessages    json.RawMessage      `json:"blocked_messages"`
	LastUserMessage    *event.ID            `json:"last_user_message_id"`
	Leaf               *event.ID            `json:"leaf_event_id"`
	Stats              json.RawMessage      `json:"stats"`
	Secrets            json.RawMessage      `json:"secret_registry"`
	AgentState         json.RawMessage      `json:"agent_state"`
	HookConfig         json.RawMessage      `json:"hook_config"`
	Title              *string              `json:"title"`
	Metrics            json.RawMessage      `json:"metrics"`
	Created            string               `json:"created_at"`
	Updated            string               `json:"updated_at"`
	ForkOf             *string              `json:"forked_from_conversation_id"`
	ForkedAt           *string              `json:"forked_from_event_id"`
	Parent             *string              `json:"parent_conversation_id"`
	Children           []string             `json:"sub_conversation_ids"`
	Tags               map[string]string    `json:"tags"`
	CurrentModel       *string              `json:"current_model_id"`
	AvailableModels    []string             `json:"available_models"`
	RuntimeModelSwitch bool                 `json:"supports_runtime_model_switch"`
	LaunchedProfile    json.RawMessage      `json:"launched_agent_profile"`
	Agent              json.RawMessage      `json:"agent"`
	ClientTools        []json.RawMessage    `json:"client_tools"`
	ToolModules        map[string]string    `json:"tool_module_qualnames"`
	Runtime            json.RawMessage      `json:"runtime_info"`
}

// fullState is the value of a full_state update: no nulls, secrets masked
// (docs/openhands/sdk-wire-1.58.md section A).
type fullState struct {
	ID              event.ConversationID `json:"id"`
	Agent           json.RawMessage      `json:"agent"`
	Workspace       Workspace            `json:"workspace"`
	PersistenceDir  string               `json:"persistence_dir"`
	MaxIterations   int                  `json:"max_iterations"`
	StuckDetection  bool                 `json:"stuck_detection"`
	Status          state.Status         `json:"execution_status"`
	Policy          json.RawMessage      `json:"confirmation_policy"`
	Analyzer        json.RawMessage      `json:"security_analyzer,omitempty"`
	ActivatedSkills json.RawMessage      `json:"activated_knowledge_skills"`
	PathRules       json.RawMessage      `json:"activated_path_rules"`
	InvokedSkills   json.RawMessage      `json:"invoked_skills"`
	BlockedActions  json.RawMessage      `json:"blocked_actions"`
	BlockedMessages json.RawMessage      `json:"blocked_messages"`
	LastUserMessage *event.ID            `json:"last_user_message_id,omitempty"`
	Leaf            *event.ID            `json:"leaf_event_id,omitempty"`
	HeadIsEmpty     bool                 `json:"head_is_empty"`
	Stats           json.RawMessage      `json:"stats"`
	Secrets         json.RawMessage      `json:"secret_registry"`
	Tags            map[string]string    `json:"tags"`
	AgentState      json.RawMessage      `json:"agent_state"`
	HookConfig      json.RawMessage      `json:"hook_config,omitempty"`
}

var (
	emptyList   = json.RawMessage("[]")
	emptyObject = json.RawMessage("{}")
	null        = json.RawMessage("null")
	noStats     = json.RawMessage(`{"usage_to_metrics":{}}`)
)

// runtimeAvailable is what there is to say of a place that is this machine.
var runtimeAvailable = json.RawMessage(`{"runtime_status":"available","can_resume":true,"runtime_error":null}`)

// utc is how the REST routes write a time.
func utc(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// persistenceDir is where clients think that a conversation is stored.
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

// describe makes the description of a conversation in a state.
func (c *Conversation) describe(s *state.State, created, updated time.Time) (json.RawMessage, error) {
	stats, err := c.statsOf(s)
	if err != nil {
		return nil, err
	}
	secrets, err := c.secrets.AppendJSON(nil, secret.Null, nil)
	if err != nil {
		return nil, fmt.Errorf("show secrets: %w", err)
	}
	cfg := &c.cfg
	d := description{
		ID: c.id, Workspace: cfg.Workspace, PersistenceDir: c.m.o.persistenceDir(c.id),
		MaxIterations: cfg.MaxIterations, StuckDetection: cfg.StuckDetection, Status: s.Status,
		Policy: field(s, keyPolicy, cfg.Policy), Analyzer: orDefault(field(s, keyAnalyzer, cfg.Analyzer), null),
		ActivatedSkills: field(s, keyActivated, emptyList), InvokedSkills: field(s, keyInvoked, emptyList),
		BlockedActions: emptyObject, BlockedMessages: emptyObject,
		LastUserMessage: orNull(s.LastUserMessage), Leaf: orNull(s.Head), Stats: stats,
		Secrets: secrets, AgentState: field(s, "agent_state", emptyObject),
		HookConfig: orDefault(cfg.HookConfig, null), Title: orNull(c.meta.Title), Metrics: null,
		Created: utc(created), Updated: utc(updated),
		ForkOf: orNull(string(c.meta.ForkOf)), ForkedAt: orNull(string(cfg.ForkedAt)), Parent: orNull(string(c.meta.Parent)),
		Children: []string{}, Tags: c.meta.Tags, AvailableModels: []string{},
		LaunchedProfile: orDefault(cfg.LaunchedProfile, null), Agent: c.shown.info,
		ClientTools: cfg.ClientTools, ToolModules: cfg.ToolModules, Runtime: null,
	}
	for _, id := range cfg.SubConversations {
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
	raw, err := encodeDocument(d)
	if err != nil {
		return nil, fmt.Errorf("describe conversation %s: %w", c.id, err)
	}
	return raw, nil
}

// fullState makes the full_state update of a conversation in a state.
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
	cfg := &c.cfg
	v := fullState{
		ID: c.id, Agent: agent, Workspace: cfg.Workspace, PersistenceDir: c.m.o.persistenceDir(c.id),
		MaxIterations: cfg.MaxIterations, StuckDetection: cfg.StuckDetection, Status: s.Status,
		Policy: field(s, keyPolicy, cfg.Policy), Analyzer: noNull(field(s, keyAnalyzer, cfg.Analyzer)),
		ActivatedSkills: field(s, keyActivated, emptyList), PathRules: field(s, keyPathRules, emptyList),
		InvokedSkills: field(s, keyInvoked, emptyList), BlockedActions: emptyObject, BlockedMessages: emptyObject,
		LastUserMessage: orNull(s.LastUserMessage), Leaf: orNull(s.Head), HeadIsEmpty: s.Head == "" && s.Seq > 0,
		Stats: stats, Secrets: secrets, Tags: c.meta.Tags,
		AgentState: field(s, "agent_state", emptyObject), HookConfig: noNull(cfg.HookConfig),
	}
	if v.Tags == nil {
		v.Tags = map[string]string{}
	}
	raw, err := stateEvent("full_state", v)
	if err != nil {
		return nil, fmt.Errorf("show the state of conversation %s: %w", c.id, err)
	}
	return raw, nil
}

// stateEvent makes the JSON of a state update that is not stored, whose value
// is a document.
func stateEvent(key string, document any) (json.RawMessage, error) {
	const place = `"value":`
	ev, err := event.NewStateUpdate(key, json.RawMessage("0"))
	if err != nil {
		return nil, err
	}
	ev.Timestamp = event.Now()
	raw, err := event.Marshal(ev)
	if err != nil {
		return nil, err
	}
	at := bytes.Index(raw, []byte(place+"0")) + len(place) // quotes within texts are escaped
	return encodeWithin(raw[:at], document, raw[at+1:])
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

// withRuntime puts what there is to say of the runtime into a description.
func withRuntime(desc json.RawMessage) json.RawMessage {
	const at = `"runtime_info":null}`
	if !bytes.HasSuffix(desc, []byte(at)) {
		return desc
	}
	out := make(json.RawMessage, 0, len(desc)+len(runtimeAvailable))
	out = append(out, desc[:len(desc)-len("null}")]...)
	return append(append(out, runtimeAvailable...), '}')
}

// seqOf is the Seq of the last event of a state.
func seqOf(s *state.State) eventstream.Seq { return eventstream.Seq(s.Seq) }
