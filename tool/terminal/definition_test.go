package terminal_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool/terminal"
)

func TestDefinition(t *testing.T) {
	t.Parallel()
	d := terminal.Definition()
	schema, err := json.Marshal(d.Parameters)
	must.Succeed(t, err)
	var v struct {
		Properties map[string]struct{ Type string }
		Required   []string
	}
	must.Succeed(t, json.Unmarshal(schema, &v))
	got := map[string]string{}
	for name, p := range v.Properties {
		got[name] = p.Type
	}
	want := map[string]string{"command": "string", "is_input": "boolean", "timeout": "number", "reset": "boolean"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("parameters differ (-want +got):\n", diff)
	}
	if diff := cmp.Diff([]string{"command"}, v.Required); diff != "" {
		t.Error("required differs:\n", diff)
	}
	if diff := cmp.Diff([]string{"terminal"}, d.Locks(&event.TerminalAction{})); diff != "" {
		t.Error("locks differ:\n", diff)
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args string
		want event.Action // nil: an error
	}{
		{`{"command":"ls"}`, &event.TerminalAction{Command: "ls"}},
		{`{"command":"","timeout":1.5}`, &event.TerminalAction{Timeout: new(1.5)}},
		{`{"command":"C-c","is_input":true}`, &event.TerminalAction{Command: "C-c", IsInput: true}},
		{`{"reset":true}`, &event.TerminalAction{Reset: true}},
		{`{"command":"x","is_input":true,"reset":true}`, nil},
		{`{"command":"x","timeout":-1}`, nil},
		{`{"command":1}`, nil},
		{`{}`, nil},
		{`[]`, nil},
	} {
		got, err := terminal.Definition().Decode(json.RawMessage(tt.args))
		if (err != nil) != (tt.want == nil) {
			t.Errorf("%s: error %v", tt.args, err)
			continue
		}
		if tt.want != nil {
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.args, diff)
			}
		}
	}
}
