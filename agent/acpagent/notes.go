package acpagent

import (
	"encoding/json"
	"maps"

	acp "github.com/coder/acp-go-sdk"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/state"
)

// keyState is the state update in which the reference keeps its knowledge of the program
// (docs/openhands/sdk-wire.md section 5.2).
const keyState = "agent_state"

// notes are the conversation's knowledge of the program, under the reference's names. Names of
// Deft's own begin with deft.
type notes struct {
	Name            string              `json:"acp_agent_name"`
	Version         string              `json:"acp_agent_version"`
	Session         acp.SessionId       `json:"acp_session_id"`
	Dir             string              `json:"acp_session_cwd"`
	SuffixInstalled bool                `json:"acp_suffix_installed,omitempty"`
	Switches        bool                `json:"acp_supports_runtime_model_switch"`
	Model           string              `json:"acp_current_model_id,omitempty"`
	Models          []spec.ACPModelInfo `json:"acp_available_models,omitempty"`
	ByOption        bool                `json:"acp_model_via_config_option"`
	// Conversation is whose session it is: a fork has the same notes.
	Conversation event.ConversationID `json:"deft_conversation"`
	// Prompted is the last message that the program was given.
	Prompted event.ID `json:"deft_prompted,omitempty"`
	// Cost is the cost of the session so far.
	Cost float64 `json:"deft_session_cost,omitempty"`

	others map[string]json.RawMessage // of the same update, of somebody else
}

func readNotes(s *state.State) notes {
	var n notes
	s.Field(keyState, &n) // of another form: none
	s.Field(keyState, &n.others)
	return n
}

// maxModels bounds the list of models that is kept.
const maxModels = 200

// clean bounds the program's words, which are a stranger's, and hides secrets in them.
func (n *notes) clean(mask func(string) string) {
	clean := func(word string) string { return shortened(mask(word), maxTitle) }
	n.Name, n.Version, n.Model = clean(n.Name), clean(n.Version), clean(n.Model)
	n.Session = acp.SessionId(clean(string(n.Session)))
	models := make([]spec.ACPModelInfo, 0, len(n.Models))
	for _, m := range n.Models[:min(len(n.Models), maxModels)] {
		m.ID, m.Name = clean(m.ID), clean(m.Name)
		if m.Description != nil {
			about := clean(*m.Description)
			m.Description = &about
		}
		models = append(models, m)
	}
	n.Models = models
}

// event is the state update that keeps the notes.
func (n notes) event(mask func(string) string) event.Event {
	n.clean(mask)
	all := maps.Clone(n.others)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	for _, field := range []string{"acp_suffix_installed", "acp_current_model_id", "acp_available_models", "deft_prompted", "deft_session_cost"} {
		delete(all, field)
	}
	raw, err := json.Marshal(n)
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	var ev event.Event
	if err == nil {
		ev, err = event.NewStateUpdate(keyState, all)
	}
	if err != nil {
		panic(err) // they are texts and numbers
	}
	return ev
}
