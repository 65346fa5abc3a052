package event

import "strings"

// modules holds, for each event kind, the module of the reference that
// defines it (docs/openhands/sdk-wire.md section 7.1, checked against the package).
var modules = map[string]string{
	"ACPToolCallEvent":             "openhands.sdk.event.acp_tool_call",
	"ActionEvent":                  "openhands.sdk.event.llm_convertible.action",
	"AgentErrorEvent":              "openhands.sdk.event.llm_convertible.observation",
	"Condensation":                 "openhands.sdk.event.condenser",
	"CondensationRequest":          "openhands.sdk.event.condenser",
	"CondensationSummaryEvent":     "openhands.sdk.event.condenser",
	"ConversationErrorEvent":       "openhands.sdk.event.conversation_error",
	"ConversationStateUpdateEvent": "openhands.sdk.event.conversation_state",
	"HookExecutionEvent":           "openhands.sdk.event.hook_execution",
	"InterruptEvent":               "openhands.sdk.event.user_action",
	"LLMCompletionLogEvent":        "openhands.sdk.event.llm_completion_log",
	"MessageEvent":                 "openhands.sdk.event.llm_convertible.message",
	"ObservationEvent":             "openhands.sdk.event.llm_convertible.observation",
	"PauseEvent":                   "openhands.sdk.event.user_action",
	"SecurityAnalysisEvent":        "openhands.sdk.event.security",
	"ServerErrorEvent":             "openhands.agent_server.models",
	"StreamingDeltaEvent":          "openhands.sdk.event.streaming_delta",
	"SystemPromptEvent":            "openhands.sdk.event.llm_convertible.system",
	"TokenEvent":                   "openhands.sdk.event.token",
	"UserRejectObservation":        "openhands.sdk.event.llm_convertible.observation",
}

// QualifiedKind returns the name that the kind filter of the events routes
// compares: the reference's module and class name. A kind without one is
// returned as it is.
func QualifiedKind(kind string) string {
	if module, ok := modules[kind]; ok {
		return module + "." + kind
	}
	return kind
}

// ShortKind returns the kind that a filter value means: a short name as it
// is, a qualified name of [QualifiedKind] without its module. Any other value
// is returned as it is and so matches nothing.
func ShortKind(qualifiedOrShort string) string {
	short := qualifiedOrShort[strings.LastIndexByte(qualifiedOrShort, '.')+1:]
	if QualifiedKind(short) == qualifiedOrShort {
		return short
	}
	return qualifiedOrShort
}
