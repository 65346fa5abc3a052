package codeact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/texttools"
	"github.com/deft-dev/deft/tool"
)

// Messages to the model after an answer that is of no use.
const (
	nudge   = "Your last answer had neither text nor a tool call. Go on with the task by calling a tool, or call finish with a message if it is done."
	cutOff  = "Your last answer reached the output limit and was cut off. Go on in smaller pieces."
	lost    = "Your last answer announced a tool call, but none arrived. Make the call again, or answer without one."
	example = "Your last answer ends with a tool call in its text, and it was not run: it may be an example. If it was meant as a call, write it again, by the tool interface if you can. If it was meant for the user, write a sentence after it."
	written = "Your last answer has a tool call written as text, and it was not run: %s. Call the tool by the tool interface, with its arguments as one JSON object. If the text was meant for the user, put the markup into a code block and write a sentence after it."
)

// mostAsked is how often in a row the model is asked again.
const mostAsked = 3

// answer turns a response into events. The first of them has the id item. view is the
// conversation before it.
func (a *Agent) answer(item event.ID, resp *llm.Response, tools *offer, view []event.Event) ([]event.Event, error) {
	if resp.ID == "" { // joins the calls of one response
		resp.ID = string(item)
	}
	problem := readWritten(resp, tools.tools, view)
	if len(resp.Message.ToolCalls) > 0 {
		return a.actions(item, resp, tools.set), nil
	}
	msg := &event.MessageEvent{Base: event.NewBase(event.SourceAgent), LLMMessage: resp.Message, LLMResponseID: resp.ID}
	msg.ID = item
	msg.LLMMessage.Role = event.RoleAssistant
	switch {
	case resp.Finish == llm.FinishLength:
		return []event.Event{msg, environment(cutOff)}, nil
	case problem == "":
		return []event.Event{msg}, nil
	case asked(view) >= mostAsked:
		return nil, fault.New(fault.Unsupported, fmt.Sprintf("the model was asked %d times and still gives no usable answer. It was told: %s", mostAsked, problem)).
			Hint("try another model, or a server that knows how this model writes tool calls")
	}
	again := environment(problem)
	again.Sender = agent.AsksAgain
	return []event.Event{msg, again}, nil
}

// readWritten takes calls that the model wrote as text as its calls. It returns the
// message that tells the model of an answer that is of no use, or "". A call that may be an
// example is one if the model was asked about that before.
func readWritten(resp *llm.Response, tools []llm.Tool, view []event.Event) string {
	m := &resp.Message
	if len(m.ToolCalls) > 0 || resp.Finish == llm.FinishLength || resp.Finish == llm.FinishContent {
		return ""
	}
	text := event.JoinText(m.Content)
	blank := strings.TrimSpace(text) == ""
	if blank {
		text = m.ReasoningContent // some models end their reasoning with the call
	}
	found := texttools.ReadWritten(text, tools)
	switch {
	case found.Doubtful && !wasTold(view, example):
		return example
	case len(found.Calls) > 0:
		m.ToolCalls = found.Calls
		if !blank {
			m.Content = event.Texts(found.Text)
		}
		return ""
	case found.Problem != "":
		return fmt.Sprintf(written, found.Problem)
	case blank:
		return nudge
	case resp.Finish == llm.FinishTools:
		return lost
	}
	return ""
}

// asked counts how often the model was asked again since it did something.
func asked(view []event.Event) int {
	n := 0
	for _, ev := range slices.Backward(view) {
		m, ok := ev.(*event.MessageEvent)
		switch {
		case !ok:
			if _, acted := ev.(*event.ActionEvent); acted {
				return n
			}
		case m.Source == event.SourceUser:
			return n
		case m.Sender == agent.AsksAgain:
			n++
		}
	}
	return n
}

// wasTold reports whether the model was told a text since the user's last message.
func wasTold(view []event.Event, text string) bool {
	for _, ev := range slices.Backward(view) {
		m, ok := ev.(*event.MessageEvent)
		switch {
		case !ok:
		case m.Source == event.SourceUser:
			return false
		case m.Sender == agent.AsksAgain && event.JoinText(m.LLMMessage.Content) == text:
			return true
		}
	}
	return false
}

func environment(text string) *event.MessageEvent {
	m := event.NewUserMessage(text)
	m.Source = event.SourceEnvironment
	return m
}

// actions turns the calls of a response into action events; the first carries
// thought and reasoning. A finish call ends the batch.
func (a *Agent) actions(item event.ID, resp *llm.Response, tools *tool.Set) []event.Event {
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
		parsed, err := tools.Parse(call.Name, call.Arguments)
		if err != nil {
			errors = append(errors, event.NewAgentErrorEvent(act, err.Error(), &event.ErrorClassification{Kind: "agent_action", Retryable: true, UserAction: "none"}))
			actions = append(actions, act)
			continue
		}
		act.ToolName = parsed.Definition.Name
		act.Action, act.Summary = parsed.Action, parsed.Describe(a.cfg.MaskArguments)
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
