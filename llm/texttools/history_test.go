package texttools

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
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

// TestGrowingHistoryConvertsAlike compares the conversion of growing histories,
// with their ends changed in place, with convert.
func TestGrowingHistoryConvertsAlike(t *testing.T) {
	t.Parallel()
	kinds := []event.Message{
		{Role: event.RoleUser, Content: event.Texts("u")},
		{Role: event.RoleAssistant, Content: event.Texts("a")},
		{Role: event.RoleAssistant, Content: event.Texts("b"), ToolCalls: []event.ToolCall{{ID: "1", Name: "x", Arguments: `{"k":"v"}`}}},
		{Role: event.RoleTool, Name: "x", ToolCallID: "1", Content: event.Texts("r")},
		{Role: event.RoleSystem, Content: event.Texts("s")},
	}
	rapid.Check(t, func(t *rapid.T) {
		var kept conversions
		var g llm.Growth
		msgs := make([]event.Message, 0, 100)
		for range rapid.IntRange(1, 15).Draw(t, "calls") {
			fixed := len(msgs)
			for range rapid.IntRange(0, 4).Draw(t, "new") {
				m := rapid.SampledFrom(kinds).Draw(t, "message")
				m.Content = event.Texts(m.Content[0].Text + strconv.Itoa(rapid.IntRange(0, 9).Draw(t, "text")))
				msgs = append(msgs, m)
			}
			fixed = rapid.IntRange(fixed, len(msgs)).Draw(t, "fixed")
			suffix := rapid.SampledFrom([]string{"TOOLS", "TOOLS", "TOOLS", "OTHERS", ""}).Draw(t, "suffix")
			c := kept.take("s")
			ctx, got := c.convert(g.Context(context.Background(), msgs, fixed), msgs, suffix)
			if diff := cmp.Diff(convert(msgs, suffix), got, cmpopts.EquateEmpty(), cmp.AllowUnexported(event.Content{})); diff != "" {
				t.Fatalf("%d messages, %d fixed (-want +got):\n%s", len(msgs), fixed, diff)
			}
			if _, n := llm.Fixed(ctx, got); fixed > 1 && n < 0 || n > len(got) {
				t.Fatalf("%d of %d are fixed", n, len(got))
			}
			kept.put("s", c)
			msgs = msgs[:rapid.IntRange(fixed, len(msgs)).Draw(t, "kept")]
		}
	})
}

func TestFewConversionsAreKept(t *testing.T) {
	t.Parallel()
	var kept conversions
	for i := range 3 * maxKept {
		kept.put(strconv.Itoa(i%(maxKept+1)), &conversion{array: 1})
	}
	kept.put("", &conversion{array: 1})
	kept.put("none", &conversion{})
	if len(kept.kept) != maxKept || len(kept.order) != maxKept {
		t.Errorf("%d kept, %d in order", len(kept.kept), len(kept.order))
	}
}
