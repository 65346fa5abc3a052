package secret_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/secret"
)

// holding returns a registry with secrets by name.
func holding(all map[string]string) *secret.Registry {
	r := secret.NewRegistry(secret.Options{})
	for name, value := range all {
		r.Set(secret.Named{Name: name, Source: secret.Source{Kind: secret.KindStatic, Value: value}})
	}
	return r
}

// TestActions: an action is stored without values, wherever the model wrote them, and runs
// with them.
func TestActions(t *testing.T) {
	t.Parallel()
	r := holding(map[string]string{"TOKEN": "hush-4711", "QUOTED": `a"b'c\d é`, "LONGER": "hush-4711-and-more", "bad-name": "no-variable"})
	r.Track("tracked-value")
	for name, a := range map[string]event.Action{
		"a command":        &event.TerminalAction{Command: "curl -H 'Bearer hush-4711' hush-4711-and-more"},
		"quoted":           &event.FileEditorAction{Command: "create", Path: "/hush-4711/f", FileText: new(`x a"b'c\d é` + "\n")},
		"of an MCP server": &event.MCPToolAction{Data: json.RawMessage(`{"key":"hush-4711","deep":[{"k":"a\"b'c\\d \u00e9"}]}`)},
		"a key":            &event.MCPToolAction{Data: json.RawMessage(`{"deep":[{"hush-4711":1}],"x hush-4711":{}}`)},
		"of a client":      &event.UnknownAction{KindName: "ClientAction_x", Raw: json.RawMessage(`{"kind":"ClientAction_x","hush-4711":{"hush-4711":true}}`)},
		"a finish":         &event.FinishAction{Message: "it is hush-4711"},
		"a thought":        &event.ThinkAction{Thought: "hush-4711"},
	} {
		arguments, err := json.Marshal(a)
		must.Succeed(t, err)
		e := &event.ActionEvent{
			Base: event.NewBase(event.SourceAgent), ToolName: "t-hush-4711", ToolCallID: "c-hush-4711", Action: a, Summary: "uses hush-4711",
			Thought: event.List[event.Content]{event.Text("I take hush-4711")}, ReasoningContent: "hush-4711?", LLMResponseID: "r", SecurityRisk: event.RiskLow,
			ThinkingBlocks: event.List[event.ThinkingBlock]{{Thinking: "hm, hush-4711", Signature: "c2ln"}, {Thinking: "hm", Signature: "c2ln"}},
			ToolCall:       event.ToolCall{ID: "c-hush-4711", Name: "t-hush-4711", Arguments: string(arguments)},
		}
		before, err := event.Marshal(e)
		must.Succeed(t, err)
		masked := r.MaskEvent(e).(*event.ActionEvent)
		raw, err := event.Marshal(masked)
		must.Succeed(t, err)
		if unchanged, err := event.Marshal(e); err != nil || string(unchanged) != string(before) {
			t.Errorf("%s: the action itself is changed: %s", name, unchanged)
		}
		if n := strings.Count(string(raw), "hush-4711"); n != 4 || strings.Contains(string(raw), `b'c`) { // ids and names
			t.Errorf("%s: %d times in %s", name, n, raw)
		}
		if !json.Valid([]byte(masked.ToolCall.Arguments)) || masked.ThinkingBlocks[0].Signature != "" || masked.ThinkingBlocks[1].Signature == "" {
			t.Errorf("%s: %s", name, raw)
		}
		if again, err := event.Marshal(r.MaskEvent(masked)); err != nil || string(again) != string(raw) {
			t.Errorf("%s is masked twice: %s", name, again)
		}
		stored, err := event.Unmarshal(raw)
		must.Succeed(t, err)
		kept := stored.(*event.ActionEvent).Action
		got, err := r.RestoreAction(t.Context(), kept, true)
		if command, ok := a.(*event.TerminalAction); !ok || command.IsInput { // hostile text may have named the secret
			_, finish := a.(*event.FinishAction)
			_, think := a.(*event.ThinkAction)
			if recorded := finish || think; recorded && (err != nil || got != kept) || !recorded && !fault.Is(err, fault.Denied) {
				t.Errorf("%s runs with the value that a name stands for: %+v, %v", name, got, err)
			}
			if got, err := r.RestoreAction(t.Context(), kept, false); err != nil || got != kept {
				t.Errorf("%s, as the model wrote it: %+v, %v", name, got, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want, werr := event.MarshalAction(a)
		have, herr := event.MarshalAction(got)
		var x, y any
		if werr != nil || herr != nil || json.Unmarshal(want, &x) != nil || json.Unmarshal(have, &y) != nil || cmp.Diff(x, y) != "" {
			t.Errorf("%s runs as %s, want %s", name, have, want)
		}
	}
}

// TestNameless: a value that has no name, or is written in another encoding, is in memory
// only. An action that has lost it does not run.
func TestNameless(t *testing.T) {
	t.Parallel()
	r := holding(map[string]string{"TOKEN": "hush-4711", "GONE": "gone-4711"})
	r.Track("tracked-value")
	for _, command := range []string{"echo tracked-value", "echo aHVzaC00NzEx | base64 -d", "echo gone-4711"} {
		e := &event.ActionEvent{Base: event.NewBase(event.SourceAgent), Action: &event.TerminalAction{Command: command}}
		masked := r.MaskEvent(e).(*event.ActionEvent)
		if text := masked.Action.(*event.TerminalAction).Command; text == command {
			t.Errorf("%s is not masked", command)
		}
		later := holding(map[string]string{"TOKEN": "hush-4711"})
		if a, err := later.RestoreAction(t.Context(), masked.Action, true); !fault.Is(err, fault.Denied) || fault.HintOf(err) == "" {
			t.Errorf("%s runs as %+v, %v", command, a, err)
		}
	}
	for _, text := range []string{"echo " + secret.Hidden, "echo '<secret-hidden:UNKNOWN>'", "echo <secret-hidden:"} {
		a := &event.TerminalAction{Command: text}
		got, err := r.RestoreAction(t.Context(), a, false) // as the model wrote it
		if err != nil || got.(*event.TerminalAction).Command != text {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	if got, err := r.RestoreAction(t.Context(), &event.TerminalAction{Command: "echo <secret-hidden:TOKEN>"}, false); err != nil || got.(*event.TerminalAction).Command != "echo hush-4711" {
		t.Errorf("a name that the model repeats: %+v, %v", got, err)
	}
}

// TestOddActions: a value that is a word of the protocol leaves an event that can be read.
func TestOddActions(t *testing.T) {
	t.Parallel()
	r := holding(map[string]string{"A": "view", "B": "TerminalAction", "C": "create", "D": "{", "E": `","`, "F": "LOW"})
	for _, a := range []event.Action{&event.FileEditorAction{Command: "view", Path: "/x"}, &event.TerminalAction{Command: "{ echo TerminalAction; }"}} {
		e := &event.ActionEvent{Base: event.NewBase(event.SourceAgent), Action: a, SecurityRisk: event.RiskLow, ToolCall: event.ToolCall{Arguments: `{"a":"b","c":"{"}`}}
		masked, ok := r.MaskEvent(e).(*event.ActionEvent)
		if !ok || masked.Action == nil || masked.Action.Kind() != a.Kind() || masked.SecurityRisk != event.RiskLow || !json.Valid([]byte(masked.ToolCall.Arguments)) {
			t.Errorf("%+v", masked)
		}
	}
}

// TestHeld: where an action runs, the values that it holds are known, and no others.
func TestHeld(t *testing.T) {
	t.Parallel()
	g := secret.Guard{Registry: holding(map[string]string{"TOKEN": "hush-4711", "OTHER": "other-4711"})}
	for name, c := range map[string]struct {
		action event.Action
		want   map[string]string
	}{
		"none":           {&event.TerminalAction{Command: "ls"}, nil},
		"a name":         {&event.TerminalAction{Command: "echo $TOKEN"}, map[string]string{"TOKEN": "hush-4711"}},
		"a value":        {&event.TerminalAction{Command: "echo hush-4711 $OTHER"}, map[string]string{"TOKEN": "hush-4711", "OTHER": "other-4711"}},
		"input":          {&event.TerminalAction{Command: "hush-4711", IsInput: true}, map[string]string{"TOKEN": "hush-4711"}},
		"name in input":  {&event.TerminalAction{Command: "TOKEN", IsInput: true}, nil},
		"an edit":        {&event.FileEditorAction{Command: "create", Path: "/x", FileText: new("hush-4711")}, map[string]string{"TOKEN": "hush-4711"}},
		"in an encoding": {&event.TerminalAction{Command: "echo aHVzaC00NzEx"}, map[string]string{"TOKEN": "hush-4711", "OTHER": "other-4711"}},
		"hidden before":  {&event.TerminalAction{Command: "echo " + secret.Hidden}, nil},
	} {
		if d := cmp.Diff(c.want, g.Secrets(t.Context(), c.action)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
