package event

import "encoding/json"

// NewUserMessage returns a user's text message with a fresh id.
func NewUserMessage(text string) *MessageEvent {
	return &MessageEvent{Base: NewBase(SourceUser), LLMMessage: Message{Role: RoleUser, Content: Texts(text)}}
}

// NewStateUpdate returns a state update of one key. Its value must encode as
// JSON; a value that does not is a defect of the caller and is returned as
// the error. A json.RawMessage is taken as it is, and checked by [Marshal].
func NewStateUpdate(key string, value any) (*ConversationStateUpdateEvent, error) {
	raw, encoded := value.(json.RawMessage)
	if !encoded {
		var err error
		if raw, err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	return &ConversationStateUpdateEvent{Base: NewBase(SourceEnvironment), Key: key, Value: raw}, nil
}

// NewObservationEvent returns the event that answers act with o.
func NewObservationEvent(act *ActionEvent, o Observation) *ObservationEvent {
	return &ObservationEvent{
		Base: NewBase(SourceEnvironment), ToolName: act.ToolName, ToolCallID: act.ToolCallID,
		ActionID: act.ID, Observation: o,
	}
}

// NewAgentErrorEvent returns the event that answers act with an error: it could
// not be run, or its effect is not known. c may be nil, which the reference reads
// as "unknown, do not retry".
func NewAgentErrorEvent(act *ActionEvent, msg string, c *ErrorClassification) *AgentErrorEvent {
	return &AgentErrorEvent{
		Base: NewBase(SourceAgent), ToolName: act.ToolName, ToolCallID: act.ToolCallID,
		Error: msg, Classification: c,
	}
}
