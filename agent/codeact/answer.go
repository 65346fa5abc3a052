package codeact

import (
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
)

// Messages to the model after an empty or truncated answer.
const (
	nudge  = "Your last answer had neither text nor a tool call. Go on with the task by calling a tool, or call finish with a message if it is done."
	cutOff = "Your last answer reached the output limit and was cut off. Go on in smaller pieces."
)

// answer turns a response into events. The first of them has the id item.
func (a *Agent) answer(item event.ID, resp *llm.Response) []event.Event {
	if resp.ID == "" { // joins the calls of one response
		resp.ID = string(item)
	}
	if len(resp.Message.ToolCalls) > 0 {
		return a.actions(item, resp)
	}
	msg := &event.MessageEvent{Base: event.NewBase(event.SourceAgent), LLMMessage: resp.Message, LLMResponseID: resp.ID}
	msg.ID = item
	msg.LLMMessage.Role = event.RoleAssistant
	switch {
	case resp.Finish == llm.FinishLength:
		return []event.Event{msg, environment(cutOff)}
	case strings.TrimSpace(event.JoinText(resp.Message.Content)) == "":
		return []event.Event{msg, environment(nudge)}
	}
	return []event.Event{msg}
}

func environment(text string) event.Event {
	m := event.NewUserMessage(text)
	m.Source = event.SourceEnvironment
	return m
}

// actions turns the calls of a response into action events; the first carries
// thought and reasoning. A finish call ends the batch.
func (a *Agent) actions(item event.ID, resp *llm.Response) []event.Event {
	var actions, errors []event.Event
	taken := map[string]bool{}
	for i, call := range resp.Message.ToolCalls {
		if call.ID == "" || taken[call.ID] { // a result is found by it
			call.ID = "call_" + string(event.NewID())
		}
		taken[call.ID] = true
		act := &event.ActionEvent{
			Base: event.NewBase(event.SourceAgent), ToolName: call.Name, ToolCallID: call.ID, ToolCall: call,
			LLMResponseID: resp.ID, SecurityRisk: event.RiskUnknown,
		}
		if i == 0 {
			act.ID = item
			act.Thought = resp.Message.Content
			act.ReasoningContent = resp.Message.ReasoningContent
			act.ThinkingBlocks = resp.Message.ThinkingBlocks
			act.ResponsesReasoningItem = resp.Message.ResponsesReasoningItem
		}
		parsed, err := a.cfg.Tools.Parse(call.Name, call.Arguments)
		if err != nil {
			errors = append(errors, &event.AgentErrorEvent{
				Base: event.NewBase(event.SourceAgent), ToolName: call.Name, ToolCallID: call.ID, Error: err.Error(),
				Classification: &event.ErrorClassification{Kind: "agent_action", Retryable: true, UserAction: "none"},
			})
			actions = append(actions, act)
			continue
		}
		act.ToolName = parsed.Definition.Name
		act.Action, act.Summary = parsed.Action, parsed.Summary
		if a.cfg.ReportRisk {
			act.SecurityRisk = parsed.Risk
		}
		actions = append(actions, act)
		if _, finish := parsed.Action.(*event.FinishAction); finish {
			break
		}
	}
	return append(actions, errors...)
}
