package conversations

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/session"
)

// TestPluginParameters holds the words in which the agent gets them to the reference's.
func TestPluginParameters(t *testing.T) {
	t.Parallel()
	one := Plugin{plugin.Source{Source: "github:a/one"}, map[string]json.RawMessage{"b": json.RawMessage(`1`), "a": json.RawMessage(`"x y"`)}}
	two := Plugin{plugin.Source{Source: "https://h/b/two.git"}, map[string]json.RawMessage{"c": json.RawMessage(`[true]`)}}
	bare := Plugin{Source: plugin.Source{Source: "github:a/bare"}}
	said := &session.Message{Role: event.RoleUser, Content: event.Texts("hi")}
	picture := &session.Message{Role: event.RoleUser, Content: event.List[event.Content]{event.Image("data:x")}}
	for name, c := range map[string]struct {
		message *session.Message
		plugins []Plugin
		want    []string // texts of the message
	}{
		"none":         {said, []Plugin{bare}, []string{"hi"}},
		"no message":   {nil, []Plugin{bare}, nil},
		"one":          {said, []Plugin{bare, one}, []string{"hi\n\nPlugin Configuration Parameters:\n- a: x y\n- b: 1"}},
		"two":          {said, []Plugin{one, two}, []string{"hi\n\nPlugin Configuration Parameters:\none:\n  - a: x y\n  - b: 1\ntwo.git:\n  - c: [true]"}},
		"alone":        {nil, []Plugin{one}, []string{"Plugin Configuration Parameters:\n- a: x y\n- b: 1"}},
		"after images": {picture, []Plugin{two}, []string{"", "Plugin Configuration Parameters:\n- c: [true]"}},
	} {
		var got []string
		if m := withParameters(c.message, c.plugins); m != nil {
			for _, part := range m.Content {
				got = append(got, part.Text)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if said.Content[0].Text != "hi" {
		t.Errorf("the request's message was changed: %v", said)
	}
}

func TestCheckPlugins(t *testing.T) {
	t.Parallel()
	for source, fine := range map[string]bool{
		"github:a/b": true, "https://h/a.git": true,
		"": false, "x": false, "/etc": false, "~/x": false, "file:///etc": false, "http://h/a": false, "ssh://h/a": false, "git@h:a/b": false,
		"ext::sh": false, "--upload-pack=x": false, "https://u:hunter2@h/a": false, "https:///a": false,
	} {
		err := CheckPlugins([]Plugin{{Source: plugin.Source{Source: source}}})
		if fine != (err == nil) || err != nil && (!fault.Is(err, fault.Invalid) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%q: error %v", source, err)
		}
	}
	if err := CheckPlugins(make([]Plugin, 21)); !fault.Is(err, fault.Invalid) {
		t.Errorf("too many: error %v", err)
	}
}
