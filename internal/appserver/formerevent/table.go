package formerevent

import "slices"

// form is what a kind was.
type form struct {
	kind   string   // its name
	fields []string // those that are as they were
	// made adds what was made of other fields; nil for nothing.
	made func(out, in object) error
}

// common are the fields of all events.
var common = []string{"id", "timestamp", "source"}

// eventForms are the events that had another form. Nothing is sent of those with an empty
// name.
var eventForms = map[string]form{
	"SystemPromptEvent": {"SystemPromptEvent", nil, systemPrompt},
	"ActionEvent": {"ActionEvent", []string{
		"reasoning_content", "responses_reasoning_item", "tool_name", "tool_call_id", "llm_response_id", "security_risk",
	}, action},
	"ObservationEvent":      {"ObservationEvent", []string{"tool_name", "tool_call_id", "action_id"}, observation},
	"MessageEvent":          {"MessageEvent", []string{"llm_response_id", "activated_skills"}, message},
	"AgentErrorEvent":       {"AgentErrorEvent", []string{"tool_name", "tool_call_id", "error"}, nil},
	"UserRejectObservation": {"UserRejectObservation", []string{"tool_name", "tool_call_id", "action_id", "rejection_reason"}, nil},
	"Condensation":          {"Condensation", []string{"forgotten_event_ids", "summary", "summary_offset", "llm_response_id"}, nil},
	"CondensationRequest":   {"CondensationRequest", nil, nil},
	"PauseEvent":            {"PauseEvent", nil, nil},
	"InterruptEvent":        {"PauseEvent", nil, nil},
	// A failed run had no event. This one is shown, and has the text.
	"ConversationErrorEvent": {"AgentErrorEvent", nil, failure},
	"ServerErrorEvent":       {"AgentErrorEvent", nil, failure},
	"StreamingDeltaEvent":    {}, // messages came whole
	"ConversationStateUpdateEvent": {
		"ConversationStateUpdateEvent", []string{"key", "value"}, nil,
	},
}

var (
	editFields  = []string{"command", "path", "file_text", "old_str", "new_str", "insert_line", "view_range"}
	editResults = []string{"command", "path", "prev_exist", "old_content", "new_content"}
)

// actionForms are the actions that had another form.
var actionForms = map[string]form{
	"TerminalAction":           {"ExecuteBashAction", []string{"command", "is_input", "timeout", "reset"}, nil},
	"FileEditorAction":         {"FileEditorAction", editFields, nil},
	"PlanningFileEditorAction": {"PlanningFileEditorAction", editFields, nil},
	"DelegateAction":           {"DelegateAction", []string{"command", "ids", "tasks"}, nil},
}

// observationForms are the observations that had another form.
var observationForms = map[string]form{
	"TerminalObservation":           {"ExecuteBashObservation", []string{"command", "exit_code", "timeout", "metadata"}, terminal},
	"FileEditorObservation":         {"FileEditorObservation", editResults, textOrError("output")},
	"PlanningFileEditorObservation": {"PlanningFileEditorObservation", editResults, textOrError("output")},
	"BrowserObservation":            {"BrowserObservation", []string{"screenshot_data"}, textOrError("output")},
	"GlobObservation":               {"GlobObservation", []string{"files", "pattern", "search_path", "truncated"}, textOrError("")},
	"GrepObservation":               {"GrepObservation", []string{"matches", "pattern", "search_path", "include_pattern", "truncated"}, textOrError("")},
	"TaskTrackerObservation":        {"TaskTrackerObservation", []string{"command", "task_list"}, text("content")},
	"ThinkObservation":              {"ThinkObservation", nil, text("content")},
	"FinishObservation":             {"FinishObservation", nil, text("message")},
	"DelegateObservation":           {"DelegateObservation", []string{"command"}, text("message")},
	"MCPToolObservation":            {"MCPToolObservation", []string{"is_error", "tool_name"}, blocks("content")},
}

var (
	messageFields = []string{"role", "tool_call_id", "name", "reasoning_content", "responses_reasoning_item"}
	callFields    = []string{"id", "name", "arguments", "origin"}
	blockFields   = []string{"type", "text", "image_urls", "cache_prompt"}
)

// sources are those that the page shows; it drops events of others.
var sources = []string{`"agent"`, `"user"`, `"environment"`}

func known(source string) bool { return slices.Contains(sources, source) }
