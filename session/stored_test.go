package session

import (
	"encoding/json"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/rawjson"
)

// TestEncodeRecord compares records with encoding/json's.
func TestEncodeRecord(t *testing.T) {
	t.Parallel()
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
	for name, v := range map[string]any{"nothing stored": record{}, "stored": full} {
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
