package session

import (
	"encoding/json"
	"testing"

	"github.com/deft-dev/deft/event"
)

// TestEncodeDocument compares documents with what encoding/json makes of them.
func TestEncodeDocument(t *testing.T) {
	t.Parallel()
	title, id := `a "title" <&> é`, event.ID("e1")
	full := record{
		MaxCost: 1.5, Agent: json.RawMessage(`{"llm":{"model":"m"}}`), SecretRefs: []string{"<a>"},
		Children: []event.ConversationID{"x"}, PathRules: emptyList, Placement: Placement{SandboxClass: "process", Network: "open"},
		Setup: Setup{
			Common: Common{
				Workspace: Workspace{WorkingDir: `/a"b`}, MaxIterations: 7, StuckDetection: true,
				Policy: json.RawMessage(`{"kind":"NeverConfirm"}`),
			},
			ClientTools: []json.RawMessage{json.RawMessage(`{"a":1}`)}, ToolModules: map[string]string{"b": "c", "a": "d"},
			TitlePrompt: "line\nline",
		},
	}
	for name, v := range map[string]any{
		"no description": Info{},
		"description":    Info{ID: "c", Title: &title, Leaf: &id, Stats: noStats, Tags: map[string]string{"k": "v"}, Children: []string{}},
		"no full state":  FullState{},
		"full state":     FullState{ID: "c", Leaf: &id, HeadIsEmpty: true, Agent: emptyObject, AgentState: null, Common: full.Common},
		"nothing stored": record{},
		"stored":         full,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			got, err := encodeDocument(v)
			if err != nil || string(got) != string(want) {
				t.Errorf("got  %s\nwant %s\n%v", got, want, err)
			}
		})
	}
	if _, err := encodeDocument(struct {
		C chan int `json:"c"`
	}{make(chan int)}); err == nil {
		t.Error("no error for what has no JSON")
	}
}
