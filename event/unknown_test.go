package event_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

const head = `"id":"e1","timestamp":"2026-11-21T12:00:00.000000","source":"agent"`

// Unknown kinds survive byte for byte, odd spelling included.
func TestUnknownVerbatim(t *testing.T) {
	t.Parallel()
	odd := `{ "z": 1.50, "big":123456789012345678901234567890,"a":"\u0041<&>\/",` + "\t" + `"n":null, "kind":"%"}`
	for _, c := range []struct{ name, raw, part string }{
		{"event", `{` + head + `, "what":[1, 2 ],"kind":"FutureEvent"}`, ""},
		{"action", `{` + head + `,"action":@,"kind":"ActionEvent"}`, strings.ReplaceAll(odd, "%", "FutureAction")},
		{"client action", `{` + head + `,"action":@,"kind":"ActionEvent"}`, strings.ReplaceAll(odd, "%", "ClientAction_open_panel")},
		{"observation", `{` + head + `,"observation":@,"kind":"ObservationEvent"}`, strings.ReplaceAll(odd, "%", "FutureObservation")},
		{"odd observation", `{` + head + `,"observation":@,"kind":"ObservationEvent"}`, `{"content": "text","is_error":"no","kind":"FutureObservation"}`},
		{"content", `{` + head + `,"thought":[@],"kind":"ActionEvent"}`, `{"type":"audio", "text": {"not":"text"},"url":"\u0041"}`},
		{"content without type", `{` + head + `,"thought":[@],"kind":"ActionEvent"}`, `{"txt":"x"}`},
		{"content with odd type", `{` + head + `,"thought":[@],"kind":"ActionEvent"}`, `{"type":1,"text":"x"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			raw := strings.ReplaceAll(c.raw, "@", c.part)
			ev, err := event.Unmarshal([]byte(raw))
			must.Succeed(t, err)
			out, err := event.Marshal(ev)
			must.Succeed(t, err)
			if c.part == "" && string(out) != raw {
				t.Errorf("got  %s\nwant %s", out, raw)
			}
			if !bytes.Contains(out, []byte(c.part)) {
				t.Errorf("got  %s\nwant %s inside", out, c.part)
			}
			if ev.Meta().ID != "e1" || ev.Meta().Source != event.SourceAgent {
				t.Errorf("base is %+v", ev.Meta())
			}
		})
	}
}

// Events of client tools decode, and their dynamic action stays verbatim.
func TestClientTool(t *testing.T) {
	t.Parallel()
	for _, g := range goldens(t, "unknown/ClientAction.json") {
		ev, err := event.Unmarshal(g.raw)
		must.Succeed(t, err)
		e, ok := ev.(*event.ActionEvent)
		if !ok {
			continue
		}
		u, ok := e.Action.(*event.UnknownAction)
		if !ok || u.Kind() != "ClientAction_open_panel" {
			t.Fatalf("action is %T", e.Action)
		}
		out, err := event.Marshal(ev)
		must.Succeed(t, err)
		if !bytes.Contains(out, []byte(`{"panel":"<diff>","size":30.0,"kind":"ClientAction_open_panel"}`)) {
			t.Errorf("action changed: %s", out)
		}
	}
}

// An observation of an unknown kind still shows the model its content.
func TestUnknownObservationContent(t *testing.T) {
	t.Parallel()
	o, err := event.UnmarshalObservation([]byte(`{"content":[{"type":"text","text":"hi"}],"is_error":true,"x":1,"kind":"Future"}`))
	must.Succeed(t, err)
	if got := event.JoinText(o.Result().Content); got != "hi" || !o.Result().IsError {
		t.Errorf("content %q, error %v", got, o.Result().IsError)
	}
}

func TestNullAction(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"", `"action":null,`} {
		ev, err := event.Unmarshal([]byte(`{` + head + `,` + part + `"tool_name":"x","kind":"ActionEvent"}`))
		must.Succeed(t, err)
		e := ev.(*event.ActionEvent)
		if e.Action != nil {
			t.Errorf("action is %T", e.Action)
		}
		if e.SecurityRisk != event.RiskUnknown {
			t.Errorf("risk is %q", e.SecurityRisk)
		}
		out, err := event.Marshal(e)
		if err != nil || bytes.Contains(out, []byte(`"action"`)) {
			t.Errorf("%v: %s", err, out)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"", "null", "1", `"x"`, "[]", "{}", "{", `{"kind":1}`, `{"kind":""}`, `{"kind":"PauseEvent"`, `{"kind":"PauseEvent"} x`,
		`{"id":1,"kind":"PauseEvent"}`, `{"id":1,"kind":"FutureEvent"}`, "{\"id\":\"\xff\",\"kind\":\"PauseEvent\"}",
		`{"kind":"ObservationEvent"}`, `{"observation":null,"kind":"ObservationEvent"}`,
		`{"action":1,"kind":"ActionEvent"}`, `{"action":{},"kind":"ActionEvent"}`, `{"action":{"command":1,"kind":"TerminalAction"},"kind":"ActionEvent"}`,
		`{"thought":{},"kind":"ActionEvent"}`, `{"thought":["x"],"kind":"ActionEvent"}`, `{"thought":[{"type":"text","text":1}],"kind":"ActionEvent"}`,
		`{"exit_code":1.5,"kind":"HookExecutionEvent"}`, `{"exit_code":99999999999999999999,"kind":"HookExecutionEvent"}`,
		strings.Repeat("[", 20000), `{"kind":"PauseEvent","x":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`,
	} {
		ev, err := event.Unmarshal([]byte(raw))
		if err == nil || fault.KindOf(err) != fault.Invalid || ev != nil {
			t.Errorf("%.60q gives %T and error %v", raw, ev, err)
		}
	}
}

func TestMarshalRefuses(t *testing.T) {
	t.Parallel()
	for _, ev := range []event.Event{
		nil,
		&event.ObservationEvent{},
		&event.ConversationStateUpdateEvent{Key: "x", Value: json.RawMessage(`{"half`)},
		&event.ActionEvent{Thought: event.List[event.Content]{{Type: "audio"}}},
		&event.ActionEvent{Action: (*event.ThinkAction)(nil)},
		&event.Unknown{KindName: "Future"},
		&event.ActionEvent{Action: &event.UnknownAction{KindName: "Future", Raw: json.RawMessage(`{"half`)}},
	} {
		if out, err := event.Marshal(ev); err == nil {
			t.Errorf("%T encodes to %s", ev, out)
		}
	}
}

// TestMalformedUnicode holds that JSON which an event carries as it is has no halves of surrogate
// pairs when it is stored: readers in other languages refuse them.
func TestMalformedUnicode(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"id":"e","timestamp":"2026-11-29T15:00:00","source":"agent","kind":"SomethingNew","a\ud99c":["\udc00","\ud83d\ude00"]}`,
		`{"id":"e","timestamp":"2026-11-29T15:00:00","source":"agent","tool_call_id":"t","title":"x","raw_input":{"k\ud99c":"\udc00\ud83d\ude00"},"is_error":false,"kind":"ACPToolCallEvent"}`,
	} {
		ev, err := event.Unmarshal([]byte(raw))
		must.Succeed(t, err)
		out, err := event.Marshal(ev)
		must.Succeed(t, err)
		if got := string(out); strings.Contains(got, `\ud99c`) || strings.Contains(got, `\udc00`) || !strings.Contains(got, `\ud83d\ude00`) {
			t.Errorf("%s", got)
		}
	}
}
