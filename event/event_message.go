package event

import "encoding/json"

// MessageEvent is a chat message of the user, the agent or the environment.
type MessageEvent struct {
	Base
	LLMMessage      Message         `json:"llm_message"`
	LLMResponseID   string          `json:"llm_response_id,omitempty"`
	ActivatedSkills List[string]    `json:"activated_skills"`        // names of skills the message triggered
	ExtendedContent List[Content]   `json:"extended_content"`        // text added for the model only: skills, hooks
	Sender          string          `json:"sender,omitempty"`        // the agent that wrote it, between agents
	CriticResult    json.RawMessage `json:"critic_result,omitempty"` // {score 0..1, message?, metadata?}
}

// Kind implements [Event].
func (*MessageEvent) Kind() string { return "MessageEvent" }

func init() {
	register[MessageEvent]()
}
