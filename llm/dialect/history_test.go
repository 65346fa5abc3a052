package dialect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
)

// lines shows a history as roles and texts.
func lines(msgs []event.Message) []string {
	var out []string
	for _, m := range msgs {
		texts := []string{string(m.Role)}
		for _, c := range m.Content {
			if c.Type == event.TypeImage {
				texts = append(texts, "image")
				continue
			}
			texts = append(texts, c.Text)
		}
		out = append(out, strings.Join(texts, "|"))
	}
	return out
}

func TestConvert(t *testing.T) {
	t.Parallel()
	in := []event.Message{
		{Role: event.RoleSystem, Content: event.List[event.Content]{{Type: event.TypeText, Text: "sys\n", CachePrompt: true}, event.Text("now")}},
		{Role: event.RoleUser, Content: event.Texts("go")},
		{Role: event.RoleAssistant, Content: event.Texts("ok"), ToolCalls: []event.ToolCall{
			{ID: "1", Name: "terminal", Arguments: `{"command":"a\nb","n":[1, 2]}`}, {ID: "2", Name: "x", Arguments: "{"},
		}},
		{Role: event.RoleTool, ToolCallID: "1", Name: "terminal", Content: event.List[event.Content]{event.Text("out"), event.Image("u")}},
		{Role: event.RoleTool, ToolCallID: "2", Name: "x"},
		{Role: event.RoleUser, Content: event.Texts("more")},
		{Role: event.RoleAssistant, Content: event.Texts("a")},
		{Role: event.RoleAssistant, Content: event.Texts("b")},
	}
	before := lines(in)
	want := []string{
		"system|sys\n\nTOOLS|now", "user|go",
		"assistant|ok|<function=terminal>\n<parameter=command>\na\nb\n</parameter>\n<parameter=n>[1, 2]</parameter>\n</function>\n<function=x>\n<parameter=malformed_arguments>{</parameter>\n</function>",
		"user|EXECUTION RESULT of [terminal]:|out|image|EXECUTION RESULT of [x]:|(no output)|more", "assistant|a|b",
	}
	got := convert(in, "TOOLS")
	if diff := cmp.Diff(want, lines(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !got[0].Content[0].CachePrompt {
		t.Error("the cache mark of the system prompt is gone")
	}
	if diff := cmp.Diff(before, lines(in)); diff != "" {
		t.Errorf("the input was changed:\n%s", diff)
	}
	if got := lines(convert(in[1:2], "TOOLS")); !cmp.Equal(got, []string{"system|TOOLS", "user|go"}) {
		t.Errorf("without a system message: %q", got)
	}
}

func TestSuffix(t *testing.T) {
	t.Parallel()
	got := suffix(someTools, "required")
	for _, want := range []string{
		"## terminal\nParameters:\n- command (string, required)\n- timeout (number)\n- reset (boolean)\n",
		"- range (array of {\"type\":\"integer\"})\n- line (integer or null)\n- any (any)\n",
		"Let me do that now.\n\n<function=terminal>\n<parameter=command>ls -la</parameter>\n</function>",
		"has to end with a call.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the prompt lacks %q:\n%s", want, got)
		}
	}
	// The example is a call that the reader takes.
	_, example, _ := strings.Cut(suffix(someTools[1:], ""), exampleHead)
	if diff := cmp.Diff([]string{`edit {"path":"/tmp/example.txt","text":"the text of text"}`}, read(t, example, 9, false).Calls); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if suffix(nil, "required") != "" {
		t.Error("a suffix without tools")
	}
}

func BenchmarkConvert5000(b *testing.B) {
	msgs := []event.Message{{Role: event.RoleUser, Content: event.Texts("go")}}
	for range 2_500 {
		msgs = append(msgs,
			event.Message{Role: event.RoleAssistant, Content: event.Texts("Next."), ToolCalls: []event.ToolCall{{ID: "a", Name: "terminal", Arguments: `{"command":"go test ./..."}`}}},
			event.Message{Role: event.RoleTool, Name: "terminal", ToolCallID: "a", Content: event.Texts(strings.Repeat("ok  \tpackage\t0.1s\n", 10))})
	}
	b.ReportAllocs()
	for b.Loop() {
		convert(msgs, "TOOLS")
	}
}
