package view_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/rawjson"
	"github.com/deft-dev/deft/server/view"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/state"
)

var full = session.Common{Workspace: session.Workspace{WorkingDir: `/a"b`}, MaxIterations: 7, StuckDetection: true, Policy: json.RawMessage(`{"kind":"NeverConfirm"}`)}

// TestDocuments compares documents with encoding/json's.
func TestDocuments(t *testing.T) {
	t.Parallel()
	title, id := `a "title" <&> é`, event.ID("e1")
	empty := json.RawMessage("{}")
	for name, v := range map[string]any{
		"no description": view.Info{},
		"description":    view.Info{ID: "c", Common: full, Title: &title, Leaf: &id, Stats: empty, Tags: map[string]string{"k": "v"}, Children: []string{}},
		"no full state":  view.FullState{},
		"full state":     view.FullState{ID: "c", Leaf: &id, HeadIsEmpty: true, Agent: empty, AgentState: json.RawMessage("null"), Common: full},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := rawjson.Marshal(v)
			must.Succeed(t, err)
			got, err := rawjson.Encode(v)
			if err != nil || string(got) != string(want) {
				t.Errorf("got  %s\nwant %s\n%v", got, want, err)
			}
		})
	}
}

// TestState reads the state back that a description shows.
func TestState(t *testing.T) {
	t.Parallel()
	leaf, message := event.ID("e2"), event.ID("e1")
	raw, err := json.Marshal(view.Info{
		ID: "c", Common: full, Status: state.Finished, Leaf: &leaf, LastUserMessage: &message, AgentState: json.RawMessage(`{"a":1}`),
		ActivatedSkills: json.RawMessage(`["s"]`), InvokedSkills: json.RawMessage(`[]`), Stats: json.RawMessage(`{"usage_to_metrics":{}}`),
	})
	must.Succeed(t, err)
	got, err := view.OpenHands{}.State(raw)
	must.Succeed(t, err)
	fields := map[string]json.RawMessage{
		"confirmation_policy": full.Policy, "security_analyzer": json.RawMessage("null"), "activated_knowledge_skills": json.RawMessage(`["s"]`),
		"invoked_skills": json.RawMessage(`[]`), "agent_state": json.RawMessage(`{"a":1}`),
	}
	if got.Status != state.Finished || got.Head != leaf || got.LastUserMessage != message {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff(fields, got.Fields); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, damaged := range []string{`{`, `{"stats":7}`} {
		if _, err := (view.OpenHands{}).State(json.RawMessage(damaged)); !fault.Is(err, fault.Corrupt) {
			t.Errorf("%s: %v", damaged, err)
		}
	}
}
