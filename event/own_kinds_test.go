package event_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
)

// TestWithoutOwnKinds: what tools of other packages have registered becomes what tools of MCP
// servers have; everything else stays byte for byte.
func TestWithoutOwnKinds(t *testing.T) {
	t.Parallel()
	base := event.NewBase(event.SourceAgent)
	tools := event.List[event.ToolDefinition]{
		{Description: "Counts.", ActionType: "TestCountAction", ObservationType: "TestCountObservation", KindName: "TestCountTool", Title: "count", Annotations: &event.Annotations{}},
		{Description: "Runs.", ActionType: "TerminalAction", ObservationType: "TerminalObservation", KindName: "TerminalTool", Title: "terminal", Annotations: &event.Annotations{}},
	}
	of := func(a event.Action) *event.ActionEvent {
		return &event.ActionEvent{Base: base, Action: a, ToolName: "count", ToolCallID: "c", Summary: "to count"}
	}
	result := func(o event.Observation) *event.ObservationEvent {
		return &event.ObservationEvent{Base: base, ToolName: "count", ToolCallID: "c", ActionID: "a", Observation: o}
	}
	for name, s := range map[string]struct {
		ev    event.Event
		parts []string // of the result; none: the event stays as it is
	}{
		"action":      {of(&TestCountAction{Word: "kind"}), []string{`"action":{"data":{"word":"kind"},"kind":"MCPToolAction"}`, `"tool_name":"count"`, `"summary":"to count"`}},
		"observation": {result(&TestCountObservation{event.ObservationBase{Content: event.Texts("two"), IsError: true}, 2}), []string{`"is_error":true,"tool_name":"count","kind":"MCPToolObservation"`, `"text":"two"`, `"action_id":"a"`}},
		"prompt":      {&event.SystemPromptEvent{Base: base, Tools: tools}, []string{`"action_type":"MCPToolAction","observation_type":"MCPToolObservation"`, `"mcp_tool":{"description":"Counts.","inputSchema":{"type":"object"},"name":"count"}`, `"kind":"MCPToolDefinition"`, `"kind":"TerminalTool"`}},
		"known":       {of(&event.TerminalAction{Command: "ls"}), nil},
		"nothing":     {of(nil), nil},
		"mentioned":   {result(&event.ThinkObservation{ObservationBase: event.ObservationBase{Content: event.Texts("TestCountAction")}}), nil},
		"of a client": {of(&event.UnknownAction{KindName: "ClientAction_x", Raw: json.RawMessage(`{"kind":"ClientAction_x"}`)}), nil},
	} {
		raw, err := event.Marshal(s.ev)
		must.Succeed(t, err)
		got, err := event.WithoutOwnKinds(raw)
		must.Succeed(t, err)
		if s.parts == nil && string(got) != string(raw) {
			t.Errorf("%s: %s became %s", name, raw, got)
		}
		for _, part := range s.parts {
			if !strings.Contains(string(got), part) {
				t.Errorf("%s: no %s in %s", name, part, got)
			}
		}
		if s.parts != nil && strings.Contains(string(got), "TestCount") {
			t.Errorf("%s: a kind stays in %s", name, got)
		}
		if _, err := event.Unmarshal(got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := event.WithoutOwnKinds([]byte(`{"kind":"ActionEvent","action":{"kind":"TestCountAction"`)); err == nil {
		t.Error("took half a document")
	}
}

// TestWithoutOwnKindsCost: events with known kinds only are not decoded.
func TestWithoutOwnKindsCost(t *testing.T) {
	raw, err := event.Marshal(event.NewUserMessage("hello"))
	must.Succeed(t, err)
	if n := testing.AllocsPerRun(10, func() { _, _ = event.WithoutOwnKinds(raw) }); n > 0 {
		t.Errorf("%.0f allocations", n)
	}
}
