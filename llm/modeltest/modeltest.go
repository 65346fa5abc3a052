// Package modeltest is the conformance suite of LLM adapters: the behaviour
// required of every llm.Model, tested with the scripted server of
// internal/llmtest and all its faults.
//
// # Usage
//
//	func TestConformance(t *testing.T) {
//		modeltest.Run(t, modeltest.Adapter{
//			Protocol: llmtest.OpenAIChat,
//			Model:    "openai/gpt-4o",
//			Path:     "/v1",
//			New:      func(c llm.Config) (llm.Model, error) { return openai.New(c) },
//		})
//	}
//
// # Concurrency and failure
//
// The cases run in parallel. Each has its own server, which fails the test for
// every request that a real provider would refuse.
package modeltest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
)

// Adapter is the adapter under test.
type Adapter struct {
	Protocol llmtest.Protocol
	// Model is a model with vision and a price in the catalogue.
	Model string
	// Path is added to the server's URL.
	Path string
	New  func(llm.Config) (llm.Model, error)
	// Signed reports that reasoning comes in signed blocks.
	Signed bool
	// Skip names cases that the protocol does not support, or that the
	// adapter's own tests cover.
	Skip []string
	// Speak converts the server's reply, for models that call tools in text;
	// nil for none.
	Speak func(llmtest.Reply) llmtest.Reply
}

// RunAnswers runs only the cases of valid answers, including answers with tools:
// for wrappers of adapters.
func RunAnswers(t *testing.T, a Adapter) {
	t.Helper()
	for _, stream := range []bool{true, false} {
		runAnswers(t, a, stream)
	}
}

func runAnswers(t *testing.T, a Adapter, stream bool) {
	t.Helper()
	for _, c := range answers {
		if slices.Contains(a.Skip, c.name) {
			continue
		}
		t.Run(modeName(stream)+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, a, stream)
		})
	}
}

func modeName(stream bool) string {
	if stream {
		return "stream"
	}
	return "whole"
}

// Run runs the suite.
func Run(t *testing.T, a Adapter) {
	t.Helper()
	for _, stream := range []bool{true, false} {
		runAnswers(t, a, stream)
		for _, c := range faults {
			if slices.Contains(a.Skip, c.name) {
				continue
			}
			t.Run(modeName(stream)+"/fault "+c.name, func(t *testing.T) {
				t.Parallel()
				c.run(t, a, stream)
			})
		}
	}
	for _, stream := range []bool{true, false} {
		if slices.Contains(a.Skip, emptyCase) {
			break
		}
		t.Run(modeName(stream)+"/"+emptyCase, func(t *testing.T) {
			t.Parallel()
			runEmpty(t, a, stream)
		})
	}
	for name, test := range map[string]func(*testing.T, Adapter){
		"cancel": testCancel, "timeouts": testTimeouts, "unreachable": testUnreachable,
		"concurrent": testConcurrent, "key and session": testIdentity, "bad base URL": testBadURL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, a)
		})
	}
}

// bench is a server with a model in front.
type bench struct {
	t      *testing.T
	srv    *llmtest.Server
	model  llm.Model
	stream bool
}

func start(t *testing.T, a Adapter, stream bool, script *llmtest.Script, change ...func(*llm.Config)) *bench {
	t.Helper()
	if a.Speak != nil {
		spoken := *script
		spoken.Turns = slices.Clone(script.Turns)
		for i := range spoken.Turns {
			spoken.Turns[i].Reply = a.Speak(spoken.Turns[i].Reply)
		}
		script = &spoken
	}
	b := &bench{t: t, srv: llmtest.Start(t, script), stream: stream}
	cfg := llm.Config{Model: a.Model, BaseURL: b.srv.URL + a.Path, APIKey: "sk-test-key-1234567890"}
	for _, c := range change {
		c(&cfg)
	}
	m, err := a.New(cfg)
	must.Succeed(t, err)
	b.model = m
	return b
}

// outcome is an answer with its deltas.
type outcome struct {
	resp      *llm.Response
	err       error
	text      string
	reasoning string
	calls     []llm.ToolCallDelta // put together by index
}

func (b *bench) ask(ctx context.Context, r llm.Request) outcome {
	b.t.Helper()
	r.NoStream = !b.stream
	var o outcome
	var text, reasoning strings.Builder
	o.resp, o.err = b.model.Generate(ctx, r, func(d llm.Delta) {
		text.WriteString(d.Text)
		reasoning.WriteString(d.Reasoning)
		if c := d.ToolCall; c != nil {
			for len(o.calls) <= c.Index {
				o.calls = append(o.calls, llm.ToolCallDelta{Index: len(o.calls)})
			}
			at := &o.calls[c.Index]
			at.ID, at.Name, at.Arguments = at.ID+c.ID, at.Name+c.Name, at.Arguments+c.Arguments
		}
	})
	o.text, o.reasoning = text.String(), reasoning.String()
	return o
}

func (b *bench) must(r llm.Request) outcome {
	b.t.Helper()
	o := b.ask(b.t.Context(), r)
	if o.err != nil {
		b.t.Fatal(o.err)
	}
	m := o.resp.Message
	if got := event.JoinText(m.Content); got != o.text {
		b.t.Errorf("deltas say %q, the message %q", o.text, got)
	}
	if o.reasoning != m.ReasoningContent {
		b.t.Errorf("deltas think %q, the message %q", o.reasoning, m.ReasoningContent)
	}
	if len(o.calls) != len(m.ToolCalls) {
		b.t.Fatalf("deltas hold %d calls, the message %d", len(o.calls), len(m.ToolCalls))
	}
	for i, c := range m.ToolCalls {
		d := o.calls[i]
		if d.ID != c.ID || d.Name != c.Name || d.Arguments != c.Arguments && c.Arguments != "{}" {
			b.t.Errorf("call %d: deltas %+v, message %+v", i, d, c)
		}
	}
	if m.Role != event.RoleAssistant || o.resp.Latency <= 0 || o.resp.FirstByte <= 0 || o.resp.FirstByte > o.resp.Latency {
		b.t.Errorf("role %s, latency %v, first byte %v", m.Role, o.resp.Latency, o.resp.FirstByte)
	}
	return o
}

// once is a script of one answer.
func once(r llmtest.Reply) *llmtest.Script {
	return &llmtest.Script{Turns: []llmtest.Turn{{Reply: r, Pacing: llmtest.Pacing{ChunkSize: 5}}}}
}

func hello() llm.Request {
	return llm.Request{Messages: []event.Message{
		{Role: event.RoleSystem, Content: event.Texts("You are a test.")},
		{Role: event.RoleUser, Content: event.Texts("Hello.")},
	}}
}

var tools = []llm.Tool{{
	Name: "terminal", Description: "Runs a command.",
	Parameters: []byte(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`),
}, {Name: "finish", Description: "Ends.", Parameters: []byte(`{"type":"object","properties":{}}`)}}

// short is a time limit that tests wait for; long is never reached.
const (
	short = 40 * time.Millisecond
	long  = time.Minute
)
