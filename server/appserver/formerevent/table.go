package formerevent

import "slices"

// form is what a kind was.
type form struct {
	kind string // its name
	// made adds what it had, or had otherwise, to what it has; nil for nothing.
	made func(out, in object) error
}

// eventForms are the events that had another form. Nothing is sent of those with an empty
// name.
var eventForms = map[string]form{
	"SystemPromptEvent": {"SystemPromptEvent", systemPrompt},
	"ActionEvent":       {"ActionEvent", action},
	"ObservationEvent":  {"ObservationEvent", observation},
	"MessageEvent":      {"MessageEvent", message},
	"InterruptEvent":    {"PauseEvent", nil},
	// A failed run had no event. This one is shown, and has the text.
	"ConversationErrorEvent": {"AgentErrorEvent", failure},
	"ServerErrorEvent":       {"AgentErrorEvent", failure},
	"StreamingDeltaEvent":    {}, // messages came whole
}

// actionForms are the actions that had another form.
var actionForms = map[string]form{
	"TerminalAction": {"ExecuteBashAction", nil},
}

// observationForms are the observations that had another form. The content of two was a
// text, which later pages take as well; that of the others is left as it is.
var observationForms = map[string]form{
	"TerminalObservation":           {"ExecuteBashObservation", terminal},
	"FileEditorObservation":         {"FileEditorObservation", textOrError("output")},
	"PlanningFileEditorObservation": {"PlanningFileEditorObservation", textOrError("output")},
	"BrowserObservation":            {"BrowserObservation", textOrError("output")},
	"GlobObservation":               {"GlobObservation", textOrError("")},
	"GrepObservation":               {"GrepObservation", textOrError("")},
	"TaskTrackerObservation":        {"TaskTrackerObservation", text("content")},
	"ThinkObservation":              {"ThinkObservation", text("content")},
	"FinishObservation":             {"FinishObservation", text("message")},
	"DelegateObservation":           {"DelegateObservation", text("message")},
}

// sources are those that the page shows; it drops events of others.
var sources = []string{`"agent"`, `"user"`, `"environment"`}

func known(source string) bool { return slices.Contains(sources, source) }
