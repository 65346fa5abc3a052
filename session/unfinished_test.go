package session_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/session"
)

// deltas is a model whose answer is written by a function.
type deltas struct {
	*model
	write func(onDelta func(llm.Delta))
}

func (m deltas) Generate(_ context.Context, _ llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	m.write(onDelta)
	return says("done"), nil
}

// TestUnfinished checks that the answer that is being written can be had from its beginning on,
// with the calls of tools and without secrets, also if nobody has watched it; and that nothing
// of it is left in the end.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	var c *session.Conversation
	var during, retried *session.Unfinished
	h := setup(t, nil, func(o *session.Options) {
		o.Models = modelsFunc(func(mo session.ModelOptions) (llm.Model, error) {
			return deltas{&model{name: "openai/mock"}, func(onDelta func(llm.Delta)) {
				call := func(index int, name, arguments string) {
					onDelta(llm.Delta{ToolCall: &llm.ToolCallDelta{Index: index, Name: name, Arguments: arguments}})
				}
				onDelta(llm.Delta{Reasoning: "Hm."})
				onDelta(llm.Delta{Text: "I "})
				onDelta(llm.Delta{Text: "write."})
				call(0, "file_editor", "")
				call(0, "", `{"path":"/a.go","file_text":"a \"se`)
				call(0, "", `cret\" word`)
				call(0, "", `","n":1}`)
				call(1, "terminal", `{"command":"l`)
				during = c.Unfinished()
			}}, nil
		})
	})
	r := h.request(t, `"secrets":{"KEY":{"kind":"StaticSecret","value":"a \"secret\""}}`, `"model":`, `"stream":true,"model":`)
	var err error
	c, _, err = h.Create(t.Context(), r)
	must.Succeed(t, err)
	send(t, c, "hi")
	settle(t, c)
	retried = c.Unfinished()
	want := &session.Unfinished{Attempt: 1, Parts: []session.Part{
		{Kind: "reasoning", Text: "Hm."}, {Kind: "text", Text: "I write."},
		{Kind: "call", Tool: "file_editor"}, {Kind: "call", Tool: "file_editor", Field: "path", Text: "/a.go"},
		{Kind: "call", Tool: "file_editor", Field: "file_text", Text: "<secret-hidden> word"},
		{Kind: "call", Call: 1, Tool: "terminal"}, {Kind: "call", Call: 1, Tool: "terminal", Field: "command", Text: "l"},
	}}
	if d := cmp.Diff(want, during, cmpopts.IgnoreFields(session.Unfinished{}, "Item", "Next"), cmpopts.IgnoreFields(session.Part{}, "Size")); d != "" {
		t.Errorf("while it is written (-want +got):\n%s", d)
	}
	if during != nil && during.Item == "" {
		t.Error("the answer has no id")
	}
	if retried.Item != "" || len(retried.Parts) > 0 {
		t.Errorf("after the run there is %+v", retried)
	}
}

// TestUnfinishedIsBounded checks that the end of a long answer is kept, and its size.
func TestUnfinishedIsBounded(t *testing.T) {
	t.Parallel()
	var c *session.Conversation
	var during *session.Unfinished
	line := strings.Repeat("x", 99) + "\n"
	h := setup(t, nil, func(o *session.Options) {
		o.Models = modelsFunc(func(mo session.ModelOptions) (llm.Model, error) {
			return deltas{&model{name: "openai/mock"}, func(onDelta func(llm.Delta)) {
				for range 20_000 {
					onDelta(llm.Delta{Text: line})
				}
				for i := range 1000 {
					onDelta(llm.Delta{ToolCall: &llm.ToolCallDelta{Index: i, Name: "terminal", Arguments: `{"command":"ls"}`}})
				}
				during = c.Unfinished()
			}}, nil
		})
	})
	var err error
	c, _, err = h.Create(t.Context(), h.request(t, "", `"model":`, `"stream":true,"model":`))
	must.Succeed(t, err)
	send(t, c, "hi")
	settle(t, c)
	text := during.Parts[0]
	if text.Size != 2_000_000 || len(text.Text) > 512<<10 || len(text.Text) < 200<<10 || !strings.HasSuffix(text.Text, line) || !strings.HasPrefix(text.Text, line) {
		t.Errorf("of %d bytes %d are kept", text.Size, len(text.Text))
	}
	if n := len(during.Parts); n > 64 {
		t.Errorf("%d parts are kept", n)
	}
}
