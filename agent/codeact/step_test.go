package codeact_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/agent/codeact"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/memory"
	"github.com/deft-dev/deft/state"
)

// answered returns the events that an agent makes of a response.
func answered(t *testing.T, c codeact.Config, r *llm.Response) []event.Event {
	t.Helper()
	evs, err := step(newAgent(t, c), &stub{resp: r}, &state.State{View: []event.Event{user("hi")}})
	must.Succeed(t, err)
	return evs
}

func calls(c ...event.ToolCall) *llm.Response {
	return &llm.Response{ID: "resp", Message: event.Message{
		Role: event.RoleAssistant, Content: event.Texts("thought"), ToolCalls: c, ReasoningContent: "because",
		ThinkingBlocks: event.List[event.ThinkingBlock]{{Thinking: "hm"}}, ResponsesReasoningItem: &event.ReasoningItem{ID: "rs"},
	}}
}

func terminalCall(id, args string) event.ToolCall {
	return event.ToolCall{ID: id, Name: "terminal", Arguments: args, Origin: event.OriginCompletion}
}

func TestOnlyTheFirstActionHasThoughts(t *testing.T) {
	t.Parallel()
	evs := answered(t, codeact.Config{}, calls(terminalCall("1", `{"command":"a"}`), terminalCall("2", `{"command":"b"}`)))
	if len(evs) != 2 {
		t.Fatalf("%d events, want 2", len(evs))
	}
	first, second := evs[0].(*event.ActionEvent), evs[1].(*event.ActionEvent)
	if event.JoinText(first.Thought) != "thought" || first.ReasoningContent != "because" || len(first.ThinkingBlocks) != 1 || first.ResponsesReasoningItem == nil {
		t.Errorf("the first action lost its thought: %+v", first)
	}
	if len(second.Thought) != 0 || second.ReasoningContent != "" || len(second.ThinkingBlocks) != 0 || second.ResponsesReasoningItem != nil {
		t.Errorf("the second action repeats the thought: %+v", second)
	}
	if first.LLMResponseID != "resp" || second.LLMResponseID != "resp" || first.Source != event.SourceAgent {
		t.Errorf("response ids %q and %q, source %q", first.LLMResponseID, second.LLMResponseID, first.Source)
	}
	if diff := cmp.Diff(&event.TerminalAction{Command: "b"}, second.Action); diff != "" {
		t.Errorf("action (-want +got):\n%s", diff)
	}
}

func TestFinishEndsTheBatch(t *testing.T) {
	t.Parallel()
	evs := answered(t, codeact.Config{}, calls(
		terminalCall("1", `{"command":"a"}`),
		event.ToolCall{ID: "2", Name: "finish", Arguments: `{"message":"done"}`},
		terminalCall("3", `{"command":"never"}`),
	))
	if len(evs) != 2 {
		t.Fatalf("%d events, want the call before finish and finish", len(evs))
	}
	if a, ok := evs[1].(*event.ActionEvent).Action.(*event.FinishAction); !ok || a.Message != "done" {
		t.Errorf("the last event is %+v, want finish", evs[1])
	}
}

func TestBadCalls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]event.ToolCall{
		"unknown tool":      {ID: "1", Name: "teleport", Arguments: "{}"},
		"half an object":    terminalCall("1", `{"command": "l`),
		"missing argument":  terminalCall("1", `{}`),
		"not an object":     terminalCall("1", `[1]`),
		"unknown, no id":    {Name: "teleport", Arguments: "{}"},
		"unexpected fields": terminalCall("1", `{"command":"a","wish":1}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			evs := answered(t, codeact.Config{}, calls(c, terminalCall("2", `{"command":"good"}`)))
			if len(evs) != 3 {
				t.Fatalf("%d events, want two actions and an error", len(evs))
			}
			bad, good, problem := evs[0].(*event.ActionEvent), evs[1].(*event.ActionEvent), evs[2].(*event.AgentErrorEvent)
			if bad.Action != nil || good.Action == nil {
				t.Errorf("actions %v and %v, want nil and one", bad.Action, good.Action)
			}
			if problem.ToolCallID == "" || problem.ToolCallID != bad.ToolCallID || problem.Error == "" || problem.ToolName != c.Name {
				t.Errorf("the error %+v does not answer the call %q", problem, bad.ToolCallID)
			}
			if bad.ToolCall.Arguments != c.Arguments {
				t.Errorf("arguments %q, want what the model wrote", bad.ToolCall.Arguments)
			}
		})
	}
}

func TestCallIDsAreMadeUnique(t *testing.T) {
	t.Parallel()
	r := calls(terminalCall("1", `{"command":"a"}`), terminalCall("1", `{"command":"b"}`), terminalCall("", `{"command":"c"}`))
	r.ID = ""
	ids := map[string]bool{}
	response := ""
	for _, ev := range answered(t, codeact.Config{}, r) {
		a := ev.(*event.ActionEvent)
		if a.ToolCallID == "" || ids[a.ToolCallID] || a.ToolCall.ID != a.ToolCallID {
			t.Errorf("call id %q (in the call %q) is empty or taken", a.ToolCallID, a.ToolCall.ID)
		}
		ids[a.ToolCallID] = true
		if a.LLMResponseID == "" || response != "" && a.LLMResponseID != response {
			t.Errorf("response id %q after %q", a.LLMResponseID, response)
		}
		response = a.LLMResponseID
	}
	if !ids["1"] {
		t.Error("the first call has lost its id")
	}
}

func TestRiskIsReportedOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	for report, want := range map[bool]event.Risk{false: event.RiskUnknown, true: event.RiskHigh} {
		evs := answered(t, codeact.Config{ReportRisk: report}, calls(terminalCall("1", `{"command":"a","security_risk":"HIGH","summary":"does a"}`)))
		a := evs[0].(*event.ActionEvent)
		if a.SecurityRisk != want || a.Summary != "does a" {
			t.Errorf("ReportRisk %v: risk %s, summary %q", report, a.SecurityRisk, a.Summary)
		}
	}
}

// TestDescription: a call that the model does not describe is described by its arguments,
// without the secrets in them.
func TestDescription(t *testing.T) {
	t.Parallel()
	hide := func(arguments string) string { return strings.ReplaceAll(arguments, "hush", "…") }
	evs := answered(t, codeact.Config{MaskArguments: hide}, calls(terminalCall("1", `{"command":"echo hush"}`)))
	if a := evs[0].(*event.ActionEvent); a.Summary != `terminal: {"command":"echo …"}` || a.Action.(*event.TerminalAction).Command != "echo hush" {
		t.Errorf("%q, %+v", a.Summary, a.Action)
	}
}

func TestAnswersWithoutCalls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text   string
		finish llm.Finish
		nudge  string // part of the message that follows; empty for none
	}{
		"text":            {"done", llm.FinishStop, ""},
		"nothing":         {"", llm.FinishStop, "neither text nor a tool call"},
		"only space":      {" \n", llm.FinishStop, "neither text nor a tool call"},
		"cut off":         {"I will no", llm.FinishLength, "output limit"},
		"nothing, at all": {"", llm.FinishLength, "output limit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := says(c.text)
			r.Finish = c.finish
			evs := answered(t, codeact.Config{}, r)
			m, ok := evs[0].(*event.MessageEvent)
			if !ok || m.Source != event.SourceAgent || m.LLMMessage.Role != event.RoleAssistant || m.LLMResponseID != "r" {
				t.Fatalf("first event %+v, want the agent's message", evs[0])
			}
			if c.nudge == "" {
				if len(evs) != 1 {
					t.Errorf("%d events, want 1", len(evs))
				}
				return
			}
			if len(evs) != 2 {
				t.Fatalf("%d events, want a nudge as well", len(evs))
			}
			n := evs[1].(*event.MessageEvent)
			if n.Source != event.SourceEnvironment || n.LLMMessage.Role != event.RoleUser || !strings.Contains(event.JoinText(n.LLMMessage.Content), c.nudge) {
				t.Errorf("nudge %+v", n)
			}
		})
	}
}

// TestCallsAsText takes calls that a model wrote as text, or asks again.
func TestCallsAsText(t *testing.T) {
	t.Parallel()
	const call = "<tool_call>{\"name\":\"terminal\",\"arguments\":{\"command\":\"ls\"}}</tool_call>"
	for name, c := range map[string]struct {
		text, reasoning string
		finish          llm.Finish
		thought, asked  string
	}{
		"a call":            {text: "Look.\n" + call, thought: "Look."},
		"in the reasoning":  {reasoning: "Hm.\n" + call},
		"unknown tool":      {text: "<tool_call>{\"name\":\"fly\",\"arguments\":{}}</tool_call>", asked: `there is no tool "fly"`},
		"announced":         {text: "I list the files.", finish: llm.FinishTools, asked: "none arrived"},
		"text after a call": {text: call + "\na.go b.go", asked: "text follows the call"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := says(c.text)
			r.Message.ReasoningContent, r.Finish = c.reasoning, c.finish
			if c.text == "" {
				r.Message.Content = nil
			}
			evs := answered(t, codeact.Config{}, r)
			if c.asked != "" {
				if n := evs[1].(*event.MessageEvent); n.Source != event.SourceEnvironment || !strings.Contains(event.JoinText(n.LLMMessage.Content), c.asked) {
					t.Errorf("asked %+v, want %q", n, c.asked)
				}
				return
			}
			act, ok := evs[0].(*event.ActionEvent)
			if !ok || len(evs) != 1 || act.ToolCallID == "" || event.JoinText(act.Thought) != c.thought {
				t.Fatalf("events %+v", evs)
			}
			if diff := cmp.Diff(&event.TerminalAction{Command: "ls"}, act.Action); diff != "" {
				t.Errorf("action (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDoubtfulCall asks about a call in a code block after text, which may be an example, and
// runs it if it is written again.
func TestDoubtfulCall(t *testing.T) {
	t.Parallel()
	r := says("I run:\n```json\n{\"name\":\"terminal\",\"arguments\":{\"command\":\"ls\"}}\n```")
	a, view := newAgent(t, codeact.Config{}), []event.Event{user("hi")}
	evs, err := step(a, &stub{resp: r}, &state.State{View: view})
	if err != nil || len(evs) != 2 || !strings.Contains(event.JoinText(evs[1].(*event.MessageEvent).LLMMessage.Content), "may be an example") {
		t.Fatalf("%+v, %v", evs, err)
	}
	evs, err = step(a, &stub{resp: r}, &state.State{View: append(view, evs...)})
	if err != nil || len(evs) != 1 || evs[0].(*event.ActionEvent).ToolName != "terminal" {
		t.Fatalf("%+v, %v", evs, err)
	}
}

// TestAskedThreeTimes gives up after three answers of no use in a row.
func TestAskedThreeTimes(t *testing.T) {
	t.Parallel()
	r := says("I list the files.")
	r.Finish = llm.FinishTools
	a, view := newAgent(t, codeact.Config{}), []event.Event{user("hi")}
	for range 3 {
		evs, err := step(a, &stub{resp: r}, &state.State{View: view})
		if err != nil || len(evs) != 2 {
			t.Fatalf("%d events, %v", len(evs), err)
		}
		view = append(view, evs...)
	}
	if evs, err := step(a, &stub{resp: r}, &state.State{View: view}); !fault.Is(err, fault.Unsupported) || !strings.Contains(err.Error(), "asked 3 times") {
		t.Errorf("events %v, error %v", evs, err)
	}
	view = append(view, call("1", "r", "x"), result("1", "y"))
	if evs, err := step(a, &stub{resp: r}, &state.State{View: view}); err != nil || len(evs) != 2 {
		t.Errorf("after an action: %d events, %v", len(evs), err)
	}
}

func TestStreamedTextHasTheFinishedEventsID(t *testing.T) {
	t.Parallel()
	a := newAgent(t, codeact.Config{})
	seen := map[event.ID]bool{}
	turn := streaming(a, func(id event.ID) { seen[id] = true })
	if len(turn) != 1 || len(seen) != 1 || !seen[turn[0].Meta().ID] {
		t.Errorf("deltas for %v, event %v", seen, turn)
	}
}

func TestCondensation(t *testing.T) {
	t.Parallel()
	done := &event.Condensation{Base: event.Base{ID: "c"}}
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		condenser *condenser // nil for none
		requested bool
		llm       error
		want      string // kinds of events, or of the fault
		asked     int    // how often the condenser was
	}{
		"not needed":                     {&condenser{event: done}, false, nil, "MessageEvent", 0},
		"needed":                         {&condenser{needed: true, event: done}, false, nil, "Condensation", 1},
		"needed, but nothing helps":      {&condenser{needed: true}, false, nil, "MessageEvent", 1},
		"requested":                      {&condenser{event: done}, true, nil, "Condensation", 1},
		"requested, but nothing helps":   {&condenser{}, true, nil, "fault context", 1},
		"failing":                        {&condenser{needed: true, err: broken}, false, nil, "fault internal", 1},
		"requested without a condenser":  {nil, true, nil, "MessageEvent", 0},
		"the prompt does not fit":        {&condenser{}, false, tooLong(), "CondensationRequest", 0},
		"does not fit, and no condenser": {nil, false, tooLong(), "fault context", 0},
		"another failure of the model":   {&condenser{}, false, llm.NewError(fault.Auth, "p", "m", "no", nil), "fault auth", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var cfg codeact.Config
			if c.condenser != nil {
				cfg.Condenser = c.condenser
			}
			evs, err := step(newAgent(t, cfg), &stub{err: c.llm}, &state.State{
				View: []event.Event{user("hi")}, CondensationRequested: c.requested,
			})
			var got []string
			for _, ev := range evs {
				got = append(got, ev.Kind())
			}
			if err != nil {
				got = append(got, "fault "+string(fault.KindOf(err)))
			}
			if g := strings.Join(got, " "); g != c.want {
				t.Errorf("got %s (%v), want %s", g, err, c.want)
			}
			if c.condenser != nil && c.condenser.asked != c.asked {
				t.Errorf("the condenser was asked %d times, want %d", c.condenser.asked, c.asked)
			}
		})
	}
}

// TestPromptThatOutgrowsTheWindow is shortened before it is sent, by the
// provider's count.
func TestPromptThatOutgrowsTheWindow(t *testing.T) {
	t.Parallel()
	view := []event.Event{system(), user("task")}
	for range 10 {
		view = append(view, user(strings.Repeat("abcdefg", 100)))
	}
	view = append(view, user("end"))
	for name, c := range map[string]struct {
		window, counted int
		want            string
	}{
		"fits":                   {4000, 0, "MessageEvent"},
		"does not":               {1500, 0, "Condensation"},
		"fits by the count":      {2100, 1200, "MessageEvent"},
		"does not, by the count": {4000, 5000, "Condensation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, codeact.Config{Condenser: memory.Summarizing{}})
			before := says("ok")
			before.Usage.Prompt = c.counted
			if _, err := step(a, &stub{resp: before}, &state.State{View: view}); err != nil {
				t.Fatal(err)
			}
			evs, err := step(a, &stub{info: llm.Info{ContextWindow: c.window}}, &state.State{View: view})
			if err != nil || evs[0].Kind() != c.want {
				t.Errorf("%v, %v, want a %s", evs, err, c.want)
			}
		})
	}
}

func tooLong() error { return llm.NewError(fault.Context, "p", "m", "too long", nil) }

func TestToolsAreRequired(t *testing.T) {
	t.Parallel()
	if _, err := codeact.New(codeact.Config{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("error %v, want invalid", err)
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	m := &stub{}
	a := newAgent(t, codeact.Config{})
	if _, err := step(a, m, &state.State{View: []event.Event{user("hi")}}); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range m.last.Tools {
		names = append(names, o.Name)
	}
	if diff := cmp.Diff([]string{"terminal", "think", "finish"}, names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if m.last.Session != "s" {
		t.Errorf("session %q", m.last.Session)
	}
}
