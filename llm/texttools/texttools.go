// Package texttools adds tools to models without tool calling: tools are
// described in the prompt, and calls are read from the answer's text
// (docs/openhands/sdk-features.md section 1, "Non-native tools").
//
// # Usage
//
//	m = texttools.New(m)
//
// The result is an llm.Model like any other: requests contain tools and past
// calls, answers contain calls. A call in text is
//
//	<function=NAME>
//	<parameter=KEY>VALUE</parameter>
//	</function>
//
// and "</function" is a stop word. The reader also accepts forms that models write
// instead: missing end tags, calls in <tool_call> or JSON fences, <invoke name=…>,
// text around and between calls. Values are typed by the tool's schema. Names and
// values that do not fit are passed on unchanged; package tool repairs or refuses
// them.
//
// # Concurrency
//
// A Model is as safe for concurrent use as the wrapped model.
//
// # Failure
//
// Errors come from the wrapped model. A call that the output limit cut off has
// arguments that are not valid JSON, as a native one would, so that it is refused
// rather than run in part. Call markup is never delivered as text.
package texttools

import (
	"context"
	"errors"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
)

// stopWord ends an answer after its call.
const stopWord = "</function"

// Model calls tools in the text of the wrapped model.
type Model struct {
	inner llm.Model
	sent  conversions
}

var _ llm.Model = (*Model)(nil)

// New wraps a model without tool calling.
func New(inner llm.Model) *Model { return &Model{inner: inner} }

// Info implements llm.Model. It reports that the model supports tools.
func (m *Model) Info() llm.Info {
	info := m.inner.Info()
	info.Tools = true
	return info
}

// Generate implements llm.Model.
func (m *Model) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	tools := r.Tools
	if r.ToolChoice == "none" {
		tools = nil
	}
	c := m.sent.take(r.Session)
	defer m.sent.put(r.Session, c)
	ctx, r.Messages = c.convert(ctx, llm.NormalizeGrown(ctx, r.Messages), c.suffixOf(tools, r.ToolChoice))
	r.Tools, r.ToolChoice = nil, ""
	if len(tools) == 0 {
		return m.inner.Generate(ctx, r, onDelta)
	}
	r.Stop = append(slices.Clone(r.Stop), stopWord)
	p := newReader(tools, onDelta)
	resp, err := m.inner.Generate(ctx, r, func(d llm.Delta) {
		switch {
		case d.Text != "":
			p.feed(d.Text)
		case d.Reasoning != "":
			p.handOut(d)
		}
	})
	if err != nil {
		// Text that was held back was not delivered.
		if e, ok := errors.AsType[*llm.Error](err); ok {
			e.Partial = e.Partial && p.handedOut
		}
		return nil, err
	}
	p.end(resp.Finish == llm.FinishLength)
	return p.response(resp), nil
}

// response returns resp with the calls removed from its text.
func (p *reader) response(resp *llm.Response) *llm.Response {
	out := *resp
	for _, c := range resp.Message.ToolCalls { // the model supports tools after all
		p.call(c.ID, c.Name)
		p.arguments(c.Arguments)
	}
	out.Message.Content = event.Texts(p.text.String())
	out.Message.ToolCalls = p.calls
	if len(p.calls) > 0 && out.Finish == llm.FinishStop {
		out.Finish = llm.FinishTools
	}
	return &out
}
