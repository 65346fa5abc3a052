package event_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

func TestWithNulls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"of the event": {
			`{"id":"1","timestamp":"t","source":"user","kind":"PauseEvent"}`,
			`{"id":"1","timestamp":"t","source":"user","parent_id":null,"kind":"PauseEvent"}`,
		},
		"deeper, in lists too": {
			`{"parent_id":"p","llm_message":{"tool_calls":[{"id":"c"}],"thinking_blocks":[{"type":"thinking"},{"type":"redacted_thinking","data":"d"}]},"sender":"me","kind":"MessageEvent"}`,
			`{"parent_id":"p","llm_message":{"tool_calls":[{"id":"c","responses_item_id":null}],"tool_call_id":null,"name":null,"reasoning_content":null,` +
				`"thinking_blocks":[{"type":"thinking","signature":null},{"type":"redacted_thinking","data":"d"}],"responses_reasoning_item":null},` +
				`"llm_response_id":null,"sender":"me","critic_result":null,"kind":"MessageEvent"}`,
		},
		"in unions, and what is new": {
			`{"parent_id":null,"action":{"path":"/x","new":{"a":[1]},"kind":"GlobAction"},"new":1,"kind":"ActionEvent"}`,
			`{"parent_id":null,"reasoning_content":null,"responses_reasoning_item":null,"action":{"path":"/x","new":{"a":[1]},"kind":"GlobAction"},` +
				`"critic_result":null,"summary":null,"new":1,"kind":"ActionEvent"}`,
		},
		"not where a client's own is": {
			`{"parent_id":"p","key":"k","value":{"a":{}},"kind":"ConversationStateUpdateEvent"}`,
			`{"parent_id":"p","key":"k","value":{"a":{}},"kind":"ConversationStateUpdateEvent"}`,
		},
		"not of a tool of another kind": {
			`{"parent_id":"p","tools":[{"kind":"TerminalTool","annotations":null,"meta":{}}],"dynamic_context":null,"kind":"SystemPromptEvent"}`,
			`{"parent_id":"p","tools":[{"observation_type":null,"annotations":null,"meta":{},"kind":"TerminalTool"}],"dynamic_context":null,"kind":"SystemPromptEvent"}`,
		},
		"unknown": {`{"a":{},"kind":"NobodyKnowsEvent"}`, `{"a":{},"kind":"NobodyKnowsEvent"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := event.WithNulls([]byte(c.in))
			if err != nil || string(got) != c.want {
				t.Errorf("%v\n got %s\nwant %s", err, got, c.want)
			}
		})
	}
	for _, bad := range []string{"", "{", `{"kind":}`} {
		if _, err := event.WithNulls([]byte(bad)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// nullsOfReference: the reference writes nulls where WithNulls does, for every kind there
// is, except in an MCP server's description of its tools.
func nullsOfReference(t *testing.T) (lines [][]byte, judge func(t *testing.T, verdicts []verdict)) {
	t.Helper()
	for _, g := range goldens(t, "golden/*.json") {
		var v struct{ Kind string }
		must.Succeed(t, json.Unmarshal(g.raw, &v))
		const base = `{"id":"00000000-0000-4000-8000-000000000001","timestamp":"2026-11-21T12:00:00.000000","source":"agent","tool_name":"t","tool_call_id":"c",`
		line := g.raw
		switch {
		case slices.Contains(event.ActionKinds(), v.Kind):
			line = fmt.Appendf(nil, base+`"thought":[],"thinking_blocks":[],"tool_call":{"id":"c","name":"t","arguments":"{}","origin":"completion"},`+
				`"llm_response_id":"r","security_risk":"LOW","action":%s,"kind":"ActionEvent"}`, g.raw)
		case slices.Contains(event.ObservationKinds(), v.Kind):
			line = fmt.Appendf(nil, base+`"action_id":"a","extended_content":[],"observation":%s,"kind":"ObservationEvent"}`, g.raw)
		}
		whole, err := event.WithNulls(line)
		if err != nil {
			t.Fatalf("%s: %v", g.name, err)
		}
		lines = append(lines, whole)
	}
	return lines, func(t *testing.T, verdicts []verdict) {
		t.Helper()
		for i, v := range verdicts {
			if !v.OK || !v.Whole && !amended(v.Kind, lines[i]) && !bytes.Contains(lines[i], []byte(`"mcp_tool":{`)) {
				t.Errorf("the reference writes something else (%s):\n%s", v.Error, lines[i])
			}
		}
	}
}
