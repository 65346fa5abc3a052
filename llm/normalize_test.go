package llm_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
)

var ignoreRaw = cmpopts.IgnoreUnexported(event.Content{})

func user(text string) event.Message {
	return event.Message{Role: event.RoleUser, Content: event.Texts(text)}
}

func says(text string, calls ...event.ToolCall) event.Message {
	return event.Message{Role: event.RoleAssistant, Content: event.Texts(text), ToolCalls: calls}
}

func call(id, name string) event.ToolCall {
	return event.ToolCall{ID: id, Name: name, Arguments: "{}", Origin: event.OriginCompletion}
}

func result(id, text string) event.Message {
	return event.Message{Role: event.RoleTool, ToolCallID: id, Content: event.Texts(text)}
}

func TestNormalize(t *testing.T) {
	t.Parallel()
	named := func(m event.Message, name string) event.Message { m.Name = name; return m }
	const notRun = "This tool call was not run: the conversation went on before it had a result."
	tests := map[string]struct{ in, want []event.Message }{
		"valid history stays": {
			in:   []event.Message{user("go"), says("", call("a", "x")), named(result("a", "ok"), "x"), says("done")},
			want: []event.Message{user("go"), says("", call("a", "x")), named(result("a", "ok"), "x"), says("done")},
		},
		"missing result": {
			in:   []event.Message{user("go"), says("", call("a", "x"), call("b", "y")), result("b", "ok"), user("more")},
			want: []event.Message{user("go"), says("", call("a", "x"), call("b", "y")), named(result("a", notRun), "x"), named(result("b", "ok"), "y"), user("more")},
		},
		"result after a message of the user": {
			in:   []event.Message{user("go"), says("", call("a", "x")), user("wait"), result("a", "late")},
			want: []event.Message{user("go"), says("", call("a", "x")), named(result("a", "late"), "x"), user("wait")},
		},
		"orphans and duplicates": {
			in:   []event.Message{result("z", "?"), user("go"), says("", call("a", "x")), result("a", "1"), result("a", "2"), result("q", "?")},
			want: []event.Message{user("go"), says("", call("a", "x")), named(result("a", "1"), "x")},
		},
		"ids used twice": {
			in: []event.Message{user("go"), says("", call("a", "x"), call("a", "y")), result("a", "1"), result("a", "2"), says("", call("a", "z")), result("a", "3")},
			want: []event.Message{user("go"), says("", call("a", "x"), call("a_2", "y")), named(result("a", "1"), "x"), named(result("a_2", "2"), "y"),
				says("", call("a_3", "z")), named(result("a_3", "3"), "z")},
		},
		"no ids and odd names": {
			in:   []event.Message{user("go"), says("", call("", "a.b c"), call("", "")), result("", "1"), result("", "2")},
			want: []event.Message{user("go"), says("", call("call_2", "a_b_c"), call("call_3", "unnamed")), named(result("call_2", "1"), "a_b_c"), named(result("call_3", "2"), "unnamed")},
		},
		"empty messages and a first assistant": {
			in:   []event.Message{{Role: event.RoleSystem, Content: event.Texts("s")}, user(" \n"), says(""), says("hello")},
			want: []event.Message{{Role: event.RoleSystem, Content: event.Texts("s")}, user("(The earlier part of the conversation is not shown.)"), says("hello")},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, llm.Normalize(tt.in), ignoreRaw, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("Normalize (-want +got):\n%s", diff)
			}
		})
	}
}

// messages draws histories in which ids collide often.
func messages() *rapid.Generator[[]event.Message] {
	id := rapid.SampledFrom([]string{"", "a", "a_2", "b", "call", "call_2"})
	text := rapid.SampledFrom([]string{"", " ", "hi", "x\n"})
	calls := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) event.ToolCall {
		return event.ToolCall{ID: id.Draw(t, "id"), Name: rapid.SampledFrom([]string{"x", "", "ö.b"}).Draw(t, "name")}
	}), 0, 3)
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) event.Message {
		m := event.Message{Role: rapid.SampledFrom([]event.Role{event.RoleSystem, event.RoleUser, event.RoleAssistant, event.RoleTool, event.RoleTool, "odd"}).Draw(t, "role")}
		m.Content = event.Texts(text.Draw(t, "text"))
		m.ToolCallID = id.Draw(t, "answers")
		if m.Role == event.RoleAssistant {
			m.ToolCalls = calls.Draw(t, "calls")
		}
		return m
	}), 0, 12)
}

// checkValid holds a history to the rules in Normalize's documentation.
func checkValid(t interface{ Fatalf(string, ...any) }, msgs []event.Message) {
	seen := map[string]bool{}
	var open []string
	begun := false
	for i, m := range msgs {
		if len(open) > 0 {
			if m.Role != event.RoleTool || m.ToolCallID != open[0] {
				t.Fatalf("message %d is %s %q, want the result of %q", i, m.Role, m.ToolCallID, open[0])
			}
			open = open[1:]
			continue
		}
		if m.Role == event.RoleTool {
			t.Fatalf("message %d: a result without a call", i)
		}
		if m.Role != event.RoleSystem && !begun {
			begun = true
			if m.Role != event.RoleUser {
				t.Fatalf("message %d: the first is of role %s", i, m.Role)
			}
		}
		for _, c := range m.ToolCalls {
			if c.ID == "" || c.Name == "" || seen[c.ID] {
				t.Fatalf("message %d: call %q of %q", i, c.ID, c.Name)
			}
			seen[c.ID] = true
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		t.Fatalf("calls without result: %v", open)
	}
}

func TestNormalizeAlwaysValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := messages().Draw(t, "history")
		before := slices.Clone(in)
		once := llm.Normalize(in)
		if diff := cmp.Diff(before, in, ignoreRaw); diff != "" {
			t.Fatalf("the input was changed:\n%s", diff)
		}
		checkValid(t, once)
		if diff := cmp.Diff(once, llm.Normalize(once), ignoreRaw); diff != "" {
			t.Fatalf("not idempotent (-once +twice):\n%s", diff)
		}
	})
}

func FuzzNormalize(f *testing.F) {
	f.Add([]byte(`[{"role":"assistant","content":[{"type":"text","text":"x"}],"tool_calls":[{"id":"a","name":"b","arguments":"{"}]},{"role":"tool","tool_call_id":"a","content":[]}]`))
	f.Add([]byte(`[{"role":"tool","content":[]},{"role":"user","content":[{"type":"image","image_urls":["x"]}]}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var msgs []event.Message
		if json.Unmarshal(data, &msgs) != nil {
			t.Skip()
		}
		checkValid(t, llm.Normalize(msgs))
	})
}

func TestArgumentsObject(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "{}", ` {"a": 1} `: `{"a": 1}`, `{"a":`: `{"malformed_arguments":"{\"a\":"}`, `[1]`: `{"malformed_arguments":"[1]"}`,
	} {
		if got := string(llm.ArgumentsObject(in)); got != want {
			t.Errorf("ArgumentsObject(%q) = %s, want %s", in, got, want)
		}
	}
}
