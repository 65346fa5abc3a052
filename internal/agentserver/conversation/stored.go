package conversation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// config is what a conversation was made with, as it is stored beside its
// events: secrets are sealed. What is set later by state updates (policy,
// analyser) is in the events and wins.
type config struct {
	Created          time.Time              `json:"created_at,omitzero"` // as clients are told
	Workspace        Workspace              `json:"workspace"`
	Worktree         string                 `json:"worktree,omitempty"` // the root of the worktree made for it
	MaxIterations    int                    `json:"max_iterations"`
	StuckDetection   bool                   `json:"stuck_detection"`
	Policy           json.RawMessage        `json:"confirmation_policy"`
	Analyzer         json.RawMessage        `json:"security_analyzer,omitempty"`
	Agent            json.RawMessage        `json:"agent"`
	Secrets          json.RawMessage        `json:"secrets,omitempty"` // the sources by name
	SecretRefs       []string               `json:"secret_refs,omitempty"`
	ClientTools      []json.RawMessage      `json:"client_tools,omitempty"`
	ToolModules      map[string]string      `json:"tool_module_qualnames,omitempty"`
	HookConfig       json.RawMessage        `json:"hook_config,omitempty"`
	UserID           string                 `json:"user_id,omitempty"`
	Autotitle        bool                   `json:"autotitle"`
	TitleProfile     string                 `json:"title_llm_profile,omitempty"`
	TitlePrompt      string                 `json:"prompt,omitempty"`
	LaunchedProfile  json.RawMessage        `json:"launched_agent_profile,omitempty"`
	SubConversations []event.ConversationID `json:"sub_conversation_ids,omitempty"`
	ForkedAt         event.ID               `json:"forked_from_event_id,omitempty"`
}

// stored is the Extra of a conversation's Meta. Its order and Size let a list
// take the snapshot out without reading the rest, see [kept].
type stored struct {
	// Snapshot is the conversation's description when its last event was
	// Seq; it holds as long as that is so. It has Size bytes.
	Seq      eventstream.Seq `json:"seq"`
	Size     int             `json:"size"`
	Snapshot json.RawMessage `json:"snapshot,omitempty"`
	Config   config          `json:"config"`
	// PathRules belong to the snapshot: descriptions do not show them. Older
	// stores have none, which is not the same as an empty list.
	PathRules json.RawMessage `json:"path_rules,omitempty"`
}

// kept returns the snapshot of a conversation and the Seq that it holds for;
// ok is false where they cannot be had without reading all.
func kept(extra []byte) (seq eventstream.Seq, snapshot json.RawMessage, ok bool) {
	n, rest, ok1 := number(extra, `{"seq":`)
	size, rest, ok2 := number(rest, `,"size":`)
	rest, ok3 := bytes.CutPrefix(rest, []byte(`,"snapshot":`))
	if !ok1 || !ok2 || !ok3 || size <= 0 || size >= len(rest) || !bytes.HasPrefix(rest[size:], []byte(`,"config":`)) {
		return 0, nil, false
	}
	return eventstream.Seq(n), rest[:size:size], true
}

// number takes a name and the digits behind it from the front of b.
func number(b []byte, name string) (n int, rest []byte, ok bool) {
	b, ok = bytes.CutPrefix(b, []byte(name))
	end := bytes.IndexByte(b, ',')
	if !ok || end < 0 {
		return 0, nil, false
	}
	n, err := strconv.Atoi(string(b[:end]))
	return n, b[end:], err == nil
}

func decodeStored(id event.ConversationID, meta eventstream.Meta) (*stored, error) {
	if len(meta.Extra) == 0 {
		return nil, fault.New(fault.Unsupported, "conversation "+string(id)+" was not made by an Agent Server").
			Hint("go on with it with `deft run --resume`")
	}
	var s stored
	if err := json.Unmarshal(meta.Extra, &s); err != nil {
		return nil, fault.Wrap(err, fault.Corrupt, "read the configuration of conversation "+string(id))
	}
	if len(s.Config.Agent) == 0 {
		return nil, fault.New(fault.Unsupported, "conversation "+string(id)+" was not made by an Agent Server").
			Hint("go on with it with `deft run --resume`")
	}
	return &s, nil
}

// encode returns the Meta with the configuration and the snapshot.
func (s *stored) encode(meta eventstream.Meta) (eventstream.Meta, error) {
	s.Size = len(s.Snapshot)
	raw, err := encodeDocument(*s)
	if err != nil {
		return meta, fmt.Errorf("encode the configuration: %w", err)
	}
	meta.Extra = raw
	meta.Tags = maps.Clone(meta.Tags)
	return meta, nil
}
