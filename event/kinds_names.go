package event

// Kind implements [Event].
func (*SystemPromptEvent) Kind() string { return "SystemPromptEvent" }

// Kind implements [Event].
func (*MessageEvent) Kind() string { return "MessageEvent" }

// Kind implements [Event].
func (*ActionEvent) Kind() string { return "ActionEvent" }

// Kind implements [Event].
func (*ObservationEvent) Kind() string { return "ObservationEvent" }

// Kind implements [Event].
func (*UserRejectObservation) Kind() string { return "UserRejectObservation" }

// Kind implements [Event].
func (*AgentErrorEvent) Kind() string { return "AgentErrorEvent" }

// Kind implements [Event].
func (*Condensation) Kind() string { return "Condensation" }

// Kind implements [Event].
func (*CondensationRequest) Kind() string { return "CondensationRequest" }

// Kind implements [Event].
func (*CondensationSummaryEvent) Kind() string { return "CondensationSummaryEvent" }

// Kind implements [Event].
func (*PauseEvent) Kind() string { return "PauseEvent" }

// Kind implements [Event].
func (*InterruptEvent) Kind() string { return "InterruptEvent" }

// Kind implements [Event].
func (*ConversationStateUpdateEvent) Kind() string { return "ConversationStateUpdateEvent" }

// Kind implements [Event].
func (*ConversationErrorEvent) Kind() string { return "ConversationErrorEvent" }

// Kind implements [Event].
func (*ServerErrorEvent) Kind() string { return "ServerErrorEvent" }

// Kind implements [Event].
func (*StreamingDeltaEvent) Kind() string { return "StreamingDeltaEvent" }

// Kind implements [Event].
func (*LLMCompletionLogEvent) Kind() string { return "LLMCompletionLogEvent" }

// Kind implements [Event].
func (*TokenEvent) Kind() string { return "TokenEvent" }

// Kind implements [Event].
func (*HookExecutionEvent) Kind() string { return "HookExecutionEvent" }

// Kind implements [Event].
func (*ACPToolCallEvent) Kind() string { return "ACPToolCallEvent" }

// Kind implements [Event].
func (*SecurityAnalysisEvent) Kind() string { return "SecurityAnalysisEvent" }

func init() {
	register[SystemPromptEvent]()
	register[MessageEvent]()
	register[ActionEvent]()
	register[ObservationEvent]()
	register[UserRejectObservation]()
	register[AgentErrorEvent]()
	register[Condensation]()
	register[CondensationRequest]()
	register[CondensationSummaryEvent]()
	register[PauseEvent]()
	register[InterruptEvent]()
	register[ConversationStateUpdateEvent]()
	register[ConversationErrorEvent]()
	register[ServerErrorEvent]()
	register[StreamingDeltaEvent]()
	register[LLMCompletionLogEvent]()
	register[TokenEvent]()
	register[HookExecutionEvent]()
	register[ACPToolCallEvent]()
	register[SecurityAnalysisEvent]()
}
